// HPACK both ways: the RFC's own examples, round trips, and what a decoder must refuse.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { HpackDecoder } from '../../src/http2/hpack-decoder.js'
import { HpackEncoder } from '../../src/http2/hpack-encoder.js'
import { decodeHuffman, encodeHuffman, huffmanLength } from '../../src/http2/hpack-huffman.js'
import { decode, encode, type Pair, pairsOf, roomy } from './hpack-support.js'

function hex(text: string): Buffer {
  return Buffer.from(text.replaceAll(' ', ''), 'hex')
}

// RFC 7541 appendix C.
const requestsPlain = [
  '8286 8441 0f77 7777 2e65 7861 6d70 6c65 2e63 6f6d',
  '8286 84be 5808 6e6f 2d63 6163 6865',
  '8287 85bf 400a 6375 7374 6f6d 2d6b 6579 0c63 7573 746f 6d2d 7661 6c75 65',
]
const requestsHuffman = [
  '8286 8441 8cf1 e3c2 e5f2 3a6b a0ab 90f4 ff',
  '8286 84be 5886 a8eb 1064 9cbf',
  '8287 85bf 4088 25a8 49e9 5ba9 7d7f 8925 a849 e95b b8e8 b4bf',
]
const requests: readonly (readonly Pair[])[] = [
  [
    [':method', 'GET'],
    [':scheme', 'http'],
    [':authority', 'www.example.com'],
    [':path', '/'],
  ],
  [
    [':method', 'GET'],
    [':scheme', 'http'],
    [':authority', 'www.example.com'],
    [':path', '/'],
    ['cache-control', 'no-cache'],
  ],
  [
    [':method', 'GET'],
    [':scheme', 'https'],
    [':authority', 'www.example.com'],
    [':path', '/index.html'],
    ['custom-key', 'custom-value'],
  ],
]
const responsesHuffman = [
  '4882 6402 5885 aec3 771a 4b61 96d0 7abe 9410 54d4 44a8 2005 9504 0b81 66e0 82a6 2d1b ff6e 919d 29ad 1718 63c7 8f0b 97c8 e9ae 82ae 43d3',
  '4883 640e ffc1 c0bf',
  '88c1 6196 d07a be94 1054 d444 a820 0595 040b 8166 e084 a62d 1bff c05a 839b d9ab 77ad 94e7 821d d7f2 e6c7 b335 dfdf cd5b 3960 d5af 2708 7f36 72c1 ab27 0fb5 291f 9587 3160 65c0 03ed 4ee5 b106 3d50 07',
]

for (const [name, wires] of [
  ['plain', requestsPlain],
  ['Huffman coded', requestsHuffman],
] as const) {
  test(`the RFC's ${name} requests decode over one state`, () => {
    const decoder = new HpackDecoder()
    for (const [index, wire] of wires.entries()) {
      const section = decode(decoder, hex(wire))
      assert.ok(section)
      assert.equal(section.fault, undefined)
      assert.deepEqual(pairsOf(section), requests[index])
    }
  })
}

test("the RFC's responses decode with evictions from a table of 256 bytes", () => {
  const decoder = new HpackDecoder(256)
  const last = responsesHuffman.map((wire) => {
    const section = decode(decoder, hex(wire), 'response')
    return section && pairsOf(section)
  })
  assert.deepEqual(last[1], [
    [':status', '307'],
    ['cache-control', 'private'],
    ['date', 'Mon, 21 Oct 2013 20:13:21 GMT'],
    ['location', 'https://www.example.com'],
  ])
  assert.deepEqual(last[2]?.slice(-2), [
    ['content-encoding', 'gzip'],
    ['set-cookie', 'foo=ASDJKHQKBZXOQWEOPIUAXQWEOIU; max-age=3600; version=1'],
  ])
})

