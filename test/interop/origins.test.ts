// nginx and HAProxy as the services behind Hostward: their framings, their files, their caching answers, their idle ends.
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { gunzipSync } from 'node:zlib'
import { type CurlAnswer, curl, wires } from './curl.js'
import { startHaproxy } from './haproxy.js'
import { ask, type Heard, securePool } from './http-client.js'
import { startNginx } from './nginx.js'
import { bytesOf, digest, Origin } from './origin.js'
import { missing, type RunningServer } from './program.js'
import { openStage, type Stage } from './stage.js'

const fileBytes = 24 * 1024 * 1024
const uploadBytes = 2 * 1024 * 1024 + 3
const burst = 16
const pausesMs = [990, 1000, 1010, 2000]
const compressible = 'the same line again\n'.repeat(5000)

describe('nginx as the origin', { skip: missing('nginx', 'curl') }, () => {
  let folder: string
  let service: Origin
  let nginx: RunningServer
  let stage: Stage
  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'hostward-files-'))
    writeFileSync(join(folder, 'large.bin'), bytesOf(fileBytes))
    writeFileSync(join(folder, 'text.txt'), compressible)
    service = await Origin.open('behind nginx')
    nginx = await startNginx(nginxOrigin(folder, service.port))
    const upstream = `http://127.0.0.1:${nginx.port}`
    const sites = [
      { hosts: ['nginx.test'], upstream },
      { hosts: ['silent.test'], upstream, via: false },
    ]
    stage = await openStage({ sites })
  })
  after(async () => {
    await stage.close()
    await nginx.stop()
    await service.close()
    rmSync(folder, { recursive: true })
  })

  for (const wire of wires) {
    test(`${wire}: a large file comes whole, and ranges of it as asked for`, async () => {
      const url = [wire, 'https://nginx.test/large.bin']
      const [whole, first, last, two, beyond] = await curl(
        stage,
        url,
        [...url, '--range', '0-99'],
        [...url, '--range', '-100'],
        [...url, '--range', '0-9,20-29'],
        [...url, '--range', `${fileBytes}-`],
      )
      assert.ok(whole.body.equals(bytesOf(fileBytes)), `${whole.body.length} bytes, or other ones`)
      assert.deepEqual(
        [first, last, two, beyond].map(({ status }) => status),
        [206, 206, 206, 416],
      )
      assert.ok(first.body.equals(bytesOf(fileBytes).subarray(0, 100)))
      assert.match(
        last.head,
        new RegExp(`content-range: bytes ${fileBytes - 100}-${fileBytes - 1}/${fileBytes}\\r\\n`, 'i'),
      )
      assert.match(two.head, /content-type: multipart\/byteranges/i)
    })

    test(`${wire}: an unchanged file is 304 without a body, and the connection goes on`, async () => {
      const url = [wire, 'https://nginx.test/text.txt']
      const [{ head }] = await curl(stage, url)
      const etag = /^etag: (.+)\r$/im.exec(head)?.[1] ?? ''
      const answers = await curl(stage, [...url, '--header', `If-None-Match: ${etag}`], url, [...url, '--head'])
      assert.deepEqual(
        answers.map(({ status, newConnections, body }) => [status, newConnections, body.length]),
        [
          [304, 1, 0],
          [200, 0, compressible.length],
          [200, 0, answers[2].body.length],
        ],
      )
    })

    test(`${wire}: what nginx compresses on the fly arrives compressed, where no Via keeps it from that`, async () => {
      const accept = ['--header', 'Accept-Encoding: gzip']
      const [silent, named, plain] = await curl(
        stage,
        [wire, ...accept, 'https://silent.test/text.txt'],
        [wire, ...accept, 'https://nginx.test/text.txt'],
        [wire, 'https://silent.test/text.txt'],
      )
      assert.deepEqual([silent, named, plain].map(isGzip), [true, false, false])
      assert.equal(String(gunzipSync(silent.body)), compressible)
      assert.deepEqual([String(named.body), String(plain.body)], [compressible, compressible])
    })

    test(`${wire}: chunked answers and uploads pass through nginx's own proxy`, async () => {
      const body = join(stage.folder, 'nginx-upload')
      writeFileSync(body, bytesOf(uploadBytes))
      const [down, up, early] = await curl(
        stage,
        [wire, 'https://nginx.test/service/bytes/100000'],
        [wire, '--data-binary', `@${body}`, 'https://nginx.test/service/echo'],
        [wire, '--data-binary', `@${body}`, 'https://nginx.test/small/echo'],
      )
      assert.ok(down.body.equals(bytesOf(100_000)))
      assert.equal(String(up.body), digest(bytesOf(uploadBytes)))
      assert.equal(early.status, 413, 'the answer that nginx gives before the body has come')
    })
  }

  for (const path of ['/silent-end', '/announced-end']) {
    test(`connections that nginx ends when they are idle cost no request: ${path}`, async () => {
      await assertIdleEndsCostNothing(stage, 'nginx.test', path)
    })
  }
})

