// On disk is not in service, told by a clock that the test moves.
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { CertificateShelf } from '../../src/server/certificate-shelf.js'
import { clockDoubt } from '../../src/server/clock.js'
import { ServiceWatch } from '../../src/server/service-watch.js'
import { Log } from '../../src/telemetry/log.js'
import { makeCertificate, writePair } from '../support/certificates.js'
import { LogFile } from '../support/log-file.js'

const dayMs = 86_400_000
const root = mkdtempSync(join(tmpdir(), 'hostward-watch-'))
after(() => rmSync(root, { recursive: true }))

test('files that do not arrive are told of after half a minute, daily, worse near the end, and when they are there', async (t) => {
  const startMs = Date.now()
  let nowMs = startMs
  let tick = (): void => {}
  const logFile = new LogFile(join(root, 'watch.log'))
  const log = new Log({ level: 'info', file: join(root, 'watch.log') })
  t.after(() => log.close())
  const shelf = new CertificateShelf(() => nowMs)
  const users = ['site.example', 'www.site.example', ...Array.from({ length: 20 }, (_, at) => `site${at}.example`)]
  const watch = new ServiceWatch({
    log: () => log,
    time: {
      clock: () => nowMs,
      schedule: (work) => {
        tick = work
        return () => {}
      },
    },
  })
  const made = await makeCertificate({ names: ['site.example'], notAfter: new Date(startMs + 90 * dayMs) })
  const files = { ...writePair(root, 'site', made), place: { file: 'main.yaml', line: 1, column: 1 } }
  const follow = async (): Promise<void> => {
    await shelf.refresh([files], { changed: 'all' })
    const certificate = shelf.get(files)?.certificate
    assert.ok(certificate)
    watch.follow({
      pairs: shelf.pairs(),
      users: () => new Map([[certificate, users]]),
      graceMs: 30_000,
    })
  }
  const passUntil = (timeMs: number): void => {
    nowMs = timeMs
    tick()
  }
  await follow()
  writeFileSync(files.key, '')
  await follow()
  passUntil(startMs + 29_999)
  passUntil(startMs + 30_000)
  passUntil(startMs + 60_000)
  passUntil(startMs + dayMs + 30_000)
  passUntil(startMs + 84 * dayMs)
  writePair(root, 'site', await makeCertificate({ names: ['site.example'], notAfter: new Date(startMs + 170 * dayMs) }))
  await follow()
  const last = await logFile.line({ event: 'certificate_not_in_service', state: 'in_service' })
  assert.equal(last['level'], 'info')
  const lines = logFile.lines({ event: 'certificate_not_in_service' })
  assert.deepEqual(
    lines.map(({ state, level }) => `${state} ${level}`),
    ['warn warn', 'warn warn', 'critical error', 'in_service info'],
  )
  assert.deepEqual([lines[0]?.['vhosts'], lines[0]?.['sitesTotal']], [users.slice(0, 20), 22])
  assert.equal(lines[0]?.['code'], 'key_empty')
  assert.equal(lines[0]?.['diskFingerprint256'], lines[0]?.['servedFingerprint256'], 'the certificate is the same yet')
  assert.match(
    String(lines[2]?.['msg']),
    /^the files of site\.example, www\.site\.example, site0\.example and 19 more .* ends in 5 days$/,
  )
})

test('a clock before this program was made cannot be right', () => {
  assert.match(clockDoubt(Date.UTC(2026, 9, 31)) ?? '', /2026-10-31/)
  assert.equal(clockDoubt(Date.now()), undefined)
})
