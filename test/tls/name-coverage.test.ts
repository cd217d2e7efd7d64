// Hosts that a certificate does not name.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { coverageWarnings, duplicateWarnings, unusedNames } from '../../src/tls/name-coverage.js'
import { proved } from './proved.js'

test('each host that the certificate does not cover is warned of, with what it does cover', async () => {
  const certificate = await proved({ names: ['site.example', '*.site.example'] })
  assert.deepEqual(coverageWarnings(certificate, ['site.example', 'www.site.example', '*.site.example']), [])
  const warnings = coverageWarnings(certificate, ['site.example', 'other.example', '*.other.example'])
  assert.deepEqual(
    warnings.map(({ code, hint }) => `${code}: ${hint}`),
    Array(2).fill('name_not_covered: it covers site.example, *.site.example'),
  )
  assert.match(warnings[0]?.message ?? '', /other\.example/)
})

test('names that no host makes use of are remarked on at once, a wildcard that stands for one is used', async () => {
  const certificate = await proved({ names: ['site.example', '*.site.example', 'old.example', '192.0.2.1'] })
  const messages = (hosts: string[]): string[] => unusedNames(certificate, hosts).map(({ message }) => message)
  assert.deepEqual(messages(['site.example', 'www.site.example', 'old.example', '192.0.2.1']), [])
  assert.deepEqual(messages(['site.example', '*.site.example']), ['no site has the host old.example, 192.0.2.1'])
})

test('two pairs of one key type are one too many, RSA beside EC is not', async () => {
  const [one, two] = [await proved({ names: ['site.example'] }), await proved({ names: ['site.example'] })]
  const rsa = await proved({ names: ['site.example'], keyType: 'rsa' })
  const codes = (...pairs: (typeof one)[]): string[] => duplicateWarnings(pairs).map(({ code }) => code)
  assert.deepEqual(codes(one, rsa), [])
  assert.deepEqual(codes(one, rsa, two), ['pair_duplicate'])
})
