// A few hundred malformed and odd requests, each sent whole, in pieces, and with a good request behind it.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { until } from '../support/deadline.js'
import { forwardTo, Gateway } from '../support/gateway.js'
import { RawClient } from '../support/raw-client.js'
import { ReadingUpstream } from '../support/reading-upstream.js'
import { type SeenRequest, withoutOwnLines } from '../support/request-reader.js'
import { response } from '../support/scripted-upstream.js'
import { chunkRows } from './rows/chunks.js'
import { fieldRows } from './rows/fields.js'
import { framingRows } from './rows/framings.js'
import { hostRows } from './rows/hosts.js'
import { limitRows, rowLimits } from './rows/limits.js'
import { requestLineRows } from './rows/request-lines.js'
import type { Row } from './rows/row.js'
import { targetRows } from './rows/targets.js'

const second = 'GET /second HTTP/1.1\r\nHost: a.example\r\n\r\n'
const bystander = 'GET /bystander HTTP/1.1\r\nHost: a.example\r\n\r\n'

const tables: Readonly<Record<string, readonly Row[]>> = {
  'request lines': requestLineRows,
  targets: targetRows,
  hosts: hostRows,
  'field lines': fieldRows,
  framing: framingRows,
  chunks: chunkRows,
  'limits and expectations': limitRows,
}

let upstream: ReadingUpstream
let gateway: Gateway

before(async () => {
  upstream = await new ReadingUpstream(({ head }) =>
    head.startsWith('HEAD') ? 'HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n' : response('ok'),
  ).open()
  gateway = await new Gateway({ sites: { 'a.example': forwardTo(upstream.port) }, limits: rowLimits }).open()
})

after(async () => {
  await gateway.close()
  await upstream.close()
})

for (const [title, rows] of Object.entries(tables)) {
  describe(title, () => {
    for (const row of rows) {
      test(row.name, async () => {
        await check(row, (client) => client.send(row.bytes), '')
        await check(row, (client) => client.sendInPieces(row.bytes), '')
        await check(row, (client) => client.send(row.bytes + second), second)
      })
    }
  })
}

test('the table has no two rows of one name', () => {
  const names = Object.values(tables).flatMap((rows) => rows.map((row) => row.name))
  assert.deepEqual(
    names.filter((name, index) => names.indexOf(name) !== index),
    [],
  )
})

async function check(row: Row, send: (client: RawClient) => unknown, behind: string): Promise<void> {
  const seenBefore = upstream.requests.length
  const loggedBefore = gateway.entries.length
  const statuses = row.isReusable && behind !== '' ? [row.status, 200] : [row.status]
  const client = await RawClient.connect(gateway.port)
  await send(client)
  if (row.isReusable) await until(`${statuses.length} answers`, () => client.answers.length >= statuses.length)
  else await client.ends()
  assert.deepEqual(client.statuses, statuses)
  assert.equal(client.isEnded, !row.isReusable)
  client.destroy()
  await answersBystander()
  const seen = upstream.requests.slice(seenBefore).map(asSeen)
  assert.deepEqual(seen, expectedUpstream(row, behind))
  const logged = gateway.entries.slice(loggedBefore)
  assert.deepEqual(
    logged.map((entry) => entry.status),
    [...statuses, 200],
  )
  assert.equal(logged.filter((entry) => entry.reason === 'ok').length, seen.length)
  const [{ target = null } = {}] = logged
  assert.ok(target === null || row.bytes.includes(target) || row.bytes.includes('://'), `logged ${target}`)
}

async function answersBystander(): Promise<void> {
  const client = await RawClient.connect(gateway.port)
  client.send(bystander)
  await client.receives(/^HTTP\/1\.1 200 OK\r\n[\s\S]*ok$/)
  client.destroy()
}

function expectedUpstream(row: Row, behind: string): SeenRequest[] {
  const seen: SeenRequest[] = typeof row.seen === 'string' ? [] : [row.seen]
  if (row.isReusable && behind !== '') seen.push({ head: behind, body: '', trailers: '' })
  return [...seen, { head: bystander, body: '', trailers: '' }]
}

function asSeen({ head, body, trailers }: SeenRequest): SeenRequest {
  return { head: withoutOwnLines(head), body, trailers }
}
