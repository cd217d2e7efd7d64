// Malformed and odd answers of an upstream, whole and in pieces, and what an HTTP/1.1 and an HTTP/1.0 client get of them.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { until } from '../support/deadline.js'
import { forwardTo, Gateway } from '../support/gateway.js'
import { RawClient } from '../support/raw-client.js'
import { ScriptedUpstream, type UpstreamConnection } from '../support/scripted-upstream.js'
import { type AnswerRow, answerTables } from './rows/answers.js'

type Version = '1.1' | '1.0'

let upstream: ScriptedUpstream
let gateway: Gateway

before(async () => {
  upstream = await new ScriptedUpstream(() => undefined).open()
  gateway = await new Gateway({ sites: { 'a.example': forwardTo(upstream.port) } }).open()
})
after(async () => {
  await gateway.close()
  await upstream.close()
})

for (const [title, rows] of Object.entries(answerTables)) {
  describe(`answers: ${title}`, () => {
    for (const row of rows) {
      test(row.name, async () => {
        await check(row, '1.1', sendWhole)
        await check(row, '1.0', sendWhole)
        await check(row, '1.1', sendInPieces)
      })
    }
  })
}

async function check(row: AnswerRow, version: Version, send: typeof sendWhole): Promise<void> {
  upstream.script = (connection) => void send(connection, row)
  const client = await RawClient.connect(gateway.port)
  client.send(`GET / HTTP/${version}\r\nHost: a.example\r\n\r\n`)
  if (row.gets === 'bad gateway') await checkRefused(client)
  else if (row.gets === 'broken') await checkBroken(client)
  else await checkPassed(client, row, version)
  client.destroy()
  await checkPool(row)
}

async function checkRefused(client: RawClient): Promise<void> {
  await until('a final answer', () => client.received.includes('502 upstream_protocol'))
  assert.match(client.received, /^(?:HTTP\/1\.1 103 X\r\n\r\n)*HTTP\/1\.1 502 Bad Gateway\r\n/)
}

async function checkBroken(client: RawClient): Promise<void> {
  await client.ends()
  assert.match(client.received, /^HTTP\/1\.1 200 OK\r\n/)
  assert.doesNotMatch(client.received, /\r\n0\r\n\r\n/)
}

async function checkPassed(client: RawClient, row: AnswerRow, version: Version): Promise<void> {
  const gets = row.gets as { head: string; body: string }
  const isOld = version === '1.0'
  const head = isOld ? oldHead(gets.head) : gets.head
  const expected = isOld ? [head, row.oldBody ?? gets.body] : [head, unchunked(gets.body)]
  await until(`${row.name}: the answer`, () => {
    const got = split(client.received)
    return isOld ? client.isEnded : got[0].endsWith('\r\n\r\n') && unchunked(got[1]) === expected[1] && !isOpen(got)
  })
  const [gotHead, gotBody] = split(client.received)
  assert.deepEqual([gotHead, isOld ? gotBody : unchunked(gotBody)], expected)
}

/** Whether a chunked body still lacks its last chunk. */
function isOpen([head, body]: [string, string]): boolean {
  return head.includes('transfer-encoding: chunked') && !/(?:^|\r\n)0\r\n(?:.+\r\n)*\r\n$/.test(body)
}

/** HTTP/1.0 gets no informational answers and no chunks, and its connection ends. */
function oldHead(head: string): string {
  const final = head.slice(head.lastIndexOf('HTTP/1.1 '))
  return final.replace('transfer-encoding: chunked\r\n', '').replace(/\r\n$/, 'connection: close\r\n\r\n')
}

/** All heads without Date, and what is behind the last. */
function split(received: string): [head: string, body: string] {
  const end = received.indexOf('\r\n\r\n', Math.max(0, received.lastIndexOf('HTTP/1.1 '))) + 4
  return [received.slice(0, end).replace(/date: [^\r]*\r\n/, ''), received.slice(end)]
}

/** A body in one chunk, however it was cut. */
function unchunked(body: string): string {
  return body.replace(/(?:^|\r\n)[0-9a-f]+\r\n(?=.)/g, '')
}

async function checkPool(row: AnswerRow): Promise<void> {
  const last = upstream.connections.at(-1) as UpstreamConnection
  if (!row.isReusable) await until(`${row.name}: the upstream connection closes`, () => last.isClosed)
  const count = upstream.connections.length
  upstream.script = ({ socket }) => socket.write('HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ngood')
  const client = await RawClient.connect(gateway.port)
  client.send('GET / HTTP/1.1\r\nHost: a.example\r\n\r\n')
  await client.receives(/^HTTP\/1\.1 200 OK\r\n[\s\S]*good$/)
  client.destroy()
  assert.equal(upstream.connections.length, row.isReusable ? count : count + 1)
}

async function sendWhole({ socket }: UpstreamConnection, row: AnswerRow): Promise<void> {
  socket.write(row.bytes, 'latin1')
  if (row.ends) socket.end()
}

async function sendInPieces({ socket }: UpstreamConnection, row: AnswerRow): Promise<void> {
  const pieceBytes = Math.ceil(row.bytes.length / 250)
  for (let at = 0; at < row.bytes.length; at += pieceBytes) {
    if (socket.destroyed) return
    socket.write(row.bytes.slice(at, at + pieceBytes), 'latin1')
    await new Promise((resolve) => setImmediate(resolve))
  }
  if (row.ends) socket.end()
}
