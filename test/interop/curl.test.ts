// curl as the client: every site on every version, one connection for several sites, bodies, trailers, ends of HTTP/1.0.
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { curl, curlOnce, wires } from './curl.js'
import { bytesOf, digest, greeting } from './origin.js'
import { missing } from './program.js'
import { openStage, type Stage } from './stage.js'

const largeBytes = 64 * 1024 * 1024
const uploadBytes = 3 * 1024 * 1024 + 17

describe('curl', { skip: missing('curl') }, () => {
  let stage: Stage
  before(async () => {
    stage = await openStage()
  })
  after(() => stage.close())

  for (const wire of wires) {
    const version = wire === '--http2' ? '2' : '1.1'

    test(`${wire}: every site answers under its own name`, async () => {
      const answers = await curl(
        stage,
        [wire, 'https://site-a.test/'],
        [wire, 'https://site-b.test/'],
        [wire, 'https://www.a.test/'],
      )
      assert.deepEqual(
        answers.map(({ status, version, body }) => [status, version, String(body)]),
        [
          [200, version, greeting('a', 'site-a.test')],
          [200, version, greeting('b', 'site-b.test')],
          [200, version, greeting('a', 'www.a.test')],
        ],
      )
    })

    test(`${wire}: on one connection every Host gets its own answer, an unknown one 421`, async () => {
      const url = [wire, 'https://site-a.test/']
      const answers = await curl(
        stage,
        url,
        [...url, '--header', 'Host: site-b.test'],
        [...url, '--header', 'Host: unknown.test'],
        [...url, '--header', 'Host: SITE-B.test.:443'],
        url,
      )
      assert.deepEqual(
        answers.map(({ status, newConnections }) => [status, newConnections]),
        [
          [200, 1],
          [200, 0],
          [421, 0],
          [200, 0],
          [200, 0],
        ],
      )
      const bodies = answers.map(({ body }) => String(body))
      assert.deepEqual(
        [bodies[0], bodies[1], bodies[4]],
        [greeting('a', 'site-a.test'), greeting('b', 'site-b.test'), greeting('a', 'site-a.test')],
      )
      assert.match(bodies[2], /^421 unknown_host /)
      assert.match(bodies[3], /^b for /)
    })

    test(`${wire}: uploads arrive whole, announced, asked for with Expect, and without a length`, async () => {
      const body = bytesOf(uploadBytes)
      const file = join(stage.folder, 'upload')
      writeFileSync(file, body)
      const url = [wire, 'https://site-a.test/echo']
      const answers = await curl(
        stage,
        [...url, '--upload-file', file],
        [...url, '--data-binary', `@${file}`],
        [...url, '--data-binary', `@${file}`, '--header', 'Expect: 100-continue'],
        [
          ...url,
          '--data-binary',
          `@${file}`,
          ...(wire === '--http2' ? [] : ['--header', 'Transfer-Encoding: chunked']),
        ],
        [...url, '--upload-file', '/dev/null'],
      )
      assert.deepEqual(
        answers.map((answer) => String(answer.body)),
        [...Array(4).fill(digest(body)), digest(Buffer.alloc(0))],
      )
      if (wire === '--http1.1') assert.match(answers[2].head, /^HTTP\/1\.1 100 .*\r\n\r\nHTTP\/1\.1 200 /)
    })

    test(`${wire}: 64 MiB come down as they were sent`, async () => {
      const [{ status, body }] = await curl(stage, [wire, `https://site-b.test/bytes/${largeBytes}`])
      assert.equal(status, 200)
      assert.ok(body.equals(bytesOf(largeBytes)), `${body.length} bytes, or other ones`)
    })

    test(`${wire}: HEAD has the head of GET and leaves the connection in order`, async () => {
      const url = [wire, 'https://site-b.test/bytes/70000']
      const [head, get] = await curl(stage, [...url, '--head'], url)
      assert.match(head.head, /\r\ncontent-length: 70000\r\n/i)
      assert.deepEqual([get.status, get.newConnections, get.body.length], [200, 0, 70_000])
    })

    test(`${wire}: trailers of the origin reach the client`, async () => {
      const [{ head, body }] = await curl(stage, [wire, 'https://site-a.test/trailers'])
      assert.equal(String(body), 'a body\n')
      assert.match(head, /\r\n\r\nx-checked: yes\r\n/i)
    })
  }

  test('HTTP/1.0 gets a body that ends as it can read it', async () => {
    const [known, unknown] = await curl(
      stage,
      ['--http1.0', 'https://site-a.test/trailers'],
      ['--http1.0', 'https://site-a.test/', '--header', 'Host: unknown.test'],
    )
    assert.deepEqual([known.status, String(known.body)], [200, 'a body\n'])
    assert.doesNotMatch(known.head, /transfer-encoding/i)
    assert.equal(unknown.status, 421)
  })

  test('a client of TLS 1.2 is served, and the log says so', async () => {
    const answers = await curl(
      stage,
      ['--http1.1', '--tls-max', '1.2', 'https://site-a.test/'],
      ['--http2', '--tls-max', '1.2', 'https://site-b.test/'],
    )
    assert.deepEqual(
      answers.map(({ status, version }) => [status, version]),
      [
        [200, '1.1'],
        [200, '2'],
      ],
    )
    const told = () => stage.hostward.requests.filter((line) => line['tlsVersion'] === 'TLSv1.2')
    await stage.hostward.logs('both requests with their version', () => told().length === 2)
    assert.deepEqual(
      told().map((line) => line['protocol']),
      ['http/1.1', 'h2'],
    )
  })

  test('the plain listener sends known hosts to https, lets ACME through, and knows no others', async () => {
    const answers = await curl(
      stage,
      ['http://site-a.test/path?query=1'],
      ['http://site-a.test/.well-known/acme-challenge/token'],
      ['http://unknown.test/'],
      ['--http2', 'http://site-b.test/'],
    )
    assert.deepEqual(
      answers.map(({ status }) => status),
      [308, 200, 421, 308],
    )
    assert.match(answers[0].head, /\r\nlocation: https:\/\/site-a\.test(:\d+)?\/path\?query=1\r\n/i)
    assert.equal(String(answers[1].body), greeting('a', 'site-a.test'))
    assert.equal(answers[3].version, '1.1', 'h2c is not offered')
  })

  test('a name without a site is still refused its certificate', async () => {
    const { code, errors } = await curlOnce(stage, ['https://unknown.test/'])
    assert.equal(code, 60, errors)
  })
})
