// Whom a request header of a proxy names: what is just believable, what is just not, and what a client can put in front.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { AddressSet } from '../../src/net/cidr.js'
import { parseCidrList } from '../../src/net/cidr-list.js'
import { type ClaimReader, readForwarded, readForwardedFor, readSingleAddress } from '../../src/net/claimed-client.js'

const hops = { from: new AddressSet(parseCidrList('10.0.0.0/8\n2001:db8:cd::/48').ranges), hopsMax: 3 }

type Case = readonly [values: string | readonly string[], expected: string]

/** An expectation with a dot or a colon is an address, every other one a mistake. */
function table(read: ClaimReader, cases: readonly Case[]): void {
  for (const [values, expected] of cases) {
    const lines = typeof values === 'string' ? [values] : values
    test(`${JSON.stringify(lines)} is ${expected}`, () => {
      const isAddress = /[.:]/.test(expected)
      assert.deepEqual(read(lines, hops), isAddress ? { address: expected } : { mistake: expected })
    })
  }
}

describe('a header with one address', () => {
  table(readSingleAddress, [
    ['203.0.113.9', '203.0.113.9'],
    ['10.1.2.3', '10.1.2.3'],
    ['2001:DB8:0:0::7', '2001:db8::7'],
    ['::ffff:203.0.113.9', '203.0.113.9'],
    ['::ffff:cb00:7109', '203.0.113.9'],
    ['203.0.113.9:54321', '203.0.113.9'],
    ['[2001:db8::7]', '2001:db8::7'],
    ['[2001:db8::7]:443', '2001:db8::7'],
    [[], 'missing'],
    [['203.0.113.9', '203.0.113.9'], 'duplicated'],
    [['203.0.113.9', ''], 'duplicated'],
    ['', 'not_an_address'],
    ['203.0.113.9, 203.0.113.8', 'not_an_address'],
    ['203.0.113.9,', 'not_an_address'],
    ['203.0.113.9 ', 'not_an_address'],
    ['203.0.113.9\u00a0', 'not_an_address'],
    ['203.0.113.09', 'not_an_address'],
    ['203.0.113.256', 'not_an_address'],
    ['203.0.113', 'not_an_address'],
    ['3405803785', 'not_an_address'],
    ['0xcb.0.113.9', 'not_an_address'],
    ['203.0.113.0/24', 'not_an_address'],
    ['203.0.113.9:', 'not_an_address'],
    ['203.0.113.9:654321', 'not_an_address'],
    ['fe80::1%eth0', 'not_an_address'],
    ['[203.0.113.9]', 'not_an_address'],
    ['[2001:db8::7', 'not_an_address'],
    ['2001:db8::7]:443', 'not_an_address'],
    ['2001:db8:0:0:0:0:0:7:443', 'not_an_address'],
    ['unknown', 'not_an_address'],
    ['localhost', 'not_an_address'],
    ['"203.0.113.9"', 'not_an_address'],
    ['[2001:db8::7]:_port', '2001:db8::7'],
    [`[${':'.repeat(60_000)}`, 'not_an_address'],
  ])
})

describe('X-Forwarded-For', () => {
  table(readForwardedFor, [
    ['203.0.113.9', '203.0.113.9'],
    ['1.1.1.1, 203.0.113.9', '203.0.113.9'],
    ['1.1.1.1, 203.0.113.9, 10.0.0.1', '203.0.113.9'],
    ['1.1.1.1,203.0.113.9\t,\t10.0.0.1 , 10.0.0.2', '203.0.113.9'],
    [['1.1.1.1', '203.0.113.9', '10.0.0.1'], '203.0.113.9'],
    [['1.1.1.1, 203.0.113.9', '10.0.0.1, 10.0.0.2'], '203.0.113.9'],
    ['203.0.113.9, ::ffff:10.0.0.1', '203.0.113.9'],
    ['203.0.113.9, 2001:db8:cd::5', '203.0.113.9'],
    ['203.0.113.9:1234, 10.0.0.1:80, [2001:db8:cd::5]:80', '203.0.113.9'],
    ['10.0.0.3, 10.0.0.2, 10.0.0.1', '10.0.0.3'],
    ['garbage, 203.0.113.9', '203.0.113.9'],
    [',,,203.0.113.9', '203.0.113.9'],
    ['203.0.113.9, 10.0.0.3, 10.0.0.2, 10.0.0.1', '203.0.113.9'],
    ['203.0.113.9, 10.0.0.4, 10.0.0.3, 10.0.0.2, 10.0.0.1', 'too_many_hops'],
    ['10.0.0.4, 10.0.0.3, 10.0.0.2, 10.0.0.1', 'too_many_hops'],
    [[], 'missing'],
    ['', 'not_an_address'],
    ['203.0.113.9,', 'not_an_address'],
    ['203.0.113.9, unknown', 'not_an_address'],
    ['203.0.113.9, , 10.0.0.1', 'not_an_address'],
    [['203.0.113.9', ''], 'not_an_address'],
    [',10.0.0.1', 'not_an_address'],
    ['203.0.113.9\u00a0', 'not_an_address'],
    ['203.0.113.9; 10.0.0.1', 'not_an_address'],
  ])
})

