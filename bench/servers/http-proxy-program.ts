// The program of http-proxy.ts: one site, keep-alive to the origin, one log line a request.
import { createWriteStream, readFileSync } from 'node:fs'
import { Agent, type IncomingMessage, type ServerResponse } from 'node:http'
import { createServer } from 'node:https'
import { createRequire } from 'node:module'
import { siteName } from '../heads.js'
import type { Setup } from './server.js'

interface Proxy {
  web(request: IncomingMessage, response: ServerResponse, options: object, onError: (error: Error) => void): void
}

interface Program extends Setup {
  readonly port: number
  readonly logFile: string
}

const program: Program = JSON.parse(process.argv[2])
const { createProxyServer } = createRequire(import.meta.url)('http-proxy') as {
  createProxyServer: (options: object) => Proxy
}
const proxy = createProxyServer({
  target: { host: '127.0.0.1', port: program.originPort },
  agent: new Agent({ keepAlive: true, maxSockets: 256 }),
  xfwd: true,
})
const log = createWriteStream(program.logFile, { flags: 'a' })

const options = {
  cert: readFileSync(program.certificateFile),
  key: readFileSync(program.keyFile),
  minVersion: 'TLSv1.3',
  keepAliveTimeout: 900_000,
} as const

createServer(options, (request, response) => {
  if (request.headers.host !== siteName) {
    response.writeHead(421).end()
    return
  }
  const startedAt = performance.now()
  response.on('finish', () => log.write(`${JSON.stringify(factsOf(request, response, startedAt))}\n`))
  proxy.web(request, response, {}, () => response.destroy())
}).listen(program.port, '127.0.0.1', 4096)

function factsOf(request: IncomingMessage, response: ServerResponse, startedAt: number): object {
  return {
    time: new Date().toISOString(),
    host: request.headers.host,
    protocol: request.httpVersion,
    method: request.method,
    target: request.url,
    status: response.statusCode,
    peer: `${request.socket.remoteAddress}:${request.socket.remotePort}`,
    durationMs: performance.now() - startedAt,
    bytesSent: response.getHeader('content-length'),
  }
}
