import assert from 'node:assert/strict'
import { test } from 'node:test'
import { mainSchema } from '../../src/config/schema.js'
import { defaultHttp2Limits } from '../../src/http2/limits.js'

test('what the configuration leaves out of HTTP/2 is what the codec was tested with', () => {
  const config = mainSchema.parse({ listeners: [{ name: 'public', bind: ':443' }] })
  assert.deepEqual(config.limits.http2, defaultHttp2Limits)
})
