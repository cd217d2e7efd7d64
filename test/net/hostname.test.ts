import assert from 'node:assert/strict'
import { isIPv4, isIPv6 } from 'node:net'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { normalizeHostname, normalizeSitePattern } from '../../src/net/hostname.js'

const label63 = 'a'.repeat(63)
const name253 = `${label63}.${label63}.${label63}.${'b'.repeat(61)}`

describe('normalizeHostname', () => {
  const accepted: readonly (readonly [raw: string, name: string])[] = [
    ['site-a.example.com', 'site-a.example.com'],
    ['Site-A.Example.COM', 'site-a.example.com'],
    ['site-a.example.com.', 'site-a.example.com'],
    ['site-a.example.com:8443', 'site-a.example.com'],
    ['SITE-A.example.com.:443', 'site-a.example.com'],
    ['site-a.example.com:', 'site-a.example.com'],
    ['a:0', 'a'],
    ['a:65535', 'a'],
    ['localhost', 'localhost'],
    ['_dmarc.my_site.example', '_dmarc.my_site.example'],
    ['-odd-.example', '-odd-.example'],
    ['xn--bcher-kva.example', 'xn--bcher-kva.example'],
    ['1.example', '1.example'],
    ['a.1b', 'a.1b'],
    [`${label63}.example`, `${label63}.example`],
    [name253, name253],
    [`${name253}.:65535`, name253],
    ['192.0.2.1', '192.0.2.1'],
    ['192.0.2.1.:80', '192.0.2.1'],
    ['0.0.0.0', '0.0.0.0'],
    ['255.255.255.255', '255.255.255.255'],
    ['[::1]', '::1'],
    ['[::1]:8443', '::1'],
    ['[2001:DB8:0:0:0:0:0:1]', '2001:db8::1'],
    ['[2001:db8::0:1:0:0:0]', '2001:db8:0:0:1::'],
    ['[::ffff:192.0.2.1]', '::ffff:c000:201'],
  ]
  for (const [raw, name] of accepted) {
    test(`${JSON.stringify(raw)} is ${name}`, () => assert.equal(normalizeHostname(raw), name))
  }

  const refused: readonly string[] = [
    '',
    '.',
    ':80',
    '.a',
    'a..b',
    'a..',
    'a.example..:80',
    'user@a.example',
    'a.example, b.example',
    'a.example,b.example',
    'a.example b.example',
    ' a.example',
    'a.example ',
    'a.example\t',
    'a.example\0',
    'a.example\x7f',
    'a.example/',
    'a.example\\b',
    'a%2eexample',
    '*.example',
    'bücher.example',
    '\u212aite.example', // U+212A lower-cases to an ASCII k
    'a\uff0eexample',
    'a:65536',
    'a:-1',
    'a:+80',
    'a:8o',
    'a:000080',
    'a:80:80',
    `${label63}a.example`,
    `${name253}b`,
    '256.0.0.1',
    '010.0.0.1',
    '127.1',
    '2130706433',
    '0x7f.1',
    'a.0x7f',
    '1.2.3.4.5',
    'a.1',
    '::1',
    '[::1',
    '::1]',
    '[]',
    '[::1]x',
    '[::1]:65536',
    '[::1]:x',
    '[::1].',
    '[fe80::1%eth0]',
    '[fe80::1%25eth0]',
    '[127.0.0.1]',
    '[v1.x]',
    '[::01.2.3.4]',
  ]
  for (const raw of refused) {
    test(`${JSON.stringify(raw)} is no host`, () => assert.equal(normalizeHostname(raw), undefined))
  }

  test('a normal name comes back as it is, and normalising twice changes nothing', () => {
    fc.assert(
      fc.property(hostlike(), (raw) => {
        const name = normalizeHostname(raw)
        if (name === undefined) return
        assert.equal(normalizeHostname(isIPv6(name) ? `[${name}]` : name), name)
      }),
      { numRuns: 2000 },
    )
  })

  test('it agrees with a naive model on anything that resembles a host', () => {
    fc.assert(
      fc.property(hostlike(), (raw) => assert.equal(normalizeHostname(raw), naiveHostname(raw))),
      { numRuns: 5000 },
    )
  })

  test('it agrees with a naive model on any string', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (raw) => assert.equal(normalizeHostname(raw), naiveHostname(raw))),
      { numRuns: 2000 },
    )
  })

  test('every spelling of an IPv6 address is one name', () => {
    fc.assert(
      fc.property(fc.ipV6(), fc.boolean(), (literal, isUpperCase) => {
        const name = normalizeHostname(`[${isUpperCase ? literal.toUpperCase() : literal}]:443`)
        assert.ok(name !== undefined && isIPv6(name))
        assert.deepEqual(ipv6Groups(name), ipv6Groups(literal))
      }),
    )
  })
})

