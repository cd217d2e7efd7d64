// A forwarder in front, from its header to the log and the endpoint: who claims what, who measured what, and what tells
// nobody anything.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import { connect as connectTls } from 'node:tls'
import { encodeProxyV2 } from '../../src/net/proxy-protocol-v2.js'
import { RunningServer } from '../support/running-server.js'
import { Http1Client } from '../support/wires.js'
import { filesOf, Workspace } from '../support/workspace.js'

const host = 'site.example'
const destination = { address: '198.51.100.2', port: 443 }
const headerOf = (address: string, port: number): Buffer => encodeProxyV2({ source: { address, port }, destination })
const trusted = { from: ['127.0.0.0/8'], mode: 'optional' }

async function start(test: TestContext, proxyProtocol: object): Promise<RunningServer> {
  const workspace = new Workspace()
  const pair = await workspace.pair('site', { names: [host] })
  const upstream = createServer((request, response) => {
    const { forwarded, 'x-forwarded-for': forwardedFor } = request.headers
    response.end(`${forwardedFor} ${forwarded}`)
  })
  await once(upstream.listen(0, '127.0.0.1'), 'listening')
  test.after(() => upstream.close())
  const { port } = upstream.address() as AddressInfo
  const main = {
    listeners: [
      { name: 'public', bind: '127.0.0.1:0', proxyProtocol },
      { name: 'plain', bind: '127.0.0.1:0', tls: false, proxyProtocol },
    ],
    vhosts: [
      {
        hosts: [host],
        certificate: filesOf(pair),
        listeners: ['public', 'plain'],
        upstream: `http://127.0.0.1:${port}`,
      },
    ],
  }
  return await RunningServer.startFor(test, main, workspace)
}

async function connectBehind(running: RunningServer, header: Buffer | string): Promise<Http1Client> {
  const raw = connect(running.port(), '127.0.0.1')
  raw.write(header)
  const socket = connectTls({ socket: raw, servername: host, rejectUnauthorized: false })
  await once(socket, 'secureConnect')
  return new Http1Client(socket)
}

async function sayAndLeave(port: number, words: Buffer): Promise<void> {
  const socket: Socket = connect(port, '127.0.0.1')
  await once(socket, 'connect')
  socket.end(words).resume()
  await once(socket, 'close')
}

test('the client that a trusted header claims is what the endpoint and the log are told, beside the measured peer', async (t) => {
  const running = await start(t, trusted)
  const client = await connectBehind(running, headerOf('203.0.113.9', 54321))
  const line = await running.log.after(
    async () => {
      assert.match((await client.ask(host)).body, /^203\.0\.113\.9 for=203\.0\.113\.9;host=site\.example;proto=https$/)
    },
    { event: 'request' },
  )
  assert.deepEqual([line['claimed'], line['claimedBy']], ['203.0.113.9:54321', 'proxy-v2'])
  assert.equal(line['peer'], `127.0.0.1:${client.socket.localPort}`)
  const older = await connectBehind(running, 'PROXY TCP6 2001:db8::7 2001:db8::1 80 443\r\n')
  const second = await running.log.after(
    async () => {
      assert.match((await older.ask(host)).body, /^2001:db8::7 for="\[2001:db8::7\]";/)
    },
    { event: 'request' },
  )
  assert.deepEqual([second['claimed'], second['claimedBy']], ['[2001:db8::7]:80', 'proxy-v1'])
})

test('a connection that claims nobody is the peer’s own', async (t) => {
  const running = await start(t, trusted)
  for (const header of [Buffer.alloc(0), encodeProxyV2('local')]) {
    const client = await connectBehind(running, header)
    const line = await running.log.after(
      async () => {
        assert.match((await client.ask(host)).body, /^127\.0\.0\.1 for=127\.0\.0\.1;/)
      },
      { event: 'request' },
    )
    assert.deepEqual([line['claimed'], line['claimedBy']], [null, null])
  }
})

test('a request that cannot be parsed is told with the claim too, on a plain listener as well', async (t) => {
  const running = await start(t, trusted)
  const socket = connect(running.port('plain'), '127.0.0.1').resume()
  t.after(() => socket.destroy())
  const garbage = Buffer.concat([headerOf('203.0.113.9', 1), Buffer.from('GARBAGE\r\n\r\n')])
  const line = await running.log.after(() => socket.write(garbage), { event: 'request' })
  assert.deepEqual([line['status'], line['claimed'], line['claimedBy']], [400, '203.0.113.9:1', 'proxy-v2'])
})

test('thousands of health checks add nothing to the log but their counts', async (t) => {
  const running = await start(t, trusted)
  const client = await connectBehind(running, headerOf('203.0.113.9', 1))
  await running.log.after(() => client.ask(host), { event: 'request' })
  client.close()
  const before = running.log.lines().length
  const words = [Buffer.alloc(0), encodeProxyV2('local'), Buffer.from('PROXY UNKNOWN\r\n'), headerOf('203.0.113.9', 1)]
  for (let round = 0; round < 500; round++) {
    await Promise.all(words.map((each, index) => sayAndLeave(running.port(index % 2 === 0 ? 'public' : 'plain'), each)))
  }
  await running.server.close()
  const lines = running.log.lines().slice(before)
  assert.deepEqual(
    lines.map(({ event }) => event),
    ['connections', 'connections', 'shutdown'],
  )
  const [tls, plain] = lines
  assert.deepEqual(
    [tls?.['accepted'], tls?.['withoutRequest'], tls?.['proxyV1'], tls?.['proxyV2']],
    [1001, 1000, 500, 1],
  )
  assert.deepEqual([plain?.['accepted'], plain?.['withoutRequest'], plain?.['proxyLocal']], [1000, 1000, 500])
})

test('the way to "require" is a reload, after which a connection without a header is closed and told once', async (t) => {
  const running = await start(t, trusted)
  const open = await connectBehind(running, '')
  assert.equal((await open.ask(host)).status, 200)
  const proxyProtocol = { ...trusted, mode: 'require' }
  await running.reload({
    listeners: [
      { name: 'public', bind: '127.0.0.1:0', proxyProtocol },
      { name: 'plain', bind: '127.0.0.1:0', tls: false, proxyProtocol },
    ],
  })
  const refused = { event: 'handshake_failed', reason: 'proxy_missing' }
  await running.log.after(() => assert.rejects(connectBehind(running, '')), refused)
  assert.equal((await open.ask(host)).status, 200)
  assert.equal((await (await connectBehind(running, headerOf('203.0.113.9', 1))).ask(host)).status, 200)
  await running.server.close()
  const { proxyAbsent, proxyMissing, proxyV2 } = await running.log.line({ event: 'connections', listener: 'public' })
  assert.deepEqual({ proxyAbsent, proxyMissing, proxyV2 }, { proxyAbsent: 1, proxyMissing: 1, proxyV2: 1 })
})

test('a header from a source that is not listed is refused, and no claim is made', async (t) => {
  const running = await start(t, { from: ['192.0.2.0/24'] })
  const refused = { event: 'handshake_failed', reason: 'proxy_untrusted', claimed: null }
  await running.log.after(() => assert.rejects(connectBehind(running, headerOf('203.0.113.9', 1))), refused)
  const client = await connectBehind(running, '')
  const line = await running.log.after(() => client.ask(host), { event: 'request' })
  assert.deepEqual([line['status'], line['claimed']], [200, null])
})
