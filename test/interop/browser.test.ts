// A browser's day, over HTTP/1 and HTTP/2: fifty requests at once, a megabyte up, five down, events as they come, WebSocket, an abort.
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { makeCertificate, writePair } from '../support/certificates.js'
import { visitArgs } from './browser.js'
import { PageService, wellDone } from './page-service.js'
import { missing, start, stop } from './program.js'
import { openStage } from './stage.js'

const host = 'page.pair.test'
const deadlineMs = 90_000

const ways = [
  { protocol: 'h2', listener: 'public', opening: { method: 'CONNECT', status: 200 } },
  { protocol: 'http/1.1', listener: 'old', opening: { method: 'GET', status: 101 } },
] as const

describe('Chromium', { skip: missing('chromium') }, () => {
  for (const { protocol, listener, opening } of ways) {
    test(`does over ${protocol} all that pages do`, async (context) => {
      const folder = mkdtempSync(join(tmpdir(), 'hostward-browser-'))
      const service = await new PageService().open()
      const pair = await makeCertificate({ names: [host] })
      const sites = [
        {
          hosts: [host],
          upstream: service.url,
          certificate: writePair(folder, 'pair', pair),
          listeners: ['public', 'old'],
        },
      ]
      const listeners = [
        { name: 'public', bind: '127.0.0.1:0' },
        { name: 'old', bind: '127.0.0.1:0', http2: false },
        { name: 'plain', bind: '127.0.0.1:0', tls: false, redirectToHttps: true },
      ]
      const stage = await openStage({ sites, config: { listeners } })
      const { hostward } = stage
      const profile = join(folder, 'profile')
      const browser = start(
        'chromium',
        visitArgs({ url: `https://${host}/`, port: hostward.port(listener), pair, profile }, [
          '--remote-debugging-port=0',
        ]),
      )
      for (const stream of [browser.stdout, browser.stderr]) stream.resume()
      context.after(async () => {
        await stop(browser)
        service.close()
        await stage.close()
        rmSync(folder, { recursive: true, maxRetries: 3 })
      })

      assert.deepEqual(await underDeadline(service.result), wellDone)

      const line = (target: string) => hostward.requests.find((each) => each['target'] === target)
      await hostward.logs('the socket', () => line('/socket') !== undefined)
      assert.deepEqual([line('/socket')?.['method'], line('/socket')?.['status']], [opening.method, opening.status])
      assert.deepEqual(new Set(hostward.requests.map((each) => each['protocol'])), new Set([protocol]))
    })
  }
})

async function underDeadline<T>(promise: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error('the page did not say how it went')), deadlineMs)
  })
  try {
    return await Promise.race([promise, late])
  } finally {
    clearTimeout(timer)
  }
}
