// Thousands of pairs are read in threads, with the same result as here.
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { readPair } from '../../src/tls/certificate-source.js'
import { readPairs } from '../../src/tls/pair-readers.js'
import { makeCertificate, writePair } from '../support/certificates.js'

test('a hundred pairs give in threads what they give here, in the order in which they were asked for', async (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'hostward-pairs-'))
  t.after(() => rmSync(directory, { recursive: true }))
  const good = writePair(directory, 'good', await makeCertificate({ names: ['site.example'] }))
  const other = writePair(directory, 'other', await makeCertificate({ names: ['other.example'] }))
  writeFileSync(join(directory, 'garbage.pem'), 'garbage')
  const pairs = [good, { ...good, key: other.key }, { ...good, cert: join(directory, 'garbage.pem') }, other]
  const nowMs = Date.now()
  const requests = Array.from({ length: 100 }, (_, index) => {
    return { files: pairs[index % pairs.length] ?? good, served: undefined, nowMs }
  })
  const readings = await readPairs(requests)
  assert.equal(readings.length, requests.length)
  for (const [index, reading] of readings.entries()) {
    const request = requests[index]
    if (request === undefined) continue
    const { versions: _, ...expected } = await readPair(request)
    const { versions: __, ...actual } = reading
    assert.deepEqual(actual, expected)
  }
})
