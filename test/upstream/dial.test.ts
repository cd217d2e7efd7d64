// Dialling without TLS: sockets of every kind, what is said when nobody answers, and that nothing is left behind.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import type { Socket } from 'node:net'
import { networkInterfaces, tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { encodeProxyV2 } from '../../src/net/proxy-protocol-v2.js'
import { Dial } from '../../src/upstream/dial.js'
import { connectError, isExhausted, isLocal } from '../../src/upstream/transport-errors.js'
import type { DialTarget } from '../../src/upstream/transport-target.js'
import { makeAuthority, makeCertificate } from '../support/certificates.js'
import { until } from '../support/deadline.js'
import {
  deadPort,
  dial,
  established,
  failing,
  hasOpen,
  plainAddress,
  plainServer,
  reading,
  targetOf,
  tlsAddress,
  tlsServer,
  trusting,
} from './dial-rig.js'

const nobody = 65_534
const hasIpv6 = networkInterfaces()['lo']?.some(({ address }) => address === '::1') ?? false
const loopbacks = hasIpv6 ? ['127.0.0.1', '::1'] : ['127.0.0.1']

function folder(context: TestContext): string {
  const path = mkdtempSync(join(tmpdir(), 'hostward-dial-'))
  context.after(() => rmSync(path, { recursive: true, force: true }))
  return path
}

function echo(socket: Socket): void {
  socket.on('data', (chunk) => socket.write(chunk))
}

test('a literal address is dialled, and bytes pass both ways', async (context) => {
  for (const host of loopbacks) {
    const server = await plainServer(context, echo, { host })
    const transport = await established(context, targetOf(context, { address: plainAddress(server.port, host) }))
    const read = reading(transport)
    transport.socket.write('hello')
    await until('the echo comes', () => read.text === 'hello')
    assert.equal(transport.address, host)
  }
})

test('connections that read at the same time do not mix their bytes', async (context) => {
  const server = await plainServer(context, (socket) => {
    socket.once('data', ([letter]) => socket.end(Buffer.alloc(300_000, letter)))
  })
  const target = targetOf(context, { address: plainAddress(server.port) })
  const transports = await Promise.all(['a', 'b', 'c'].map(() => established(context, target)))
  const reads = transports.map(reading)
  for (const [index, { socket }] of transports.entries()) socket.write('abc'.charAt(index))
  await until('everything has come', () => reads.every(({ text }) => text.length === 300_000))
  assert.deepEqual(
    reads.map(({ text }) => text),
    ['a', 'b', 'c'].map((letter) => letter.repeat(300_000)),
  )
})

test('what is spoken without TLS is what was configured, and HTTP/1 for auto', async (context) => {
  const server = await plainServer(context)
  const address = plainAddress(server.port)
  for (const [protocol, spoken] of [
    ['http1', 'http1'],
    ['h2', 'h2'],
    ['auto', 'http1'],
  ] as const) {
    assert.equal((await established(context, targetOf(context, { address, protocol }))).protocol, spoken)
  }
})

test('a Unix socket is dialled by its path', async (context) => {
  const path = join(folder(context), 'shop.sock')
  await plainServer(context, echo, { path })
  const transport = await established(context, targetOf(context, { address: { kind: 'unix', path } }))
  const read = reading(transport)
  transport.socket.write('hello')
  await until('the echo comes', () => read.text === 'hello')
  assert.equal(transport.address, path)
})

test('a Unix socket that is not there, or no socket, is told so', async (context) => {
  const path = join(folder(context), 'shop.sock')
  const target = targetOf(context, { address: { kind: 'unix', path } })
  const missing = await failing(target)
  assert.equal(missing.code, 'upstream_unreachable')
  assert.equal(missing.detail, `${path}: there is no such socket (ENOENT)`)
  writeFileSync(path, '')
  assert.match((await failing(target)).detail, /^.*shop\.sock: .* \((ECONNREFUSED|ENOTSOCK)\)$/)
})

test('a Unix socket that may not be used is told so', async (context) => {
  const path = join(folder(context), 'shop.sock')
  await plainServer(context, echo, { path })
  chmodSync(path, 0o000)
  // Root may everything, so it is somebody else for a moment.
  const isRoot = process.geteuid?.() === 0
  if (isRoot) process.seteuid?.(nobody)
  context.after(() => isRoot && process.seteuid?.(0))
  const failure = await failing(targetOf(context, { address: { kind: 'unix', path } }))
  if (isRoot) process.seteuid?.(0)
  assert.equal(failure.detail, `${path}: not permitted (EACCES)`)
})

test('a connection that is refused names the address, and any request may be tried elsewhere', async (context) => {
  const port = await deadPort()
  for (const host of loopbacks) {
    const shown = host === '::1' ? `[::1]:${port}` : `127.0.0.1:${port}`
    const failure = await failing(targetOf(context, { address: plainAddress(port, host) }))
    assert.equal(failure.code, 'upstream_unreachable')
    assert.equal(failure.status, 502)
    assert.equal(failure.retry, 'always')
    assert.equal(failure.detail, `${shown}: connection refused (ECONNREFUSED)`)
    assert.equal((failure.cause as NodeJS.ErrnoException).code, 'ECONNREFUSED')
  }
})

test('a machine without a free local port is told as such', () => {
  const error = Object.assign(new Error('connect EADDRNOTAVAIL 192.0.2.1:80'), { code: 'EADDRNOTAVAIL' })
  assert.equal(connectError(error), 'no local address or port is left for it (EADDRNOTAVAIL)')
  assert.ok(isLocal(error), 'the endpoint is not to blame')
  assert.ok(!isExhausted(error), 'another address may be had')
})

test('a process without a free file descriptor is told as such, and dials when there is one again', async (context) => {
  const server = await plainServer(context)
  const program = fileURLToPath(new URL('exhausted-dial.js', import.meta.url))
  const command = `ulimit -n 64 && exec "$0" "$1" ${server.port}`
  const shell = promisify(execFile)('sh', ['-c', command, process.execPath, program], { timeout: 20_000 })
  const { stdout } = await shell
  const place = `127.0.0.1:${server.port}`
  const failure = `upstream_unreachable: ${place}: this process has no file descriptor left (EMFILE)`
  assert.deepEqual(stdout.trim().split('\n'), ['connected', failure, 'connected'])
})

test('a dial that was cancelled leaves no connection behind, whenever that was', async (context) => {
  const authority = await makeAuthority()
  const pair = await makeCertificate({ names: ['shop.test'], issuer: authority })
  const plain = await plainServer(context)
  const secured = await tlsServer(context, { cert: pair.chain, key: pair.key })
  const stalled = await plainServer(context, (socket) => socket.resume())
  const tls = trusting(authority.cert)
  const header = encodeProxyV2('local')
  const targets = [
    targetOf(context, { address: plainAddress(plain.port) }),
    targetOf(context, { address: tlsAddress(secured.port), tls, serverName: 'shop.test' }),
    targetOf(context, { address: tlsAddress(stalled.port), tls, serverName: 'shop.test' }),
    targetOf(context, { address: plainAddress(plain.port, 'shop.test'), lookUp: async () => ['127.0.0.1'] }),
  ]
  const heard: string[] = []
  for (const target of targets) {
    for (const proxyHeader of [undefined, header]) {
      for (let turns = 0; turns < 12; turns++) await cancelAfter({ target, proxyHeader, turns, heard })
    }
  }
  for (const server of [plain, secured, stalled]) await hasOpen(server, 0)
  assert.ok(heard.includes('connected'), 'some were cancelled too late')
  await until('our own sockets are gone', () => !process.getActiveResourcesInfo().includes('TLSWrap'))
})

interface Cancellation {
  readonly target: DialTarget
  readonly proxyHeader: Buffer | undefined
  readonly turns: number
  readonly heard: string[]
}

async function cancelAfter({ target, proxyHeader, turns, heard }: Cancellation): Promise<void> {
  let isCancelled = false
  const dial = new Dial(
    { target, proxyHeader, connectMs: 15_000 },
    {
      onConnected: ({ socket }) => {
        assert.ok(!isCancelled, 'nothing is heard once it is cancelled')
        heard.push('connected')
        socket.destroy()
      },
      // The server behind TLS takes a PROXY header for nonsense and closes.
      onFailure: ({ code }) => {
        assert.ok(!isCancelled, 'nothing is heard once it is cancelled')
        heard.push(code)
      },
    },
  )
  for (let turn = 0; turn < turns; turn++) await new Promise((resolve) => setImmediate(resolve))
  dial.cancel()
  isCancelled = true
  dial.cancel()
}

const clientHeader = encodeProxyV2({
  source: { address: '192.0.2.7', port: 40_000 },
  destination: { address: '198.51.100.1', port: 443 },
})

test('a PROXY header is the very first thing that an endpoint reads, in one piece with the request', async (context) => {
  const chunks: Buffer[] = []
  const server = await plainServer(context, (socket) => socket.on('data', (chunk) => chunks.push(chunk)))
  const target = targetOf(context, { address: plainAddress(server.port) })
  const request = 'GET / HTTP/1.1\r\nhost: shop.test\r\n\r\n'
  await new Promise<void>((resolve) => {
    new Dial(
      { target, connectMs: 15_000, proxyHeader: clientHeader },
      {
        onConnected: ({ socket }) => {
          context.after(() => socket.destroy())
          socket.write(request)
          resolve()
        },
        onFailure: ({ detail }) => assert.fail(detail),
      },
    )
  })
  await until('the request has come', () => Buffer.concat(chunks).length === clientHeader.length + request.length)
  assert.deepEqual(Buffer.concat(chunks), Buffer.concat([clientHeader, Buffer.from(request)]))
  assert.equal(chunks.length, 1)
})

test('a PROXY header leaves although nothing follows it', async (context) => {
  const chunks: Buffer[] = []
  const path = join(folder(context), 'shop.sock')
  await plainServer(context, (socket) => socket.on('data', (chunk) => chunks.push(chunk)), { path })
  await established(context, targetOf(context, { address: { kind: 'unix', path } }), { proxyHeader: clientHeader })
  await until('the header has come', () => Buffer.concat(chunks).length === clientHeader.length)
  assert.deepEqual(Buffer.concat(chunks), clientHeader)
})

test('a PROXY header stands before TLS, and bytes pass both ways behind it', async (context) => {
  const authority = await makeAuthority()
  const pair = await makeCertificate({ names: ['shop.test'], issuer: authority })
  const secured = await tlsServer(context, { cert: pair.chain, key: pair.key, ALPNProtocols: ['h2'] }, (socket) => {
    socket.on('data', (chunk) => socket.write(chunk))
  })
  const headers: Buffer[] = []
  const front = await plainServer(context, (socket) => {
    socket.once('readable', () => {
      headers.push(socket.read(clientHeader.length))
      secured.adopt(socket)
    })
  })
  const target = targetOf(context, {
    address: tlsAddress(front.port),
    tls: trusting(authority.cert),
    serverName: 'shop.test',
    protocol: 'auto',
  })
  const transport = await established(context, target, { proxyHeader: clientHeader })
  const read = reading(transport)
  const sent = 'hello'.repeat(40_000)
  transport.socket.write(sent)
  await until('the echo comes', () => read.text.length === sent.length)
  assert.equal(read.text, sent)
  assert.equal(transport.protocol, 'h2')
  assert.deepEqual(headers, [clientHeader])
  transport.socket.destroy()
  await until('the connection closes', () => secured.sockets.every(({ destroyed }) => destroyed))
})

const wholeBytes = 8 * 1024 * 1024
const whole = Buffer.alloc(wholeBytes, 'what is sent, in order; ')

for (const kind of ['plain', 'TLS', 'TLS behind a PROXY header'] as const) {
  test(`a transport that is paused (${kind}) stops reading, and loses nothing`, async (context) => {
    const pair = await makeCertificate({ names: ['shop.test'] })
    const plain = await plainServer(context, (socket) => socket.write(whole))
    const secured = await tlsServer(context, { cert: pair.cert, key: pair.key }, (socket) => socket.write(whole))
    const front = await plainServer(context, (socket) => {
      socket.once('readable', () => {
        socket.read(clientHeader.length)
        secured.adopt(socket)
      })
    })
    const tls = trusting(pair.cert)
    const port = kind === 'TLS' ? secured.port : front.port
    const address = kind === 'plain' ? plainAddress(plain.port) : tlsAddress(port)
    const target = targetOf(context, { address, tls, serverName: 'shop.test' })
    const proxyHeader = kind === 'TLS behind a PROXY header' ? clientHeader : undefined
    const chunks: Buffer[] = []
    let readBytes = 0
    const outcome = await dial(target, {
      proxyHeader,
      onEstablished: (transport) => {
        context.after(() => transport.socket.destroy())
        transport.onBytes = (chunk) => {
          if (chunks.length === 0) transport.socket.pause()
          chunks.push(chunk)
          readBytes += chunk.length
        }
      },
    })
    await until('something is read', () => readBytes > 0)
    // Long enough for everything to come, if it came.
    for (let turn = 0; turn < 50; turn++)
      await established(context, targetOf(context, { address: plainAddress(plain.port) }))
    assert.ok(readBytes < wholeBytes / 2, `${readBytes} bytes were read`)
    outcome.transport?.socket.resume()
    await until('all of it is read', () => readBytes === wholeBytes)
    assert.ok(Buffer.concat(chunks).equals(whole))
  })
}
