import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { parsePathPrefix, parseRedirectTarget } from '../../src/net/path-prefix.js'

describe('parsePathPrefix', () => {
  const accepted: readonly (readonly [raw: string, path: string])[] = [
    ['/', '/'],
    ['/api', '/api'],
    ['/api/', '/api'],
    ["/a.b/-._~!$&'()*+,;=:@", "/a.b/-._~!$&'()*+,;=:@"],
    ['/b%c3%bc', '/b%C3%BC'],
    ['/...', '/...'],
    ['/.well-known', '/.well-known'],
  ]
  for (const [raw, path] of accepted) {
    test(`${raw} is ${path}`, () => assert.deepEqual(parsePathPrefix(raw), { value: path }))
  }

  const refused: readonly (readonly [raw: string, mistake: string, hint?: string])[] = [
    ['', 'does not begin with a slash', 'write "/"'],
    ['api', 'does not begin with a slash', 'write "/api"'],
    ['/api?x', 'has a query, which no path has', 'write "/api"'],
    ['/#x', 'has a fragment, which no path has', 'write "/"'],
    ['/a b', 'has characters that no path has', 'write "/a%20b"'],
    ['/a%2', 'has characters that no path has', 'write "/a%252"'],
    ['/\ud800', 'has characters that no path has', 'write it as in a URL'],
    ['/a\\b', 'has characters that no path has', 'write "/a%5Cb"'],
    ['//', 'has an empty segment'],
    ['/a//b', 'has an empty segment'],
    ['/a//', 'has an empty segment'],
    ['/.', 'has a segment of dots'],
    ['/a/../b', 'has a segment of dots'],
    ['/a/.%2e/b', 'has a segment of dots'],
  ]
  for (const [raw, mistake, hint] of refused) {
    test(`${JSON.stringify(raw)} ${mistake}`, () =>
      assert.deepEqual(parsePathPrefix(raw), hint === undefined ? { mistake } : { mistake, hint }))
  }
})

describe('parseRedirectTarget', () => {
  const origin = { scheme: 'https', host: 'a.example', port: 443 }
  const accepted: readonly (readonly [raw: string, target: unknown])[] = [
    ['/new', { origin: undefined, path: '/new' }],
    ['/new/', { origin: undefined, path: '/new' }],
    ['/', { origin: undefined, path: '' }],
    ['https://a.example', { origin, path: '' }],
    ['https://A.example:443/', { origin, path: '' }],
    ['https://a.example/new/path/', { origin, path: '/new/path' }],
  ]
  for (const [raw, target] of accepted) {
    test(`${raw} is read`, () => assert.deepEqual(parseRedirectTarget(raw), { value: target }))
  }

  const refused: readonly (readonly [raw: string, mistake: string, hint?: string])[] = [
    ['a.example', 'is not an http:// or https:// URL', 'write "https://a.example"'],
    ['//a.example', 'has a host without a scheme', 'write "https://a.example"'],
    ['https://a.example/new?x', 'has a query, which no path has'],
    ['https://a.example?x', 'has a query, which no path has'],
    ['https://u:p@a.example/', 'has credentials, which are not supported'],
    ['https://a.example/a/../b', 'has a segment of dots'],
    ['javascript:alert(1)', 'is not an http:// or https:// URL', 'write "https://javascript:alert(1)"'],
  ]
  for (const [raw, mistake, hint] of refused) {
    test(`${JSON.stringify(raw)} ${mistake}`, () =>
      assert.deepEqual(parseRedirectTarget(raw), hint === undefined ? { mistake } : { mistake, hint }))
  }
})

test('no string makes them throw, and a path that is read is read again as it is', () => {
  const words = fc.constantFrom(
    'https',
    'http',
    ':',
    '//',
    '/',
    '.',
    '%',
    '2e',
    '%2E',
    '?',
    '#',
    'a',
    '\0',
    '\n',
    '\ud800',
  )
  const pathlike = fc.array(words, { maxLength: 12 }).map((parts) => `/${parts.join('')}`)
  fc.assert(
    fc.property(fc.oneof(fc.string({ unit: 'binary' }), pathlike), (raw) => {
      const path = parsePathPrefix(raw)
      if ('value' in path) assert.deepEqual(parsePathPrefix(path.value), path)
      const target = parseRedirectTarget(raw)
      assert.ok('value' in target || target.mistake !== '')
    }),
    { numRuns: 3000 },
  )
})
