// Gone is gone: what has left the configuration leaves memory. Alone in its process, because it counts objects.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { queryObjects } from 'node:v8'
import { Certificate } from '../../src/tls/certificate.js'
import { RunningServer } from '../support/running-server.js'
import { filesOf, Workspace } from '../support/workspace.js'

test('a certificate that has left the configuration leaves memory, also that of the start', async (t) => {
  const workspace = new Workspace()
  const pairs = await Promise.all(
    ['one', 'two', 'three'].map((name) => workspace.pair(name, { names: [`${name}.example`] })),
  )
  const site = (index: number): object => ({
    hosts: [`${['one', 'two', 'three'][index]}.example`],
    certificate: filesOf(pairs[index] as (typeof pairs)[number]),
    respond: {},
  })
  const before = queryObjects(Certificate, { format: 'count' })
  const running = await RunningServer.startFor(t, { vhosts: [site(0), site(1)] }, workspace)
  const count = (): number => queryObjects(Certificate, { format: 'count' }) - before
  assert.equal(count(), 2)
  const client = await running.connect('one.example')
  assert.equal((await client.ask('one.example')).status, 200)
  await running.reload({ vhosts: [site(1), site(2)] })
  assert.equal((await client.ask('two.example')).status, 200)
  assert.equal(count(), 2, 'the first is gone, although a connection that it opened is still there')
  await running.reload({ vhosts: [site(2)] })
  assert.equal(count(), 1)
})
