import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { type EndpointAddress, formatEndpoint, parseEndpointAddress } from '../../src/net/endpoint-address.js'

function tcp(host: string, port: number) {
  return { kind: 'tcp', host, port, tls: false } as const
}

describe('parseEndpointAddress', () => {
  const accepted: readonly (readonly [raw: string, address: EndpointAddress, shown: string])[] = [
    ['http://127.0.0.1:3001', tcp('127.0.0.1', 3001), 'http://127.0.0.1:3001'],
    ['http://[0:0::1]:3001', tcp('::1', 3001), 'http://[::1]:3001'],
    ['HTTP://Backend.internal:65535', tcp('backend.internal', 65535), 'http://backend.internal:65535'],
    ['http://backend', tcp('backend', 80), 'http://backend'],
    ['https://backend', { ...tcp('backend', 443), tls: true }, 'https://backend'],
    ['https://backend:80', { ...tcp('backend', 80), tls: true }, 'https://backend:80'],
    ['unix:/run/shop.sock', { kind: 'unix', path: '/run/shop.sock' }, 'unix:/run/shop.sock'],
    ['UNIX:///run/./shop.sock', { kind: 'unix', path: '/run/shop.sock' }, 'unix:/run/shop.sock'],
    [`unix:/${'x'.repeat(106)}`, { kind: 'unix', path: `/${'x'.repeat(106)}` }, `unix:/${'x'.repeat(106)}`],
  ]
  for (const [raw, address, shown] of accepted) {
    test(`${raw} is ${shown}`, () => {
      assert.deepEqual(parseEndpointAddress(raw), { value: address })
      assert.equal(formatEndpoint(address), shown)
    })
  }

  const refused: readonly (readonly [raw: string, mistake: string, hint?: string])[] = [
    ['', 'is not an http://, https:// or unix: address', 'write "http://host:port"'],
    ['127.0.0.1:3001', 'is not an http://, https:// or unix: address', 'write "http://127.0.0.1:3001"'],
    ['ftp://a', 'is not an http://, https:// or unix: address', 'write "http://host:port"'],
    ['/run/shop.sock', 'is not an http://, https:// or unix: address', 'write "unix:/run/shop.sock"'],
    ['http://unix:/run/shop.sock:', 'is not the address of a socket', 'write "unix:/run/shop.sock"'],
    ['unix:run/shop.sock', 'has no absolute path', 'write "unix:/run/name.sock"'],
    ['unix:/run/', 'is not the path of a socket'],
    ['unix:/run/\0', 'is not the path of a socket'],
    [`unix:/${'x'.repeat(107)}`, 'has a path of more than 107 bytes, which no socket can have'],
    ['http://a:3001/', 'has a path, which is not supported', 'write "http://a:3001"'],
    ['https://a:3001/app', 'has a path, which is not supported', 'write "https://a:3001"'],
    ['http://a:3001?x', 'has a query, which is not supported', 'write "http://a:3001"'],
    ['http://a:3001#x', 'has a fragment, which is not supported', 'write "http://a:3001"'],
    ['http://u:p@a:3001', 'has credentials, which are not supported'],
    ['http://', 'has no host'],
    ['http://:3001', 'has no host'],
    ['http://a:0', 'has port 0, which nobody listens on'],
    ['http://a:65536', 'has the port "65536", which is not a number from 0 to 65535'],
    ['http://a:', 'has the port "", which is not a number from 0 to 65535'],
    ['http://0x7f.1:80', 'has the host "0x7f.1", which is neither a name nor an IP address'],
    ['http://bücher:80', 'has the host "bücher", which is neither a name nor an IP address'],
  ]
  for (const [raw, mistake, hint] of refused) {
    test(`${JSON.stringify(raw)} ${mistake}`, () =>
      assert.deepEqual(parseEndpointAddress(raw), hint === undefined ? { mistake } : { mistake, hint }))
  }

  test('no string makes it throw, and what it reads it reads again as it shows it', () => {
    const words = fc.constantFrom('http', 's', 'unix', ':', '//', '/', '[', ']', '@', 'a', '1', '..', '%', '\0', '\n')
    const addresslike = fc.array(words, { maxLength: 12 }).map((parts) => parts.join(''))
    fc.assert(
      fc.property(fc.oneof(fc.string({ unit: 'binary' }), addresslike), (raw) => {
        const parsed = parseEndpointAddress(raw)
        if ('value' in parsed) assert.deepEqual(parseEndpointAddress(formatEndpoint(parsed.value)), parsed)
        else assert.notEqual(parsed.mistake, '')
      }),
      { numRuns: 3000 },
    )
  })
})
