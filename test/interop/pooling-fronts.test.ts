// The story that Hostward exists for, told by real proxies: they stand in front as a CDN does, keep one pool of TLS
// connections for all sites, and send each request on whichever is free, whatever name opened it.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { startHaproxy } from './haproxy.js'
import type { LogLine } from './hostward.js'
import { ask, inLanes, pool } from './http-client.js'
import { startNginx } from './nginx.js'
import { greeting } from './origin.js'
import { missing, type RunningServer } from './program.js'
import { openStage, type Stage } from './stage.js'

const requestCount = 2000
const lanes = 16

/** Each name with what its answer begins with. */
const names = {
  'site-a.test': greeting('a', 'site-a.test'),
  'site-b.test': greeting('b', 'site-b.test'),
  'www.a.test': greeting('a', 'www.a.test'),
  'unknown.test': '421 unknown_host ',
}
const sites = Object.keys(names).filter((name) => name !== 'unknown.test')
const hosts = Array.from({ length: requestCount }, (_, index) => Object.keys(names)[(index * 7 + (index >> 3)) % 4])

describe('behind a proxy that pools its connections', () => {
  let stage: Stage
  before(async () => {
    stage = await openStage()
  })
  after(() => stage.close())

  test('nginx, whose sessions and connections know no names', { skip: missing('nginx') }, async () => {
    const lines = await assertEveryBodyIsRight(stage, await startNginx(nginxFront(stage)))
    assert.deepEqual(valuesOf(lines, 'protocol'), ['http/1.1'])
    assert.ok(valuesOf(lines, 'sni').length > 1, 'every connection was opened for the same name')
  })

  for (const [alpn, protocol] of [
    ['http/1.1', 'http/1.1'],
    ['h2', 'h2'],
  ]) {
    test(`HAProxy with ${alpn}, one name in every handshake`, { skip: missing('haproxy') }, async () => {
      const lines = await assertEveryBodyIsRight(stage, await startHaproxy(haproxyFront(stage, alpn)))
      assert.deepEqual(valuesOf(lines, 'protocol'), [protocol])
      assert.deepEqual(valuesOf(lines, 'sni'), ['site-a.test'])
    })
  }
})

/** Sends requests for all names through a front, which is stopped then; gives their lines of the log. */
async function assertEveryBodyIsRight(stage: Stage, front: RunningServer): Promise<readonly LogLine[]> {
  const { hostward } = stage
  const seen = hostward.requests.length
  const agent = pool(lanes)
  try {
    const wrong = await inLanes(hosts, lanes, async (host) => {
      const { status, body } = await ask({ port: front.port, host, path: '/', agent })
      const isRight =
        body.startsWith(names[host as keyof typeof names]) && status === (sites.includes(host) ? 200 : 421)
      return isRight ? [] : [{ host, status, body }]
    })
    assert.deepEqual(wrong.flat(), [])
  } finally {
    agent.destroy()
    await front.stop()
  }
  await hostward.logs('all requests', () => hostward.requests.length >= seen + requestCount)
  const lines = hostward.requests.slice(seen)
  assertConnectionsAreShared(lines)
  return lines
}

function assertConnectionsAreShared(lines: readonly LogLine[]): void {
  const connections = valuesOf(lines, 'connectionId')
  assert.ok(connections.length < requestCount / 4, `${connections.length} connections: they are not pooled`)
  const shared = connections.filter((id) => {
    const own = lines.filter((line) => line['connectionId'] === id)
    return valuesOf(own, 'vhost').length > 1
  })
  assert.ok(shared.length > 0, 'no connection carried two sites')
  assert.ok(lines.some((line) => line['host'] === 'site-b.test' && line['sni'] === 'site-a.test'))
}

function valuesOf(lines: readonly LogLine[], key: string): unknown[] {
  return [...new Set(lines.map((line) => line[key]))]
}

// nginx keeps sessions per upstream, not per name, and offers A's when it opens a connection for B.
function nginxFront(stage: Stage): string {
  return `upstream hostward { server 127.0.0.1:${stage.port}; keepalive 8; keepalive_requests 100000; }
  server {
    listen 127.0.0.1:PORT;
    location / {
      proxy_pass https://hostward;
      proxy_http_version 1.1;
      proxy_set_header Connection "";
      proxy_set_header Host $http_host;
      proxy_ssl_server_name on;
      proxy_ssl_name $host;
      proxy_ssl_session_reuse on;
    }
  }`
}

function haproxyFront(stage: Stage, alpn: string): string {
  return `frontend front
  bind 127.0.0.1:PORT
  default_backend hostward
backend hostward
  http-reuse always
  server one 127.0.0.1:${stage.port} ssl verify required ca-file ${stage.rootFile} sni str(site-a.test) alpn ${alpn}
`
}