test('Huffman coding gives back every byte', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 300 }), (bytes) => {
      const coded = Buffer.alloc(huffmanLength(bytes, 0, bytes.length))
      assert.equal(encodeHuffman(bytes, 0, bytes.length, coded, 0), coded.length)
      const decoded = Buffer.alloc(bytes.length + 8)
      const end = decodeHuffman(coded, 0, coded.length, decoded, 0)
      assert.deepEqual(decoded.subarray(0, end), Buffer.from(bytes))
    }),
  )
})

test('Huffman padding is at most seven ones', () => {
  const target = Buffer.alloc(64)
  const ends = ['1f', '1e', '1fff', '00', 'ff', 'fffffffc', 'fffffffa'].map((wire) =>
    decodeHuffman(hex(wire), 0, wire.length / 2, target, 0),
  )
  // 'a' whole; padded with a zero; padded with a byte too many; '0' padded with zeros; nothing but padding; the end of
  // string itself; a word of thirty bits cut off.
  assert.deepEqual(ends, [1, -1, -1, -1, -1, -1, -1])
})

const nameText = fc.stringMatching(/^[a-z][a-z0-9-]{0,20}$/)
const valueText = fc.stringMatching(/^[!-~]([ -~]{0,60}[!-~])?$/)
const someFields = fc.array(fc.tuple(nameText, fc.oneof(valueText, fc.constant(''))), { maxLength: 20 })

test('what the encoder writes, the decoder reads, section after section', () => {
  fc.assert(
    fc.property(fc.array(someFields, { maxLength: 12 }), fc.integer({ min: 0, max: 600 }), (sections, tableBytes) => {
      const encoder = new HpackEncoder()
      const decoder = new HpackDecoder()
      encoder.limit(tableBytes)
      for (const [index, fields] of [...sections, ...sections].entries()) {
        if (index === sections.length) encoder.limit(4096)
        const section = decode(decoder, encode(encoder, 200, fields), 'response')
        assert.ok(section)
        assert.deepEqual(pairsOf(section), [[':status', '200'], ...fields])
      }
    }),
  )
})

test('the encoder lowers names, keeps order and sends repeated fields as one byte each', () => {
  const encoder = new HpackEncoder()
  const decoder = new HpackDecoder()
  const fields: Pair[] = [
    ['Server', 'upstream'],
    ['X-Frame-Options', 'DENY'],
    ['Cache-Control', 'max-age=60'],
  ]
  const wires = Array.from({ length: 3 }, () => encode(encoder, 418, fields))
  for (const wire of wires) {
    const section = decode(decoder, wire, 'response')
    assert.deepEqual(section && pairsOf(section).map(([name]) => name), [
      ':status',
      'server',
      'x-frame-options',
      'cache-control',
    ])
  }
  assert.equal(wires[2]?.length, 4)
})

test('secrets are sent never-indexed however often they repeat', () => {
  const encoder = new HpackEncoder()
  for (let round = 0; round < 4; round++) {
    const wire = encode(encoder, 200, [['set-cookie', 'session=1']])
    assert.equal((wire[1] ?? 0) & 0xf0, 0x10)
  }
})

test('added lines are written behind the received ones', () => {
  const decoder = new HpackDecoder()
  const encoder = new HpackEncoder()
  for (let round = 0; round < 3; round++) {
    const section = decode(
      decoder,
      encode(encoder, 200, [
        ['a', 'b'],
        ['Via', '2 hostward'],
      ]),
      'response',
    )
    assert.deepEqual(section && pairsOf(section), [
      [':status', '200'],
      ['a', 'b'],
      ['via', '2 hostward'],
    ])
  }
})

const codingErrors: readonly (readonly [story: string, wire: string])[] = [
  ['index 0', '80'],
  ['an index behind the tables', 'be'],
  ['a name index behind the tables', '7f00 0161'],
  ['an integer that never ends', 'ff ffff ffff ffff ffff ffff 7f'],
  ['an integer cut off', 'ff ff'],
  ['a string cut off', '4003 6162'],
  ['a string without length', '4001 61'],
  ['a table size above the announced one', '3fe2 1f'],
  ['a table size behind a field', '82 20'],
  ['three table sizes', '20 20 20'],
  ['a Huffman string with the end of string in it', '4001 6184 ffff ffff'],
]

