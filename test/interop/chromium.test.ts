// A browser that joins two sites on one HTTP/2 connection (RFC 9113 §9.1.1), because one certificate covers both names.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { makeCertificate, writePair } from '../support/certificates.js'
import { type Visit, visitArgs } from './browser.js'
import { missing, run } from './program.js'
import { openStage } from './stage.js'

// Of one registrable domain: Chromium keeps apart what third parties are asked.
const [pageName, otherName] = ['page.pair.test', 'other.pair.test']

// With credentials, because Chromium keeps connections with and without them apart.
const page = `<!doctype html><title>page</title><p id="answer">nothing yet</p><script>
fetch('https://${otherName}/', { credentials: 'include' })
  .then((response) => response.text(), (error) => 'failed: ' + error)
  .then((text) => { document.getElementById('answer').textContent = text })
</script>`

test('Chromium gets both sites right on the one connection that it keeps for them', {
  skip: missing('chromium'),
}, async (context) => {
  const folder = mkdtempSync(join(tmpdir(), 'hostward-chromium-'))
  const service = await openService()
  const pair = await makeCertificate({ names: [pageName, otherName] })
  const upstream = `http://127.0.0.1:${(service.address() as AddressInfo).port}`
  const certificate = writePair(folder, 'pair', pair)
  const stage = await openStage({
    sites: [pageName, otherName].map((name) => ({ hosts: [name], upstream, certificate })),
  })
  context.after(async () => {
    await stage.close()
    service.close()
    rmSync(folder, { recursive: true, maxRetries: 3 })
  })
  const { hostward } = stage

  const dom = await domOf({ url: `https://${pageName}/`, port: stage.port, pair, profile: join(folder, 'profile') })

  assert.match(dom, /<p id="answer">the other site speaks<\/p>/)
  await hostward.logs('both requests', () => hostward.requests.some((line) => line['vhost'] === otherName))
  const lines = hostward.requests.filter((line) => line['target'] === '/')
  const [first, second] = lines.map((line) => [line['vhost'], line['sni'], line['protocol'], line['connectionId']])
  const connectionId = first?.[3]
  assert.deepEqual(
    [first, second],
    [
      [pageName, pageName, 'h2', connectionId],
      [otherName, pageName, 'h2', connectionId],
    ],
  )
})

async function openService(): Promise<Server> {
  const service = createServer(({ headers }, response) => answerAs(headers.host, response))
  // A test that fails before it can close must end all the same.
  service.unref().listen(0, '127.0.0.1')
  await once(service, 'listening')
  return service
}

function answerAs(host: string | undefined, response: ServerResponse): void {
  if (host === pageName) {
    response.setHeader('content-type', 'text/html').end(page)
    return
  }
  response.setHeader('access-control-allow-origin', `https://${pageName}`)
  response.setHeader('access-control-allow-credentials', 'true').end('the other site speaks')
}

/** The page as it is when its scripts have ended. */
async function domOf(visit: Visit): Promise<string> {
  const { output } = await run('chromium', visitArgs(visit, ['--virtual-time-budget=10000', '--dump-dom']))
  return output
}
