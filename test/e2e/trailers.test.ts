// What a configuration gives a meaning to as a header does not come in behind a body, where no rule for heads looks: services
// that merge trailers into headers would believe it.
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { ClientWire, Line } from '../contract/client-wire.js'
import { http1Wire } from '../contract/http1-wire.js'
import { http2Wire } from '../contract/http2-wire.js'
import { makeAuthority } from '../support/certificates.js'
import { ReadingUpstream } from '../support/reading-upstream.js'
import { RunningServer } from '../support/running-server.js'
import { response } from '../support/scripted-upstream.js'
import { filesOf, Workspace } from '../support/workspace.js'

interface Stage {
  readonly port: number
  readonly upstream: ReadingUpstream
}

/** Two sites: one with a meaning for five names, and one with none. */
async function start(t: TestContext): Promise<Stage> {
  const upstream = await new ReadingUpstream(() => response('ok')).open()
  t.after(() => upstream.close())
  const workspace = new Workspace()
  const pair = await workspace.pair('sites', { names: ['*.example'] })
  workspace.write('ca.pem', (await makeAuthority({ commonName: 'root' })).cert)
  const site = { certificate: filesOf(pair), upstream: `http://127.0.0.1:${upstream.port}` }
  const forward = { header: 'X-Shown', chainHeader: 'X-Shown-Chain' }
  const meaning = {
    headers: { request: { set: { 'X-Env': 'prod' }, remove: ['X-Internal'] } },
    clientCertificate: { mode: 'request', ca: 'ca.pem', forward },
  }
  const listener = {
    name: 'public',
    bind: '127.0.0.1:0',
    clientAddress: { from: ['127.0.0.0/8'], header: 'X-My-Edge' },
  }
  const vhosts = [
    { hosts: ['guarded.example'], ...site, ...meaning },
    { hosts: ['open.example'], ...site },
  ]
  const running = await RunningServer.startFor(
    t,
    { listeners: [listener], fallbackCertificate: filesOf(pair), vhosts },
    workspace,
  )
  return { port: running.port(), upstream }
}

const names = ['x-my-edge', 'x-env', 'x-internal', 'x-shown', 'x-shown-chain', 'x_internal', 'x-sum']

for (const wire of [http1Wire, http2Wire] satisfies readonly ClientWire[]) {
  test(`over ${wire.name} names with a meaning do not pass in trailers, all others do`, async (t) => {
    const { port, upstream } = await start(t)
    const client = wire.connect(port, 'tls')
    t.after(() => client.close())
    const trailers = names.map((name): Line => [name, '1'])
    const sent = { method: 'POST', body: ['hel', 'lo'], trailers }
    for (const host of ['guarded.example', 'open.example']) {
      assert.equal((await client.request({ host, ...sent }).response).status, 200)
    }
    const passed = upstream.requests.map((request) => request.trailers.toLowerCase().match(/^x[^:]*/gm))
    assert.deepEqual(passed, [['x-sum'], names.slice(1)])
  })
}
