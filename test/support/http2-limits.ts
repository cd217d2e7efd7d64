// The bounds of HTTP/2 as the configuration has them where it says nothing: what the codec is tested with is what ships.
import { mainSchema } from '../../src/config/schema.js'
import type { Http2Limits } from '../../src/http2/limits.js'

export const defaultHttp2Limits: Http2Limits = mainSchema.parse({ listeners: [{ name: 'public', bind: ':443' }] })
  .limits.http2