describe('normalizeSitePattern', () => {
  const accepted: readonly (readonly [raw: string, pattern: string])[] = [
    ['Site-A.example.com.', 'site-a.example.com'],
    ['*.A.example.com', '*.a.example.com'],
    ['*.localhost', '*.localhost'],
    ['bücher.example', 'xn--bcher-kva.example'],
    ['*.Bücher.example', '*.xn--bcher-kva.example'],
    ['bücher。example', 'xn--bcher-kva.example'],
    ['192.0.2.1', '192.0.2.1'],
    ['[2001:DB8::0]', '2001:db8::'],
    ['2001:DB8::0', '2001:db8::'],
  ]
  for (const [raw, pattern] of accepted) {
    test(`${JSON.stringify(raw)} is ${pattern}`, () => assert.deepEqual(normalizeSitePattern(raw), { value: pattern }))
  }

  const refused: readonly (readonly [raw: string, mistake: string])[] = [
    ['', 'is empty'],
    ['*', 'would catch every host'],
    ['*.', 'is not a host name: it has an empty label'],
    ['**.example', 'has a wildcard that is not one leading label'],
    ['*.*.example', 'has a wildcard that is not one leading label'],
    ['a.*.example', 'has a wildcard that is not one leading label'],
    ['a*.example', 'has a wildcard that is not one leading label'],
    ['*.192.0.2.1', 'has a wildcard before an address'],
    ['*.::1', 'has a wildcard before an address'],
    ['https://a.example', 'is not a host name'],
    ['bücher/x.example', 'is not a host name'],
    ['a.example:443', 'has a port'],
    ['a b.example', 'is not a host name: it contains white space'],
    ['bü cher.example', 'is not a host name: it contains white space'],
    ['bü?x.example', 'is not a host name: it contains "?"'],
    ['bü%41.example', 'is not a host name: it contains "%"'],
    ['user@a.example', 'is not a host name: it contains "@"'],
    ['a..example', 'is not a host name: it has an empty label'],
    [`${label63}a.example`, 'is not a host name: a label is longer than 63 bytes'],
    [`${name253}b`, 'is not a host name: it is longer than 253 bytes'],
    ['010.0.0.1', 'is not a host name: it ends in a number, but is no IPv4 address of four plain decimals'],
    ['ü\ud800.example', 'is not a host name: it is no international name either'],
  ]
  for (const [raw, mistake] of refused) {
    test(`${JSON.stringify(raw)} ${mistake}`, () => {
      const result = normalizeSitePattern(raw)
      assert.equal('mistake' in result ? result.mistake : result.value, mistake)
    })
  }

  test('whatever it accepts, a request can name', () => {
    fc.assert(
      fc.property(fc.oneof(hostlike(), fc.string({ unit: 'binary' }), fc.domain()), (raw) => {
        const result = normalizeSitePattern(raw)
        if ('mistake' in result) return
        const name = result.value.replace(/^\*/, 'x')
        assert.equal(normalizeHostname(isIPv6(name) ? `[${name}]` : name), name)
      }),
      { numRuns: 3000 },
    )
  })
})

function hostlike(): fc.Arbitrary<string> {
  const part = fc.constantFrom(
    'a',
    'Z',
    '0',
    '1',
    '9',
    '255',
    '256',
    '-',
    '_',
    '.',
    ':',
    '80',
    '[',
    ']',
    '::',
    '%',
    ' ',
    'x',
    'ü',
  )
  const free = fc.array(part, { maxLength: 12 }).map((parts) => parts.join(''))
  const label = fc.stringMatching(/^[a-zA-Z0-9_-]{1,8}$/)
  const name = fc.array(label, { minLength: 1, maxLength: 4 }).map((labels) => labels.join('.'))
  const suffix = fc.constantFrom('', '.', ':443', '.:443', ':', ':99999')
  return fc.oneof(
    free,
    fc.tuple(name, suffix).map(([host, end]) => host + end),
    fc.tuple(fc.ipV4(), suffix).map(([host, end]) => host + end),
    fc.array(fc.constantFrom(label63, 'b', 'c.', '.'), { maxLength: 9 }).map((parts) => parts.join('')),
  )
}

function naiveHostname(raw: string): string | undefined {
  const match = /^(\[[^\]]*\]|[\x21-\x7e]*?)(?::(\d{0,5}))?$/.exec(raw)
  if (match === null || Number(match[2] ?? 0) > 65535) return undefined
  const host = (match[1] ?? '').toLowerCase()
  if (host.startsWith('[')) {
    const literal = host.slice(1, -1)
    if (!host.endsWith(']') || !/^[0-9a-f:.]+$/.test(literal) || !URL.canParse(`http://[${literal}]`)) return undefined
    return new URL(`http://[${literal}]`).hostname.slice(1, -1)
  }
  const name = host.replace(/\.$/, '')
  const labels = name.split('.')
  if (name.length > 253 || !labels.every((label) => /^[a-z0-9_-]{1,63}$/.test(label))) return undefined
  if (/^(\d+|0x[0-9a-f]*)$/.test(labels.at(-1) ?? '')) return isIPv4(name) ? name : undefined
  return name
}

function ipv6Groups(literal: string): readonly number[] {
  const dotted = literal.replace(/(\d+)\.(\d+)\.(\d+)\.(\d+)$/, (_, a, b, c, d) =>
    [Number(a) * 256 + Number(b), Number(c) * 256 + Number(d)].map((group) => group.toString(16)).join(':'),
  )
  const [head = '', tail] = dotted.split('::')
  const left = head === '' ? [] : head.split(':')
  const right = tail === undefined || tail === '' ? [] : tail.split(':')
  const zeros = Array.from({ length: 8 - left.length - right.length }, () => '0')
  return [...left, ...zeros, ...right].map((group) => Number.parseInt(group, 16))
}