describe('Forwarded', () => {
  table(readForwarded, [
    ['for=203.0.113.9', '203.0.113.9'],
    ['For="203.0.113.9"', '203.0.113.9'],
    ['for="203.0.113.9:4711"', '203.0.113.9'],
    ['for="203.0.113.9:_port"', '203.0.113.9'],
    ['for="[2001:db8::7]"', '2001:db8::7'],
    ['for="[2001:DB8::7]:4711";proto=https;by=203.0.113.1', '2001:db8::7'],
    ['proto=https; for=203.0.113.9 ;host="a,b;c"', '203.0.113.9'],
    ['for=1.1.1.1, for=203.0.113.9', '203.0.113.9'],
    ['for=1.1.1.1, for=203.0.113.9;host="x,y", for=10.0.0.1', '203.0.113.9'],
    [['for=1.1.1.1', 'for=203.0.113.9', 'for="[2001:db8:cd::1]"'], '203.0.113.9'],
    // What a client has written stands to the left, and cannot swallow or split what its proxy appends.
    ['for=", for=203.0.113.9', '203.0.113.9'],
    ['for="a, for="[2001:db8::7]"', '2001:db8::7'],
    ['garbage, for=203.0.113.9', '203.0.113.9'],
    // A proxy that repeats the client's Host has to quote it: a quote within has a backslash, which nothing is read behind.
    ['for=10.0.0.1;host="evil\\", for=6.6.6.6;x=\\""', 'malformed'],
    ['for=203.0.113.9;host="a\\"b"', 'malformed'],
    [[], 'missing'],
    ['', 'malformed'],
    ['for', 'malformed'],
    ['for=', 'malformed'],
    ['for =203.0.113.9', 'malformed'],
    ['for= 203.0.113.9', 'malformed'],
    ['for=203.0.113.9;', 'malformed'],
    ['for=203.0.113.9;for=203.0.113.8', 'malformed'],
    ['by=203.0.113.9', 'malformed'],
    ['proto=https', 'malformed'],
    ['203.0.113.9', 'malformed'],
    ['for=203.0.113.9:80', 'malformed'],
    ['for=[2001:db8::7]', 'malformed'],
    ['for="203.0.113.9', 'malformed'],
    ['for=203.0.113.9,', 'malformed'],
    ['for=203.0.113.9 proto=https', 'malformed'],
    ['for=unknown', 'not_an_address'],
    ['for=_hidden', 'not_an_address'],
    ['for="_hidden:80"', 'not_an_address'],
    ['for=203.0.113.9, for=unknown', 'not_an_address'],
    ['for=203.0.113.9, for=_hop, for=10.0.0.1', 'not_an_address'],
    ['for="2001:db8::7"', 'not_an_address'],
    ['for=""', 'not_an_address'],
    ['for=10.0.0.4, for=10.0.0.3, for=10.0.0.2, for=10.0.0.1', 'too_many_hops'],
  ])
})

test('property: whatever a client puts in front, the address is the one that its proxy has appended', () => {
  const hostile = fc.string({ unit: fc.constantFrom(...'",;=\\[]:. \t1fora_') })
  fc.assert(
    fc.property(hostile, hostile, fc.boolean(), (left, right, isOneLine) => {
      const forge = (appended: string) => (isOneLine ? [`${left},${right}, ${appended}`] : [left, right, appended])
      assert.deepEqual(readForwardedFor(forge('203.0.113.9'), hops), { address: '203.0.113.9' })
      assert.deepEqual(readForwarded(forge('for=203.0.113.9;proto=https'), hops), { address: '203.0.113.9' })
      assert.deepEqual(readForwarded(forge('for="[2001:db8::7]:1"'), hops), { address: '2001:db8::7' })
    }),
  )
})

test('a list of thousands of hops is not walked', () => {
  const list = Array.from({ length: 8000 }, () => '10.0.0.1').join(',')
  let asked = 0
  const from = { has: (address: string) => hops.from.has(address) && ++asked > 0 }
  assert.deepEqual(readForwardedFor([list], { from, hopsMax: 3 }), { mistake: 'too_many_hops' })
  assert.equal(asked, 4)
})
