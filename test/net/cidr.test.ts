// Ranges as people write them, and sets of them held against the plain definition.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { AddressSet, type Cidr, parseCidr } from '../../src/net/cidr.js'
import { formatIp, mapped, parseIp } from '../../src/net/ip-address.js'

function rangeOf(text: string): Cidr {
  const parsed = parseCidr(text)
  assert.ok('value' in parsed, `${text} ${'mistake' in parsed ? parsed.mistake : ''}`)
  return parsed.value
}

function setOf(...texts: readonly string[]): AddressSet {
  return new AddressSet(texts.map(rangeOf))
}

describe('a range', () => {
  const ranges = [
    ['192.0.2.0/24', '192.0.2.0', '192.0.2.255'],
    ['10.0.0.0/9', '10.0.0.0', '10.127.255.255'],
    ['0.0.0.0/0', '0.0.0.0', '255.255.255.255'],
    ['192.0.2.7', '192.0.2.7', '192.0.2.7'],
    ['192.0.2.7/32', '192.0.2.7', '192.0.2.7'],
    ['2001:db8::/32', '2001:db8::', '2001:db8:ffff:ffff:ffff:ffff:ffff:ffff'],
    ['2001:db8::8/125', '2001:db8::8', '2001:db8::f'],
    ['::1', '::1', '::1'],
    ['::/0', '::', 'ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff'],
    ['::ffff:10.0.0.0/104', '10.0.0.0', '10.255.255.255'],
    ['::ffff:0:0/96', '0.0.0.0', '255.255.255.255'],
  ] as const
  for (const [text, first, last] of ranges) {
    it(`"${text}" is ${first} to ${last}`, () => {
      const range = rangeOf(text)
      assert.deepEqual([formatIp(range.first), formatIp(range.last)], [first, last])
    })
  }

  const mistakes = [
    ['', /is not an IP address/, /like "192\.0\.2\.0\/24"/],
    ['localhost', /is not an IP address/, /not looked up/],
    ['[2001:db8::]/32', /is not an IP address/, /write it without brackets: "2001:db8::\/32"/],
    ['fe80::1%eth0', /is not an IP address/, /without a zone/],
    ['010.0.0.0/8', /is not an IP address/, /leading zeros/],
    ['192.0.2.*', /is not an IP address/, /with a prefix/],
    ['192.0.2.1-192.0.2.9', /is not an IP address/, /with a prefix/],
    ['192.0.2/24', /is not an IP address/, /like/],
    ['192.0.2.0/33', /the prefix "33"/, /from 0 to 32/],
    ['192.0.2.0/', /the prefix ""/, /from 0 to 32/],
    ['192.0.2.0/024', /the prefix "024"/, /from 0 to 32/],
    ['192.0.2.0/255.255.255.0', /the prefix "255\.255\.255\.0"/, /from 0 to 32/],
    ['2001:db8::/129', /the prefix "129"/, /from 0 to 128/],
    ['::ffff:10.0.0.0/8', /the prefix "8"/, /from 96 to 128/],
    ['192.0.2.1/24', /bits set behind its prefix/, /write "192\.0\.2\.0\/24", or "192\.0\.2\.1" for the one address/],
    ['2001:db8::1/32', /bits set behind its prefix/, /write "2001:db8::\/32"/],
  ] as const
  for (const [text, mistake, hint] of mistakes) {
    it(`${JSON.stringify(text)} is a mistake with a hint`, () => {
      const parsed = parseCidr(text)
      assert.ok('mistake' in parsed)
      assert.match(parsed.mistake, mistake)
      assert.match(parsed.hint ?? '', hint)
    })
  }
})

