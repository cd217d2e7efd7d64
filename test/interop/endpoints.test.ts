// nginx and HAProxy as endpoints with wishes of their own: that they are told the client's address, that connections end after a few
// requests, that nobody asks too often, that they may hand over to a file.
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { curl } from './curl.js'
import { startHaproxy } from './haproxy.js'
import { ask, inLanes, securePool } from './http-client.js'
import { startNginx } from './nginx.js'
import { missing, type RunningServer } from './program.js'
import { openStage, type Stage } from './stage.js'

const haproxySections = `
frontend addressed
  bind 127.0.0.1:PORT accept-proxy
  http-request return status 200 content-type text/plain lf-string "%[src] %[dst_port]"
`

const nginxServer = `
server {
  listen 127.0.0.1:PORT proxy_protocol;
  set_real_ip_from 127.0.0.1;
  real_ip_header proxy_protocol;
  location / { return 200 "$remote_addr $proxy_protocol_server_port"; }
}`

for (const program of ['haproxy', 'nginx'] as const) {
  describe(`${program} behind PROXY headers`, { skip: missing(program, 'curl') }, () => {
    let server: RunningServer
    let stage: Stage
    before(async () => {
      server = await (program === 'haproxy' ? startHaproxy(haproxySections) : startNginx(nginxServer))
      const endpoints = [`http://127.0.0.1:${server.port}`]
      stage = await openStage({
        config: { upstreams: { addressed: { endpoints, proxyProtocol: 'v2' } } },
        sites: [{ hosts: ['addressed.test'], upstream: 'addressed' }],
      })
    })
    after(async () => {
      await stage.close()
      await server.stop()
    })

    test('sees the address of each client, whoever came before, and the port that it came to', async () => {
      const addresses = ['127.0.0.2', '127.0.0.3', '127.0.0.2', '127.0.0.4', '127.0.0.3']
      for (const wire of ['--http1.1', '--http2']) {
        const answers = await curl(
          stage,
          ...addresses.map((address) => [wire, '--interface', address, 'https://addressed.test/']),
        )
        assert.deepEqual(
          answers.map(({ body }) => String(body)),
          addresses.map((address) => `${address} ${stage.port}`),
        )
      }
    })
  })
}

const limitedServer = (folder: string) => `
limit_req_zone $binary_remote_addr zone=few:1m rate=1r/m;
keepalive_requests 3;
server {
  listen 127.0.0.1:PORT;
  root ${folder};
  location /few { limit_req zone=few burst=2 nodelay; try_files /secret.txt =404; }
  location /counted { return 200 "$connection_requests"; }
  location /protected { internal; alias ${folder}/secret.txt; }
  location /handed { add_header X-Handed yes always; try_files /none /protected; }
}`

describe('nginx with limits', { skip: missing('nginx', 'curl') }, () => {
  let folder: string
  let nginx: RunningServer
  let stage: Stage
  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'hostward-limits-'))
    writeFileSync(join(folder, 'secret.txt'), 'handed over')
    nginx = await startNginx(limitedServer(folder))
    const upstream = `http://127.0.0.1:${nginx.port}`
    stage = await openStage({ sites: [{ hosts: ['limited.test'], upstream }] })
  })
  after(async () => {
    await stage.close()
    await nginx.stop()
    rmSync(folder, { recursive: true })
  })

  test('ends connections after a few requests, and no request of many is lost', async () => {
    const agent = securePool(4, { ca: stage.authority.cert, servername: 'limited.test' })
    const items = Array.from({ length: 100 }, (_, index) => index)
    const heard = await inLanes(items, 4, () =>
      ask({ port: stage.port, host: 'limited.test', path: '/counted', agent }),
    )
    agent.destroy()
    assert.deepEqual(new Set(heard.map(({ status }) => status)), new Set([200]))
    assert.ok(heard.every(({ body }) => Number(body) <= 3))
  })

  test('says 503 to who asks too often, in its own words, and is not asked again for it', async () => {
    const answers = await curl(stage, ...Array.from({ length: 6 }, () => ['--http2', 'https://limited.test/few']))
    const statuses = answers.map(({ status }) => status)
    assert.deepEqual(statuses.slice(0, 3), [200, 200, 200])
    assert.ok(statuses.includes(503))
    assert.match(String(answers.find(({ status }) => status === 503)?.body), /nginx/)
    assert.equal(stage.hostward.requests.filter((line) => 'attempts' in line).length, 0)
  })

  test('hands over to a file that only it may read', async () => {
    const [handed, direct] = await curl(stage, ['https://limited.test/handed'], ['https://limited.test/protected'])
    assert.deepEqual([handed?.status, String(handed?.body)], [200, 'handed over'])
    assert.equal(direct?.status, 404)
  })
})
