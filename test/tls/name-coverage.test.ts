// Hosts that a certificate does not name.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { coverageWarnings } from '../../src/tls/name-coverage.js'
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
