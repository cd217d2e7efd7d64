// Bodies of any size in constant memory. By hand with 4 GiB: HOSTWARD_TEST_BODY_MIB=4096 node --test dist/test/attack/memory.test.js
import assert from 'node:assert/strict'
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { createServer, type Server, type Socket } from 'node:net'
import { after, before, describe, test } from 'node:test'
import { setInterval } from 'node:timers/promises'
import { connect } from 'node:tls'
import { portOf } from '../support/port.js'

const mebibyte = 1024 * 1024
const bodyBytes = Number(process.env['HOSTWARD_TEST_BODY_MIB'] ?? 256) * mebibyte
const growthBytesMax = 64 * mebibyte
/** As much as a runtime reads before it collects what it has read; newer ones read into buffers of 64 KiB. */
const warmUpBytes = 64 * mebibyte
const piece = Buffer.alloc(64 * 1024, 'x')
const canWeigh = existsSync('/proc/self/status')

describe('a gateway holds no more than 64 MiB above idle', { skip: !canWeigh && 'needs /proc' }, () => {
  let upstream: Server
  let gateway: ChildProcess
  let port: number
  let idleBytes: number
  /** What the upstream does with a connection. */
  let serve: (socket: Socket) => unknown

  before(async () => {
    upstream = createServer((socket) => serve(socket)).listen(0, '127.0.0.1')
    await once(upstream, 'listening')
    gateway = fork(new URL('../support/gateway-process.js', import.meta.url), [String(portOf(upstream))])
    const [message] = await once(gateway, 'message')
    port = Number(message)
    await serveOnce()
  })
  after(async () => {
    gateway.disconnect()
    await once(gateway, 'exit')
    upstream.close()
  })

  // Idle is a process that has compiled its code and allocated its heap, not one that has never served.
  async function serveOnce(): Promise<void> {
    serve = (socket) => readSlowly(socket, warmUpBytes, () => socket.end('HTTP/1.1 204 No Content\r\n\r\n'))
    const client = connectTo(port)
    client.write(`POST / HTTP/1.1\r\nHost: a.example\r\nConnection: close\r\nContent-Length: ${warmUpBytes}\r\n\r\n`)
    client.write(Buffer.alloc(warmUpBytes, 'x'))
    await once(client.resume(), 'close')
  }

  for (const framing of ['counted', 'chunked'] as const) {
    test(`while it passes a large ${framing} upload to a slow endpoint`, async () => {
      serve = (socket) =>
        readSlowly(socket, bodyBytes, () => socket.write('HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n'))
      idleBytes = residentBytes(gateway, 'VmRSS')
      const client = connectTo(port)
      let answer = ''
      client.on('data', (chunk) => {
        answer += chunk.toString('latin1')
      })
      client.write(`POST / HTTP/1.1\r\nHost: a.example\r\nConnection: close\r\n${framingLine(framing)}\r\n`)
      writeBody(client, framing)
      await once(client, 'close')
      assert.match(answer, /^HTTP\/1\.1 204 /)
      assertLight()
    })

    test(`while it passes a large ${framing} download to a slow client`, async () => {
      serve = (socket) => {
        socket.once('data', () => {
          socket.write(`HTTP/1.1 200 OK\r\nConnection: close\r\n${framingLine(framing)}\r\n`)
          writeBody(socket, framing)
        })
      }
      idleBytes = residentBytes(gateway, 'VmRSS')
      const client = connectTo(port)
      client.write('GET / HTTP/1.1\r\nHost: a.example\r\nConnection: close\r\n\r\n')
      let isWhole = false
      readSlowly(client, bodyBytes, () => {
        isWhole = true
      })
      await once(client, 'close')
      assert.ok(isWhole)
      assertLight()
    })
  }

  test('while an endpoint takes nothing of a large upload, whose beginning came before its connection', async () => {
    let sleeping: Socket | undefined
    serve = (socket) => {
      sleeping = socket.pause()
    }
    idleBytes = residentBytes(gateway, 'VmRSS')
    const client = connectTo(port)
    client.write(`POST / HTTP/1.1\r\nHost: a.example\r\n${framingLine('counted')}\r\n`)
    writeBody(client, 'counted')
    await stops(client)
    assert.ok(client.bytesWritten < bodyBytes)
    assertLight()
    client.destroy()
    sleeping?.destroy()
  })

  function assertLight(): void {
    const grownBytes = residentBytes(gateway, 'VmHWM') - idleBytes
    assert.ok(grownBytes < growthBytesMax, `grew by ${Math.round(grownBytes / mebibyte)} MiB`)
  }
})

function framingLine(framing: 'counted' | 'chunked'): string {
  return framing === 'counted' ? `Content-Length: ${bodyBytes}\r\n` : 'Transfer-Encoding: chunked\r\n'
}

/** A client over TLS, as nearly all are. */
function connectTo(port: number): Socket {
  return connect({ port, host: '127.0.0.1', rejectUnauthorized: false })
}

/** Writes a body as fast as the socket takes it, without holding it. */
function writeBody(socket: Socket, framing: 'counted' | 'chunked'): void {
  const part = framing === 'counted' ? piece : Buffer.concat([Buffer.from('10000\r\n'), piece, Buffer.from('\r\n')])
  let left = bodyBytes / piece.length
  const writeMore = () => {
    while (left > 0 && !socket.destroyed) {
      left--
      if (!socket.write(part)) return
    }
    if (left === 0 && framing === 'chunked') socket.write('0\r\n\r\n')
    left = -1
  }
  socket.on('drain', writeMore)
  writeMore()
}

/** Waits until a writing socket has moved nothing for half a second. */
async function stops(socket: Socket): Promise<void> {
  let leftBytes = -1
  let pauses = 0
  for await (const _ of setInterval(50)) {
    pauses = socket.bytesWritten - socket.writableLength === leftBytes ? pauses + 1 : 0
    leftBytes = socket.bytesWritten - socket.writableLength
    if (pauses === 10) return
  }
}

/** Counts the bytes of a body and rests after every read; `onWhole` once all have come. */
function readSlowly(socket: Socket, bytes: number, onWhole: () => void): void {
  let count = 0
  let isBehindHead = false
  socket.on('data', (chunk: Buffer) => {
    const before = count
    const bodyStart = isBehindHead ? 0 : chunk.indexOf('\r\n\r\n')
    isBehindHead ||= bodyStart !== -1
    for (let at = chunk.indexOf('x', bodyStart); isBehindHead && at !== -1; ) {
      const end = chunk.indexOf('\r', at)
      count += (end === -1 ? chunk.length : end) - at
      at = end === -1 ? -1 : chunk.indexOf('x', end)
    }
    if (before < bytes && count >= bytes) return onWhole()
    socket.pause()
    setImmediate(() => setImmediate(() => socket.resume()))
  })
}

/** A line of a process's status: its memory now (VmRSS), or at its peak (VmHWM). */
function residentBytes(process: ChildProcess, line: 'VmRSS' | 'VmHWM'): number {
  const status = readFileSync(`/proc/${process.pid}/status`, 'latin1')
  return Number(new RegExp(`^${line}:\\s+(\\d+) kB`, 'm').exec(status)?.[1]) * 1024
}
