// The servers of the benchmark of reloads: how each is configured for thousands of sites that answer by themselves, and how it
// is told that one of them answers something else.
import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { findProgram } from '../processes.js'
import { hostOf, replaceFile, type Sites } from './sites.js'

/** What site 0 answers. */
export type Body = string

/** A server that has been told what to serve. */
export interface Peer {
  readonly name: string
  /** Why it cannot be measured here. */
  readonly missing: string | undefined
  /** Writes everything; `body` is what every site answers. */
  configure(sites: Sites, port: number): void
  start(sites: Sites): ChildProcess
  /** Has the first site answer another body, and takes it into service. */
  change(sites: Sites, body: Body, server: ChildProcess): void
}

/** The body that every site answers at first. */
export const firstBody: Body = 'first'

export const hostward: Peer = {
  name: 'hostward',
  missing: undefined,
  configure(sites, port) {
    const log = { file: 'hostward.log', access: false }
    const main = { listeners: [{ name: 'public', bind: `127.0.0.1:${port}` }], include: ['vhosts/*.yaml'], log }
    replaceFile(join(sites.folder, 'hostward.yaml'), JSON.stringify(main))
    for (let index = 0; index < sites.count; index += 1) writeSite(sites, index, firstBody)
  },
  start: ({ folder }) => {
    const program = fileURLToPath(new URL('../../src/cli/main.js', import.meta.url))
    return spawn(process.execPath, [program, 'serve', '-c', join(folder, 'hostward.yaml')], { stdio: 'inherit' })
  },
  change: (sites, body) => writeSite(sites, 0, body),
}

/** Writes the file of one site for Hostward. */
export function writeSite({ folder }: Sites, index: number, body: Body): void {
  const text = `hosts: [${hostOf(index)}]
certificate: { cert: ../certs/${index}.pem, key: ../certs/${index}.key }
respond: { body: ${body} }
`
  replaceFile(join(folder, `vhosts/${index}.yaml`), text)
}

const nginxProgram = findProgram('nginx')

export const nginx: Peer = {
  name: 'nginx',
  missing: nginxProgram === undefined ? 'nginx is not installed' : undefined,
  configure({ folder, count }, port) {
    mkdirSync(join(folder, 'nginx'), { recursive: true })
    const servers = Array.from({ length: count }, (_, index) => nginxServer({ folder, index, port, body: firstBody }))
    replaceFile(join(folder, 'nginx/others.conf'), servers.slice(1).join(''))
    replaceFile(join(folder, 'nginx/first.conf'), servers[0] ?? '')
    replaceFile(
      join(folder, 'nginx/nginx.conf'),
      `daemon off; worker_processes 1; pid ${folder}/nginx.pid; error_log stderr emerg;
events { worker_connections 4096; }
http {
  access_log off; keepalive_requests 1000000000; keepalive_timeout 900s;
  server_names_hash_max_size 131072; server_names_hash_bucket_size 128;
  include ${folder}/nginx/first.conf;
  include ${folder}/nginx/others.conf;
}
`,
    )
  },
  start: ({ folder }) =>
    spawn(nginxProgram ?? 'nginx', ['-e', 'stderr', '-c', join(folder, 'nginx/nginx.conf')], quiet),
  change({ folder }, body, server) {
    replaceFile(join(folder, 'nginx/first.conf'), nginxServer({ folder, index: 0, port: portOf(server), body }))
    server.kill('SIGHUP')
  },
}

const ports = new WeakMap<ChildProcess, number>()

/** Remembers the port of a server, which nginx writes into every site. */
export function rememberPort(server: ChildProcess, port: number): void {
  ports.set(server, port)
}

function portOf(server: ChildProcess): number {
  return ports.get(server) ?? 0
}

function nginxServer(site: { folder: string; index: number; port: number; body: Body }): string {
  const { folder, index, port, body } = site
  return `server { listen 127.0.0.1:${port} ssl; server_name ${hostOf(index)};
  ssl_certificate ${folder}/certs/${index}.pem; ssl_certificate_key ${folder}/certs/${index}.key;
  location / { return 200 "${body}"; } }
`
}

const haproxyProgram = findProgram('haproxy')

export const haproxy: Peer = {
  name: 'haproxy',
  missing: haproxyProgram === undefined ? 'haproxy is not installed' : undefined,
  configure(sites, port) {
    const map = Array.from({ length: sites.count }, (_, index) => `${hostOf(index)} b${index}\n`)
    replaceFile(join(sites.folder, 'haproxy.map'), map.join(''))
    haproxyConfig(sites, { port, body: firstBody })
  },
  start: ({ folder }) => spawn(haproxyProgram ?? 'haproxy', ['-W', '-f', join(folder, 'haproxy.cfg')], quiet),
  change(sites, body, server) {
    haproxyConfig(sites, { port: portOf(server), body })
    server.kill('SIGUSR2')
  },
}

function haproxyConfig({ folder, count }: Sites, { port, body }: { port: number; body: Body }): void {
  const backends = Array.from({ length: count }, (_, index) => {
    const answer = index === 0 ? body : firstBody
    return `backend b${index}\n  http-request return status 200 content-type text/plain string ${answer}\n`
  })
  replaceFile(
    join(folder, 'haproxy.cfg'),
    `global
  nbthread 1
  maxconn 4096
defaults
  mode http
  timeout client 900s
  timeout server 95s
  timeout connect 5s
frontend public
  bind 127.0.0.1:${port} ssl crt ${folder}/bundles/ alpn h2,http/1.1
  use_backend %[req.hdr(host),lower,map(${folder}/haproxy.map)]
${backends.join('')}`,
  )
}

const quiet: SpawnOptions = { stdio: 'ignore' }