describe('a set of ranges', () => {
  it('has what lies in one of them, first and last address included, and nothing beside', () => {
    const set = setOf('192.0.2.0/24', '198.51.100.7', '2001:db8::/32')
    for (const address of ['192.0.2.0', '192.0.2.255', '198.51.100.7', '2001:db8::', '2001:db8:ffff::1']) {
      assert.equal(set.has(address), true, address)
    }
    for (const address of ['192.0.1.255', '192.0.3.0', '198.51.100.6', '198.51.100.8', '2001:db7::', '2001:db9::']) {
      assert.equal(set.has(address), false, address)
    }
  })

  it('takes an IPv4 address that is mapped into IPv6 for IPv4', () => {
    assert.equal(setOf('10.0.0.0/8').has('::ffff:10.1.2.3'), true)
    assert.equal(setOf('::ffff:10.0.0.0/104').has('10.1.2.3'), true)
  })

  it('of all IPv6 has no IPv4, and the other way round', () => {
    assert.deepEqual([setOf('::/0').has('192.0.2.1'), setOf('::/0').has('2001:db8::1')], [false, true])
    assert.deepEqual([setOf('0.0.0.0/0').has('2001:db8::1'), setOf('0.0.0.0/0').has('192.0.2.1')], [false, true])
  })

  it('without a range has nothing, and no set has what is no address', () => {
    assert.equal(setOf().has('192.0.2.1'), false)
    for (const text of ['', 'localhost', '1.2.3', '::1%lo']) assert.equal(setOf('0.0.0.0/0', '::/0').has(text), false)
  })

  it('is not led astray by ranges within ranges', () => {
    const set = setOf('10.0.0.0/8', '10.0.0.1', '10.2.0.0/16', '10.0.0.0/8')
    for (const address of ['10.0.0.0', '10.0.0.2', '10.1.0.0', '10.3.0.0', '10.255.255.255'])
      assert.equal(set.has(address), true, address)
    assert.equal(set.has('11.0.0.0'), false)
  })

  it('of any ranges answers as the definition does', () => {
    const family = fc.constantFrom(4, 16)
    const block = family.chain((width) =>
      fc.tuple(fc.uint8Array({ minLength: width, maxLength: width }), fc.nat(8 * width)),
    )
    fc.assert(
      fc.property(fc.array(block, { maxLength: 30 }), fc.nat(), fc.nat(), ([...blocks], pick, shift) => {
        const cidrs = blocks.map(([bytes, bits]) => blockAt(Buffer.from(bytes), bits))
        const set = new AddressSet(cidrs)
        const near = cidrs[pick % Math.max(cidrs.length, 1)]?.last ?? Buffer.alloc(4)
        const probe = Buffer.from(near)
        const at = shift % probe.length
        probe[at] = (probe[at] as number) + 1
        const expected = cidrs.some((cidr) => isWithin(probe, cidr))
        assert.equal(set.has(formatIp(probe)), expected)
        for (const { first, last } of cidrs) assert.ok(set.has(formatIp(first)) && set.has(formatIp(last)))
      }),
    )
  })

  it('of twenty thousand ranges finds each of them', () => {
    const texts = Array.from({ length: 20_000 }, (_, index) => `10.${index >> 8}.${index & 255}.0/25`)
    const set = setOf(...texts)
    for (let index = 0; index < texts.length; index++) {
      assert.ok(set.has(`10.${index >> 8}.${index & 255}.127`))
      assert.ok(!set.has(`10.${index >> 8}.${index & 255}.128`))
    }
  })
})

/** The block around an address, by way of its text; IPv6 that turns out to be mapped IPv4 is made some other block. */
function blockAt(bytes: Buffer, bits: number): Cidr {
  const isMapped = bytes.length === 16 && parseIp(formatIp(bytes))?.length === 4
  const address = isMapped ? Buffer.alloc(16, 1) : bytes
  const first = Buffer.from(address.map((byte, index) => byte & ~(0xff >> Math.min(Math.max(bits - 8 * index, 0), 8))))
  return rangeOf(`${formatIp(first)}/${bits}`)
}

function isWithin(address: Buffer, { first, last }: Cidr): boolean {
  const plain = parseIp(formatIp(address)) ?? Buffer.alloc(0)
  if (plain.length !== first.length) return false
  return Buffer.compare(plain, first) >= 0 && mapped(plain).compare(mapped(last)) <= 0
}
