// Addresses between text and bytes: one spelling out, strict reading in.
import assert from 'node:assert/strict'
import { isIPv6 } from 'node:net'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { formatIp, mapped, parseIp } from '../../src/net/ip-address.js'

describe('an IP literal', () => {
  const spellings = [
    ['0.0.0.0', '0.0.0.0'],
    ['255.255.255.255', '255.255.255.255'],
    ['::', '::'],
    ['::1', '::1'],
    ['1::', '1::'],
    ['2001:DB8:0:0:1:0:0:1', '2001:db8::1:0:0:1'],
    ['2001:db8:0:1:1:1:1:1', '2001:db8:0:1:1:1:1:1'],
    ['2001:0db8::0001', '2001:db8::1'],
    ['1:0:0:2:0:0:0:3', '1:0:0:2::3'],
    ['64:ff9b::192.0.2.33', '64:ff9b::c000:221'],
    ['::ffff:192.0.2.1', '192.0.2.1'],
    ['::ffff:c000:201', '192.0.2.1'],
    ['::fffe:c000:201', '::fffe:c000:201'],
  ] as const
  for (const [text, spelling] of spellings) {
    it(`"${text}" is spelt "${spelling}"`, () => {
      const bytes = parseIp(text)
      assert.ok(bytes)
      assert.equal(formatIp(bytes), spelling)
    })
  }

  const others = ['', '1.2.3', '1.2.3.256', '01.2.3.4', '1.2.3.4 ', '::1%lo', '[::1]', ':::', '1::2::3', 'localhost']
  for (const text of others) {
    it(`${JSON.stringify(text)} is none`, () => assert.equal(parseIp(text), undefined))
  }

  it('of any bytes is read back from its own spelling', () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 16, maxLength: 16 }), (array) => {
        const bytes = Buffer.from(array)
        const text = formatIp(bytes)
        assert.deepEqual(mapped(parseIp(text) ?? Buffer.alloc(0)), bytes)
        if (isIPv6(text)) assert.equal(text, new URL(`http://[${text}]`).hostname.slice(1, -1))
      }),
    )
  })
})
