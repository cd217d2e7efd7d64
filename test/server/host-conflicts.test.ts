// Two files that claim one host: neither silently wins, and who serves it is not disturbed by who comes.
import assert from 'node:assert/strict'
import { rmSync } from 'node:fs'
import { type TestContext, test } from 'node:test'
import { RunningServer } from '../support/running-server.js'
import type { Http1Client } from '../support/wires.js'
import { filesOf, type PairOnDisk, Workspace } from '../support/workspace.js'

test('the site that serves a host keeps it, whatever the names of the files; the other is the mistake', async (t) => {
  const { running, workspace, pair, client } = await start(t, ['m'])
  await serves(client, 'of m')
  for (const newcomer of ['a', 'z']) {
    const come = (): void => workspace.write(`vhosts/${newcomer}.yaml`, site(pair, newcomer))
    const line = await running.log.after(come, { event: 'site_degraded' })
    assert.deepEqual([line['level'], line['serves']], ['error', 'closed'])
    const [error] = line['errors'] as { file: string; message: string }[]
    assert.match(error?.file ?? '', new RegExp(`vhosts/${newcomer}\\.yaml$`))
    assert.match(error?.message ?? '', /host "shared\.example" is taken .* by .*vhosts\/m\.yaml:\d+:\d+$/)
    await serves(client, 'of m')
    await running.reload({ timeouts: { shutdownMs: 5_000 + newcomer.charCodeAt(0) } })
    await serves(client, 'of m')
  }
  await running.log.after(() => rmSync(workspace.path('vhosts/m.yaml')), { event: 'config_reloaded' })
  await serves(client, 'of a')
})

test('at a cold start the first file in order of path has it', async (t) => {
  const { running, client } = await start(t, ['m', 'b'])
  await serves(client, 'of b')
  await running.log.line({ event: 'site_degraded', serves: 'closed' })
})

test('the site that serves a host and says something else now keeps it all the same', async (t) => {
  const { running, workspace, pair, client } = await start(t, ['m'])
  await running.log.after(() => workspace.write('vhosts/a.yaml', site(pair, 'a')), { event: 'site_degraded' })
  await running.log.after(() => workspace.write('vhosts/m.yaml', site(pair, 'm again')), { event: 'config_reloaded' })
  await serves(client, 'of m again')
})

async function start(t: TestContext, files: readonly string[]) {
  const workspace = new Workspace()
  const pair = await workspace.pair('site', { names: ['*.example'] })
  for (const file of files) workspace.write(`vhosts/${file}.yaml`, site(pair, file))
  const main = { include: ['vhosts/*.yaml'], fallbackCertificate: filesOf(pair) }
  const running = await RunningServer.startFor(t, main, workspace)
  return { running, workspace, pair, client: await running.connect('shared.example') }
}

function site(pair: PairOnDisk, file: string): object {
  return { hosts: ['shared.example'], certificate: filesOf(pair), respond: { body: `of ${file}` } }
}

async function serves(client: Http1Client, body: string): Promise<void> {
  assert.deepEqual(await client.ask('shared.example'), { status: 200, body, isLast: false })
}
