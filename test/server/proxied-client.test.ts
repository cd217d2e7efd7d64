// Endpoints that are told whom each connection is for: the client as it is claimed, else as it was measured, and nobody else's
// requests on its connection.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { type TestContext, test } from 'node:test'
import { connect as connectTls } from 'node:tls'
import { encodeProxyV2 } from '../../src/net/proxy-protocol-v2.js'
import { until } from '../support/deadline.js'
import { RunningServer } from '../support/running-server.js'
import { response, ScriptedUpstream, type UpstreamConnection } from '../support/scripted-upstream.js'
import { Http1Client } from '../support/wires.js'
import { filesOf, Workspace } from '../support/workspace.js'

const host = 'site.example'
const proxyProtocol = { from: ['127.0.0.0/8'], mode: 'optional' }

/** Answers what comes behind the header, which has an empty line in it. */
function answerRequests({ received, socket }: UpstreamConnection): void {
  if (received.endsWith('\r\n\r\n')) socket.write(response('ok'))
}

async function start(
  t: TestContext,
  more: object,
  listener: object = {},
): Promise<{ running: RunningServer; endpoint: ScriptedUpstream }> {
  const endpoint = await new ScriptedUpstream(answerRequests).open()
  t.after(() => endpoint.close())
  const workspace = new Workspace()
  const pair = await workspace.pair('site', { names: [host] })
  const main = {
    listeners: [{ name: 'public', bind: '127.0.0.1:0', proxyProtocol, ...listener }],
    upstreams: { app: { endpoints: [`http://127.0.0.1:${endpoint.port}`], ...more } },
    vhosts: [{ hosts: [host], certificate: filesOf(pair), upstream: 'app' }],
  }
  return { running: await RunningServer.startFor(t, main, workspace), endpoint }
}

/** The header of a client that came to the listener itself. */
function headerFor(running: RunningServer, address: string, port: number): string {
  const destination = { address: '127.0.0.1', port: running.port() }
  return encodeProxyV2({ source: { address, port }, destination }).toString('latin1')
}

async function connectBehind(t: TestContext, running: RunningServer, header: string): Promise<Http1Client> {
  const raw = connect(running.port(), '127.0.0.1')
  raw.write(header, 'latin1')
  const socket = connectTls({ socket: raw, servername: host, rejectUnauthorized: false })
  t.after(() => socket.destroy())
  await once(socket, 'secureConnect')
  return new Http1Client(socket)
}

test('an endpoint that wants it is told the measured client, once a connection, and never of two on one', async (t) => {
  const { running, endpoint } = await start(t, { proxyProtocol: 'v2' })
  const [one, two] = [await running.connect(host), await running.connect(host)]
  for (const client of [one, two, one]) assert.equal((await client.ask(host)).body, 'ok')
  assert.equal(endpoint.connections.length, 2)
  for (const [index, client] of [one, two].entries()) {
    const header = headerFor(running, '127.0.0.1', client.socket.localPort ?? 0)
    const received = endpoint.connections[index]?.received ?? ''
    assert.equal(received.slice(0, header.length), header)
    assert.match(received.slice(header.length), /^GET \/ HTTP\/1\.1\r\n/)
    assert.equal(received.split(header).length, 2)
  }
})

test('the client that a trusted header claims is the one that the endpoint is told, with an IPv6 address too', async (t) => {
  const { running, endpoint } = await start(t, { proxyProtocol: 'v2' })
  const claims = ['203.0.113.9', '2001:db8::9'].map((address) => headerFor(running, address, 54_321))
  for (const claim of claims) {
    const client = await connectBehind(t, running, claim)
    for (let count = 0; count < 2; count++) assert.equal((await client.ask(host)).body, 'ok')
  }
  assert.deepEqual(
    endpoint.connections.map(({ received }, index) => received.startsWith(claims[index] ?? '-')),
    [true, true],
  )
})

test('the client that a trusted request header names is the one that the endpoint is told, without a port', async (t) => {
  const clientAddress = { from: ['192.0.2.0/24'], header: 'X-Real-IP' }
  const { running, endpoint } = await start(t, { proxyProtocol: 'v2' }, { clientAddress })
  const client = await connectBehind(t, running, headerFor(running, '192.0.2.7', 54_321))
  const named = ['203.0.113.9', '2001:db8::9', '203.0.113.9']
  for (const [index, address] of named.entries()) {
    client.socket.write(`GET /${index} HTTP/1.1\r\nHost: ${host}\r\nX-Real-IP: ${address}\r\n\r\n`)
    await until('the request is there', () => endpoint.received.includes(`GET /${index} `))
  }
  const headers = named.slice(0, 2).map((address) => headerFor(running, address, 0))
  assert.deepEqual(
    endpoint.connections.map(({ received }, index) => received.startsWith(headers[index] ?? '-')),
    [true, true],
  )
})

test('an endpoint that does not ask is told nothing, and clients share its connections', async (t) => {
  const { running, endpoint } = await start(t, {})
  for (const client of [await running.connect(host), await running.connect(host)]) await client.ask(host)
  assert.equal(endpoint.connections.length, 1)
  assert.match(endpoint.received, /^GET/)
})
