// Malformed requests (RFC 9113 §8.1.1): each resets its stream and reaches no handler, and the connection goes on.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ErrorCode } from '../../src/http2/frames.js'
import { type Pair, requestFields } from '../support/http2-client.js'
import { withServer } from './harness.js'

/** Stories with the fields that are sent. */
function malformed(): (readonly [story: string, fields: readonly Pair[]])[] {
  const without = (name: string) => requestFields().filter(([one]) => one !== name)
  const withField = (name: string, value: string) => requestFields([[name, value]])
  const replaced = (name: string, value: string) => [[name, value] as const, ...without(name)]
  return [
    ['§8.2.1 an upper-case field name', withField('X-Upper', 'v')],
    ['§8.2.1 a control byte in a field name', withField('x\x01', 'v')],
    ['§8.2.1 a space in a field name', withField('x y', 'v')],
    ['§8.2.1 an empty field name', withField('', 'v')],
    ['§8.2.1 obs-text in a field name', withField('x\xe4', 'v')],
    ['§8.2.1 a NUL in a field value', withField('x', 'a\0b')],
    ['§8.2.1 a carriage return in a field value', withField('x', 'a\rb')],
    ['§8.2.1 a line feed in a field value', withField('x', 'a\nb')],
    ['§8.2.1 a space before a field value', withField('x', ' a')],
    ['§8.2.1 a tab behind a field value', withField('x', 'a\t')],
    ['§8.2.2 connection', withField('connection', 'close')],
    ['§8.2.2 keep-alive', withField('keep-alive', '5')],
    ['§8.2.2 proxy-connection', withField('proxy-connection', 'close')],
    ['§8.2.2 transfer-encoding', withField('transfer-encoding', 'chunked')],
    ['§8.2.2 upgrade', withField('upgrade', 'websocket')],
    ['§8.2.2 te other than trailers', withField('te', 'gzip')],
    ['§8.3 an unknown pseudo-header', [[':unknown', 'v'], ...requestFields()]],
    ['§8.3 a response pseudo-header', [[':status', '200'], ...requestFields()]],
    ['§8.3 a pseudo-header behind a header', [['x', 'y'], ...requestFields()]],
    ['§8.3 a pseudo-header twice', [[':path', '/'], ...requestFields()]],
    ['§8.3.1 no :method', without(':method')],
    ['§8.3.1 no :scheme', without(':scheme')],
    ['§8.3.1 no :path', without(':path')],
    ['§8.3.1 an empty :path', replaced(':path', '')],
    ['§8.3.1 a :path that is a URL', replaced(':path', 'https://site.test/')],
    ['§8.3.1 an asterisk without OPTIONS', replaced(':path', '*')],
    ['§8.3.1 a space in :path', replaced(':path', '/a b')],
    ['§8.3.1 a fragment in :path', replaced(':path', '/a#b')],
    ['§8.3.1 a line feed in :path', replaced(':path', '/a\nb')],
    ['§8.3.1 an empty :authority', replaced(':authority', '')],
    ['§8.3.1 a space in :method', replaced(':method', 'GET /')],
    ['§8.3.1 an empty :method', replaced(':method', '')],
    ['§8.3.1 a :scheme that is not served', replaced(':scheme', 'ftp')],
    ['§8.5 CONNECT with :path', replaced(':method', 'CONNECT')],
    ['§8.5 CONNECT without :authority', [[':method', 'CONNECT']]],
    ['RFC 8441 §4 :protocol without CONNECT', [[':protocol', 'websocket'], ...requestFields()]],
    ['RFC 8441 §4 :protocol without :path', extended().filter(([name]) => name !== ':path')],
    ['RFC 8441 §4 :protocol without :scheme', extended().filter(([name]) => name !== ':scheme')],
    ['RFC 8441 §4 :protocol without :authority', extended().filter(([name]) => name !== ':authority')],
    ['RFC 8441 §4 an empty :authority beside :protocol', replacedIn(extended(), ':authority', '')],
    ['RFC 8441 §4 a :path of an asterisk beside :protocol', replacedIn(extended(), ':path', '*')],
    ['RFC 8441 §4 :protocol twice', [[':protocol', 'websocket'], ...extended()]],
    ['RFC 8441 §4 an empty :protocol', extended('')],
    ['RFC 8441 §4 a :protocol that is no token', extended('web socket')],
    ['RFC 8441 §4 a :protocol with a line feed', extended('websocket\nx: y')],
    ['RFC 9110 §9.3.6 an extended CONNECT with a content-length', [...extended(), ['content-length', '0']]],
    [
      '§8.1.1 two content-lengths',
      requestFields([
        ['content-length', '0'],
        ['content-length', '0'],
      ]),
    ],
    ['§8.1.1 a list of content-lengths', withField('content-length', '0, 0')],
    ['§8.1.1 a signed content-length', withField('content-length', '+0')],
    ['§8.1.1 a content-length without a body', withField('content-length', '5')],
  ]
}

function extended(protocol = 'websocket'): Pair[] {
  return [[':protocol', protocol], ...requestFields([], 'CONNECT', '/chat')]
}

function replacedIn(fields: readonly Pair[], name: string, value: string): Pair[] {
  return fields.map(([one, old]) => [one, one === name ? value : old])
}

for (const [story, fields] of malformed()) {
  test(`${story} resets its stream alone`, () =>
    withServer(async (server) => {
      const client = await server.client()
      client.headers(1, fields)
      assert.equal(await client.resetOf(1), ErrorCode.protocolError)
      await client.stillServes(3)
      assert.equal(server.seen.length, 1)
      assert.equal(server.refusals.length, 1)
    }))
}