describe('HAProxy as the origin', { skip: missing('haproxy', 'curl') }, () => {
  let service: Origin
  let haproxy: RunningServer
  let stage: Stage
  before(async () => {
    service = await Origin.open('behind haproxy')
    haproxy = await startHaproxy(haproxyOrigin(service.port))
    stage = await openStage({ sites: [{ hosts: ['haproxy.test'], upstream: `http://127.0.0.1:${haproxy.port}` }] })
  })
  after(async () => {
    await stage.close()
    await haproxy.stop()
    await service.close()
  })

  for (const wire of wires) {
    test(`${wire}: its own answers, and those that it forwards, up and down`, async () => {
      const body = join(stage.folder, 'haproxy-upload')
      writeFileSync(body, bytesOf(uploadBytes))
      const answers = await curl(
        stage,
        [wire, 'https://haproxy.test/own'],
        [wire, 'https://haproxy.test/bytes/3000000'],
        [wire, '--data-binary', `@${body}`, 'https://haproxy.test/echo'],
        [wire, 'https://haproxy.test/trailers'],
        [wire, '--head', 'https://haproxy.test/bytes/10'],
        [wire, 'https://haproxy.test/denied'],
      )
      assert.deepEqual(
        answers.map(({ status }) => status),
        [200, 200, 200, 200, 200, 403],
      )
      const [own, down, up, trailed] = answers
      assert.equal(String(own.body), 'own answer for haproxy.test')
      assert.ok(down.body.equals(bytesOf(3_000_000)))
      assert.equal(String(up.body), digest(bytesOf(uploadBytes)))
      assert.match(trailed.head, /\r\nx-checked: yes\r\n/i)
    })
  }

  test('connections that it ends when they are idle cost no request', async () => {
    await assertIdleEndsCostNothing(stage, 'haproxy.test', '/connection')
  })
})

// The origins keep idle connections for one second, Hostward for four: bursts meet that second from both sides. Each body
// names the connection that it came on; behind the longest pause it has to be a new one.
async function assertIdleEndsCostNothing(stage: Stage, host: string, path: string): Promise<void> {
  const agent = securePool(burst, { ca: stage.authority.cert, servername: host })
  const connections = new Set<string>()
  const askAll = (): Promise<Heard[]> =>
    Promise.all(Array.from({ length: burst }, () => ask({ port: stage.port, host, path, agent })))
  for (const pauseMs of pausesMs) {
    for (const { status, body } of await askAll()) {
      assert.equal(status, 200)
      connections.add(body)
    }
    await delay(pauseMs)
  }
  const last = await askAll()
  agent.destroy()
  assert.deepEqual(
    last.filter(({ status, body }) => status !== 200 || connections.has(body)),
    [],
  )
}

function isGzip({ head }: CurlAnswer): boolean {
  return /^content-encoding: gzip\r$/im.test(head)
}

function nginxOrigin(files: string, servicePort: number): string {
  return `sendfile on;
  tcp_nopush on;
  gzip on;
  gzip_types text/plain;
  gzip_min_length 100;
  types { text/plain txt; }
  upstream service { server 127.0.0.1:${servicePort}; keepalive 8; }
  server {
    listen 127.0.0.1:PORT;
    keepalive_timeout 60s;
    root ${files};
    location = /silent-end { keepalive_timeout 1s; return 200 $connection; }
    location = /announced-end { keepalive_timeout 1s 1s; return 200 $connection; }
    location /service/ {
      proxy_pass http://service/;
      proxy_http_version 1.1;
      proxy_set_header Connection "";
      client_max_body_size 10m;
    }
    location /small/ { client_max_body_size 1k; proxy_pass http://service/; }
  }`
}

function haproxyOrigin(servicePort: number): string {
  return `frontend origin
  bind 127.0.0.1:PORT
  timeout http-keep-alive 1s
  http-request return status 200 content-type text/plain lf-string "own answer for %[req.hdr(host)]" if { path /own }
  http-request return status 200 content-type text/plain lf-string %[src_port] if { path /connection }
  http-request deny deny_status 403 if { path /denied }
  default_backend service
backend service
  http-reuse always
  server one 127.0.0.1:${servicePort}
`
}
