import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { formatAddress, parseBind, parseOrigin, plainAddress, splitAddress } from '../../src/net/address.js'

describe('parseBind', () => {
  const accepted: readonly (readonly [raw: string, host: string | undefined, port: number])[] = [
    ['127.0.0.1:8443', '127.0.0.1', 8443],
    ['[::1]:443', '::1', 443],
    ['[0:0:0:0:0:0:0:0]:443', '::', 443],
    [':8443', undefined, 8443],
    ['0.0.0.0:0', '0.0.0.0', 0],
    ['Localhost:65535', 'localhost', 65535],
  ]
  for (const [raw, host, port] of accepted) {
    test(`${raw} binds ${host ?? 'every address'}, port ${port}`, () =>
      assert.deepEqual(parseBind(raw), { value: { host, port } }))
  }

  const refused: readonly (readonly [raw: string, mistake: string, hint?: string])[] = [
    ['', 'has no port', 'write ":443", or ":443" for every address'],
    ['127.0.0.1', 'has no port', 'write "127.0.0.1:443", or ":443" for every address'],
    ['127.0.0.1:65536', 'has the port "65536", which is not a number from 0 to 65535'],
    ['127.0.0.1:-1', 'has the port "-1", which is not a number from 0 to 65535'],
    ['127.0.0.1:', 'has the port "", which is not a number from 0 to 65535'],
    ['127.0.0.1:https', 'has the port "https", which is not a number from 0 to 65535'],
    ['::1', 'is an IPv6 address without brackets', 'write it like "[::1]:443"'],
    ['8443', 'has no port', 'write ":8443"'],
    ['[::1]', 'has no port', 'write "[::1]:443", or ":443" for every address'],
    ['[::1]443', 'is not host:port', 'an IPv6 address needs brackets: "[::1]:443"'],
    ['256.0.0.1:443', 'has the host "256.0.0.1", which is neither a name nor an IP address'],
    ['[fe80::1%eth0]:443', 'has the host "[fe80::1%eth0]", which is neither a name nor an IP address'],
    ['a b:443', 'has the host "a b", which is neither a name nor an IP address'],
  ]
  for (const [raw, mistake, hint] of refused) {
    test(`${JSON.stringify(raw)} ${mistake}`, () =>
      assert.deepEqual(parseBind(raw), hint === undefined ? { mistake } : { mistake, hint }))
  }
})

describe('parseOrigin', () => {
  test('https has port 443 where none is given', () =>
    assert.deepEqual(parseOrigin('https://a.example'), { value: { scheme: 'https', host: 'a.example', port: 443 } }))
  test('no string makes it throw', () => {
    const words = fc.constantFrom('http', 's', ':', '//', '[', ']', '@', '/', 'a', '1', '%', '\0', '\n', '.')
    const urllike = fc.array(words, { maxLength: 12 }).map((parts) => parts.join(''))
    fc.assert(
      fc.property(fc.oneof(fc.string({ unit: 'binary' }), urllike), (raw) => {
        for (const parsed of [parseBind(raw), parseOrigin(raw)]) assert.ok('value' in parsed || parsed.mistake !== '')
      }),
      { numRuns: 3000 },
    )
  })
})

describe('formatAddress', () => {
  test('IPv4 stands alone', () => assert.equal(formatAddress('192.0.2.1', 443), '192.0.2.1:443'))
  test('IPv6 stands in brackets', () => assert.equal(formatAddress('2001:db8::1', 443), '[2001:db8::1]:443'))
  test('IPv4 mapped into IPv6 is shown as IPv4', () =>
    assert.equal(formatAddress('::ffff:192.0.2.1', 1), '192.0.2.1:1'))
  test('a zone is left off', () => assert.equal(formatAddress('fe80::1%eth0', 1), '[fe80::1]:1'))
  test('a plain address has neither port nor brackets', () =>
    assert.deepEqual(['::ffff:192.0.2.1', 'fe80::1%2', '::1'].map(plainAddress), ['192.0.2.1', 'fe80::1', '::1']))
})

describe('splitAddress', () => {
  for (const [address, port] of [
    ['192.0.2.1', 443],
    ['2001:db8::1', 65_535],
  ] as const) {
    test(`gives back what was written for ${address}`, () =>
      assert.deepEqual(splitAddress(formatAddress(address, port)), { address, port }))
    test(`knows no port of ${address} alone`, () => assert.deepEqual(splitAddress(address), { address, port: 0 }))
  }
})