for (const [story, wire] of codingErrors) {
  test(`${story} is a coding error`, () => {
    assert.equal(decode(new HpackDecoder(), hex(wire)), undefined)
  })
}

const faults: readonly (readonly [story: string, wire: string])[] = [
  ['an upper-case name', '0003 4162 6301 61'],
  ['an empty name', '0000 0161'],
  ['a space in a name', '0003 6120 6301 61'],
  ['a colon in a name', '0003 613a 6301 61'],
  ['an unknown pseudo-header', '0004 3a61 6263 0161'],
  ['a NUL in a value', '0001 6103 610062'],
  ['a line feed in a value', '0001 6103 610a62'],
  ['a space before a value', '0001 6102 2061'],
  ['a tab behind a value', '0001 6102 6109'],
  ['connection', '000a 636f 6e6e 6563 7469 6f6e 0161'],
  ['te other than trailers', '0002 7465 0161'],
  ['a pseudo-header behind a header', '0001 6101 6182'],
  ['a pseudo-header twice', '8283'],
  [':status in a request', '88'],
]

for (const [story, wire] of faults) {
  test(`${story} makes a request malformed and leaves the coding sound, from the table too`, () => {
    const decoder = new HpackDecoder()
    const section = decode(decoder, hex(wire.replace(/^00/, '40')))
    assert.notEqual(section?.fault, undefined)
    if (!wire.startsWith('00') || story.startsWith('a pseudo')) return
    assert.notEqual(decode(decoder, hex('be'))?.fault, undefined)
  })
}

test('te: trailers is sound', () => {
  assert.equal(decode(new HpackDecoder(), hex('0002 7465 0874 7261 696c 6572 73'))?.fault, undefined)
})

test('a bad value does not spoil the name that later fields refer to', () => {
  const decoder = new HpackDecoder()
  decode(decoder, hex('4001 6102 2061'))
  assert.equal(decode(decoder, hex('7e 01 62'))?.fault, undefined)
})

test('a bomb of references is counted, not stored, and the table stays right', () => {
  const decoder = new HpackDecoder()
  const value = Buffer.alloc(3000, 'x')
  decode(decoder, Buffer.concat([hex('4001 61'), hex('7f b9 16'), value]))
  const section = decode(decoder, Buffer.alloc(60_000, 0xbe), 'request', { headerBytes: 65_536, headerCount: 256 })
  assert.equal(section?.isTooLarge, true)
  assert.ok(section.block.end <= 65_536)
  const after = decode(decoder, hex('be'))
  assert.equal(after?.block.valueOf(0), value.toString())
})

test('cookie crumbs become one line, and count as one', () => {
  const crumbs = Array.from({ length: 200 }, (_, index) => `0f11 05${Buffer.from(`c=${100 + index}`).toString('hex')}`)
  const section = decode(new HpackDecoder(), hex(`${crumbs.join('')}0001 6101 62`), 'request', {
    headerBytes: 65_536,
    headerCount: 2,
  })
  assert.equal(section?.isTooLarge, false)
  section.joinCookies()
  const [cookie, ...more] = section.block.valuesOf('cookie')
  assert.deepEqual(more, [])
  assert.equal(cookie, Array.from({ length: 200 }, (_, index) => `c=${100 + index}`).join('; '))
})

test('whatever bytes come, decoding ends, bounded, with a verdict', () => {
  const decoder = new HpackDecoder()
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 400 }), (bytes) => {
      const section = decode(decoder, Buffer.from(bytes), 'request', { ...roomy, headerBytes: 2000 })
      assert.ok(section === undefined || section.block.end <= 2000)
    }),
    { numRuns: 2000 },
  )
})
