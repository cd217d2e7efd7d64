// HAProxy, one thread. It cannot log into a file, so its standard output is one.
import { openSync, readFileSync, writeFileSync } from 'node:fs'
import { siteName } from '../heads.js'
import { accepts, findProgram, freePort, serverCore, spawnPinned, untilReady } from '../processes.js'
import type { Server, Setup } from './server.js'

const program = findProgram('haproxy')

/** HAProxy as it is installed. */
export const haproxy: Server = {
  name: 'haproxy',
  wires: ['h1', 'h2'],
  missing: program === undefined ? 'haproxy is not installed' : undefined,
  logMarker: '"GET ',
  async start(setup) {
    const port = await freePort()
    const logFile = `${setup.folder}/access.log`
    const configFile = `${setup.folder}/haproxy.cfg`
    const bundle = `${setup.folder}/site.pem`
    writeFileSync(bundle, readFileSync(setup.certificateFile, 'utf8') + readFileSync(setup.keyFile, 'utf8'))
    writeFileSync(configFile, configuration(setup, { port, bundle }))
    const output = openSync(logFile, 'a')
    const command = [program ?? 'haproxy', '-db', '-f', configFile]
    const child = spawnPinned(serverCore, command, { stdio: ['ignore', output, 'inherit'] })
    await untilReady(child, () => accepts(port))
    return { child, port, logFile }
  },
}

function configuration(setup: Setup, { port, bundle }: { port: number; bundle: string }): string {
  const facts =
    '%[date(0,ms)] %[var(txn.host)] %[ssl_fc_sni] %HV %sslv \\"%HM %HU\\" %ST %ci:%cp %si:%sp %Tw/%Tc/%Tr/%Ta %ID %rt %U %B %ts'
  return `global
  nbthread 1
  maxconn 4096
  log stdout format raw local0
defaults
  mode http
  log global
  timeout client 900s
  timeout server 95s
  timeout connect 5s
  timeout http-keep-alive 900s
frontend public
  bind 127.0.0.1:${port} ssl crt ${bundle} ssl-min-ver TLSv1.3 alpn h2,http/1.1
  unique-id-format %{+X}o%ci:%cp_%fi:%fp_%Ts_%rt
  http-request set-var(txn.host) req.hdr(host)
  http-request set-header X-Forwarded-Proto https
  http-request set-header X-Forwarded-Host %[req.hdr(host)]
  http-request set-header X-Forwarded-For %[src]
  http-request set-header X-Request-Id %[unique-id]
  log-format "${facts}"
  acl site hdr(host) -i ${siteName}
  http-request deny deny_status 421 unless site
  use_backend origin if site
backend origin
  http-reuse always
  server one 127.0.0.1:${setup.originPort}
`
}
