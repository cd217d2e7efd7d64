// The text of an address set, as tools and people write it.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseAddressSource } from '../../src/net/address-source.js'
import { AddressSet, unionOf } from '../../src/net/cidr.js'
import { parseCidrList } from '../../src/net/cidr-list.js'

test('a set is a range or an address a line, with comments, blanks, empty lines and any end of line', () => {
  const { ranges, mistakes } = parseCidrList(
    '\ufeff# Cloudflare\r\n\r\n173.245.48.0/20\r\n  2400:cb00::/32 # v6\n\t192.0.2.7\n#192.0.2.8\n   \n::1',
  )
  assert.deepEqual(mistakes, [])
  assert.equal(ranges.length, 4)
  const set = new AddressSet(ranges)
  const inside = ['173.245.48.0', '173.245.63.255', '2400:cb00::1', '192.0.2.7', '::1', '::ffff:192.0.2.7']
  const outside = ['173.245.64.0', '173.245.47.255', '2400:cb01::', '192.0.2.8', '::2', '']
  assert.deepEqual(
    [...inside, ...outside].map((address) => set.has(address)),
    [...inside.map(() => true), ...outside.map(() => false)],
  )
})

test('what is no range is told with its line and column', () => {
  const { mistakes } = parseCidrList('10.0.0.0/8\n  10.0.0.1/8\n<!doctype html>\n10.0.0.0/8, 11.0.0.0/8\nlocalhost')
  assert.deepEqual(
    mistakes.map(({ line, column, written }) => [line, column, written]),
    [
      [2, 3, '10.0.0.1/8'],
      [3, 1, '<!doctype html>'],
      [4, 1, '10.0.0.0/8, 11.0.0.0/8'],
      [5, 1, 'localhost'],
    ],
  )
  assert.match(mistakes[0]?.hint ?? '', /write "10\.0\.0\.0\/8"/)
})

test('a text without ranges is an empty list, and in an empty list nobody is', () => {
  for (const text of ['', '\n', '# nothing\n   \n']) {
    assert.deepEqual(parseCidrList(text), { ranges: [], mistakes: [] })
  }
  for (const nothing of [unionOf([]), unionOf([new AddressSet([])]), unionOf([new AddressSet([]), unionOf([])])]) {
    for (const address of ['0.0.0.0', '127.0.0.1', '::', '::1']) assert.equal(nothing.has(address), false)
  }
})

test('ten thousand ranges are read, and each end of each is told from its neighbours', () => {
  const text = Array.from(
    { length: 10_000 },
    (_, index) => `${100 + (index >> 12)}.${(index >> 4) & 255}.${(index & 15) * 16}.4/30`,
  )
  const { ranges, mistakes } = parseCidrList(text.join('\n'))
  assert.deepEqual([ranges.length, mistakes.length], [10_000, 0])
  const set = unionOf([new AddressSet([]), new AddressSet(ranges)])
  for (const line of text) {
    const [a, b, c] = line.split('.')
    const verdicts = [3, 4, 7, 8].map((last) => set.has(`${a}.${b}.${c}.${last}`))
    assert.deepEqual(verdicts, [false, true, true, false], line)
  }
})

test('a source is a range, an address, or the name of a set, and no text is two of them', () => {
  const kindOf = (raw: string) => {
    const parsed = parseAddressSource(raw)
    return 'value' in parsed ? parsed.value.kind : parsed.mistake
  }
  for (const name of ['cloudflare', 'a', 'Fastly_2', 'a-b', 'abcd', 'x'.repeat(64)]) assert.equal(kindOf(name), 'set')
  for (const range of ['10.0.0.0/8', '10.0.0.1', 'abcd::', '::/0']) assert.equal(kindOf(range), 'range')
  for (const neither of ['', '1a', 'a.b', 'a b', '-a', 'x'.repeat(65), '10', '10.0.0', 'a/8', 'ä']) {
    assert.equal(kindOf(neither), 'is not an IP address or a range', neither)
  }
})
