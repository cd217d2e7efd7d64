// The script that makes the example's certificates.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { Certificate } from '../../src/tls/certificate.js'
import { readPair } from '../../src/tls/certificate-source.js'
import { probe } from './tls-probe.js'

/** What the script exports. */
interface Script {
  makeCertificates(directory: string, options: { nowMs?: number; say?: (line: string) => void }): Promise<string[]>
}

const script = new URL('../../../certs.example/make-certificates.mjs', import.meta.url)
const all = ['ca', 'default', 'site-a', 'site-b']
const directory = mkdtempSync(join(tmpdir(), 'hostward-make-'))
after(() => rmSync(directory, { recursive: true }))

let make: (nowMs?: number) => Promise<string[]>
before(async () => {
  const { makeCertificates } = (await import(script.href)) as Script
  make = (nowMs = Date.now()) => makeCertificates(directory, { nowMs, say: () => {} })
})

async function load(name: string): Promise<Certificate> {
  const files = { cert: join(directory, `${name}.pem`), key: join(directory, `${name}.key`) }
  const reading = await readPair({ files, served: undefined, nowMs: Date.now() })
  assert.ok(reading.kind === 'proved')
  assert.deepEqual(reading.warnings, [])
  return new Certificate(reading.pair)
}

test('run as a program it makes every pair and says so on stderr; run again it makes and says nothing', async () => {
  const run = (): Promise<{ stdout: string; stderr: string }> =>
    promisify(execFile)(process.execPath, [fileURLToPath(script), directory])
  const first = await run()
  assert.equal(first.stdout, '')
  assert.equal(first.stderr.trim().split('\n').length, all.length)
  for (const name of all) assert.match(first.stderr, new RegExp(`made .*${name}\\.pem, valid until`))
  const files = readdirSync(directory).sort()
  assert.deepEqual(files, all.flatMap((name) => [`${name}.key`, `${name}.pem`]).sort())
  const contents = files.map((name) => readFileSync(join(directory, name), 'utf8'))
  assert.deepEqual(await run(), { stdout: '', stderr: '' })
  assert.deepEqual(
    files.map((name) => readFileSync(join(directory, name), 'utf8')),
    contents,
  )
})

test('keys are for their owner alone', async () => {
  await make()
  for (const name of all) assert.equal(statSync(join(directory, `${name}.key`)).mode & 0o777, 0o600)
})

test('the sites are served without a warning, and verify for a client that trusts the example authority', async () => {
  await make()
  const trusts = readFileSync(join(directory, 'ca.pem'), 'utf8')
  for (const [name, servername] of [
    ['site-a', 'site-a.example.com'],
    ['site-a', 'x.a.example.com'],
    ['site-b', 'site-b.example.com'],
  ] as const) {
    const certificate = await load(name)
    assert.deepEqual(certificate.warnings, [])
    assert.equal((await probe(certificate, { servername, trusts })).verifyError, undefined)
  }
  const fallback = await load('default')
  assert.deepEqual(
    fallback.warnings.map(({ code }) => code),
    ['self_signed'],
  )
  assert.equal(fallback.issuer, 'CN=Hostward fallback')
})

test('what is missing, does not parse or does not fit is made again, and nothing else', async () => {
  await make()
  rmSync(join(directory, 'site-a.key'))
  assert.deepEqual(await make(), ['site-a'])
  writeFileSync(join(directory, 'site-b.pem'), 'junk')
  assert.deepEqual(await make(), ['site-b'])
  writeFileSync(join(directory, 'default.key'), readFileSync(join(directory, 'site-a.key')))
  assert.deepEqual(await make(), ['default'])
  rmSync(join(directory, 'ca.pem'))
  assert.deepEqual(await make(), ['ca', 'site-a', 'site-b'], 'a new authority signs its sites anew')
})

test('what is about to be warned of is made again, a day earlier it is not', async () => {
  await make()
  const dayMs = 86_400_000
  const { notAfterMs, notBeforeMs } = await load('site-a')
  const warnMs = notAfterMs - (notAfterMs - notBeforeMs) / 4
  assert.deepEqual(await make(warnMs - dayMs), [])
  assert.deepEqual(await make(warnMs + dayMs), ['default', 'site-a', 'site-b'])
})
