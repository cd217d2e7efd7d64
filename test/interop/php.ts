// PHP as most sites run it: php-fpm behind nginx, each in a process of its own.
import { once } from 'node:events'
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { createConnection } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { startNginx } from './nginx.js'
import { missing, type RunningServer, start, stop } from './program.js'

const readyDeadlineMs = 20_000
const pollMs = 20

/** For a test's `skip`: what `startPhp` needs and does not find, or false. */
export function missingPhp(): string | false {
  return missing('nginx') || (fpmProgram() === undefined && 'php-fpm not installed')
}

/** Starts php-fpm behind nginx; every path is answered by `script`. */
export async function startPhp(script: string): Promise<RunningServer> {
  const home = mkdtempSync(join(tmpdir(), 'hostward-php-'))
  const socket = join(home, 'fpm.sock')
  writeFileSync(join(home, 'index.php'), script)
  writeFileSync(join(home, 'fpm.conf'), fpmConfiguration(home, socket))
  const fpm = start(fpmProgram() ?? 'php-fpm', ['--nodaemonize', '--fpm-config', join(home, 'fpm.conf'), ...asRoot()])
  let errors = ''
  fpm.stdout.resume()
  fpm.stderr.setEncoding('latin1').on('data', (text: string) => (errors += text))
  if (!(await accepts(socket))) throw new Error(`php-fpm does not accept connections: ${errors}`)
  const nginx = await startNginx(`
  server {
    listen 127.0.0.1:PORT;
    client_max_body_size 64m;
    location / {
      fastcgi_pass unix:${socket};
      fastcgi_param SCRIPT_FILENAME ${home}/index.php;
      fastcgi_param REQUEST_METHOD $request_method;
      fastcgi_param REQUEST_URI $request_uri;
      fastcgi_param QUERY_STRING $query_string;
      fastcgi_param CONTENT_TYPE $content_type;
      fastcgi_param CONTENT_LENGTH $content_length;
      fastcgi_param SERVER_PROTOCOL $server_protocol;
    }
  }`)
  const end = async (): Promise<void> => {
    await nginx.stop()
    await stop(fpm)
    rmSync(home, { recursive: true })
  }
  return { port: nginx.port, stop: end }
}

/** Debian has its version in the name. */
function fpmProgram(): string | undefined {
  const name = readdirSync('/usr/sbin').find((file) => /^php-fpm[\d.]*$/.test(file))
  return name === undefined ? undefined : join('/usr/sbin', name)
}

function asRoot(): readonly string[] {
  return process.getuid?.() === 0 ? ['--allow-to-run-as-root'] : []
}

function fpmConfiguration(home: string, socket: string): string {
  return `[global]
error_log = ${home}/fpm.log
[www]
listen = ${socket}
pm = static
pm.max_children = 2
${process.getuid?.() === 0 ? 'user = root\ngroup = root' : ''}
php_admin_value[upload_max_filesize] = 64M
php_admin_value[post_max_size] = 64M
php_admin_value[upload_tmp_dir] = ${home}
`
}

async function accepts(path: string): Promise<boolean> {
  const endMs = performance.now() + readyDeadlineMs
  while (performance.now() < endMs) {
    const socket = createConnection(path)
    const isConnected = await once(socket, 'connect').then(
      () => true,
      () => false,
    )
    socket.destroy()
    if (isConnected) return true
    await delay(pollMs)
  }
  return false
}
