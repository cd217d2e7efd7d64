// nginx in a process of its own, behind Hostward as an origin or in front of it as a proxy or a layer-4 forwarder.
import { existsSync } from 'node:fs'
import { missing, type RunningServer, startServer } from './program.js'

const streamModule = '/usr/lib/nginx/modules/ngx_stream_module.so'

const temporaryFolders = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']

/** Starts nginx with these lines inside `http`, where PORT stands for the port to listen on. */
export function startNginx(http: string): Promise<RunningServer> {
  return startWith(
    (home) => `http {
  access_log off;
  ${temporaryFolders.map((name) => `${name}_temp_path ${home}/${name};`).join('\n  ')}
  ${http}
}`,
  )
}

/** Starts nginx with these lines inside `stream`, where PORT stands for the port to listen on. */
export function startNginxStream(stream: string): Promise<RunningServer> {
  return startWith(
    () => `stream {
  ${stream}
}`,
  )
}

/** For a test's `skip`: what `startNginxStream` needs and does not find, or false. */
export function missingNginxStream(): string | false {
  return missing('nginx') || (!existsSync(streamModule) && `${streamModule} is not there`)
}

function startWith(section: (home: string) => string): Promise<RunningServer> {
  return startServer({
    program: 'nginx',
    configuration: ({ home, port }) => wholeConfiguration(home, section(home).replaceAll('PORT', String(port))),
    args: ({ home, file }) => ['-p', home, '-e', 'stderr', '-c', file],
  })
}

// Without a master, so that the process we end is the one that serves, and it stays the user that owns the files.
function wholeConfiguration(home: string, section: string): string {
  return `${section.startsWith('stream') ? `load_module ${streamModule};` : ''}
daemon off;
master_process off;
pid ${home}/nginx.pid;
error_log stderr warn;
events { worker_connections 1024; }
${section}
`
}
