// PROXY headers as a strict receiver reads them: whole, byte by byte, alone, and glued to what follows.
import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it, test } from 'node:test'
import fc from 'fast-check'
import { formatAddress } from '../../src/net/address.js'
import { crc32c } from '../../src/net/crc32c.js'
import { readProxyHeader } from '../../src/net/proxy-protocol.js'
import type { ProxyHeader, ProxyVerdict } from '../../src/net/proxy-protocol-header.js'
import { encodeProxyV2 } from '../../src/net/proxy-protocol-v2.js'
import { checked, type Expected, extended, tlsValue, tlv, type Vector, vectors } from './proxy-vectors.js'

const hello = Buffer.from('16030100050100000100', 'hex')

/** What a verdict comes to when nothing more is sent. */
function outcomeOf(verdict: ProxyVerdict): Expected {
  if (verdict.kind === 'absent') return 'absent'
  if (verdict.kind !== 'header') return 'malformed'
  const { claim } = verdict.header
  if (claim === undefined) return 'claims nobody'
  const [source, destination] = [claim.source, claim.destination].map((it) => formatAddress(it.address, it.port))
  return { claims: `${source}>${destination}` }
}

/** Judges ever longer prefixes, as a receiver does, and holds it to its own words about how many bytes it needs. */
function readByteByByte(bytes: Buffer): ProxyVerdict {
  let needed = 1
  for (let length = 0; length <= bytes.length; length++) {
    // A copy of its own: what lies behind the end cannot be looked at.
    const verdict = readProxyHeader(Buffer.from(Uint8Array.from(bytes.subarray(0, length))))
    if (verdict.kind !== 'incomplete') {
      assert.ok(length >= needed, `decided at ${length}, although it wanted ${needed}`)
      return verdict
    }
    assert.ok(verdict.bytesNeeded > length)
    needed = verdict.bytesNeeded
  }
  return { kind: 'incomplete', bytesNeeded: needed }
}

function assertReadAlike(bytes: Buffer, expected: Expected): void {
  const whole = readProxyHeader(bytes)
  assert.deepEqual(outcomeOf(whole), expected)
  assert.deepEqual(readByteByByte(bytes), whole)
  const glued = Buffer.concat([bytes, hello])
  const withMore = readProxyHeader(glued)
  // A line without an end is cut short alone, and broken by what follows.
  if (whole.kind !== 'incomplete') assert.deepEqual(withMore, whole)
  assert.deepEqual(outcomeOf(withMore), expected)
  assert.deepEqual(readByteByByte(glued), withMore)
  if (whole.kind === 'header') assert.equal(whole.header.byteCount, bytes.length)
}

for (const { name, bytes, expected } of vectors) {
  it(`${name}: ${typeof expected === 'string' ? expected : expected.claims}`, () => assertReadAlike(bytes, expected))
}

const vectorFile = join('..', 'shared', 'vectors', 'proxy-protocol.json')

test('every shared PROXY vector is read as expected', { skip: !existsSync(vectorFile) && `no ${vectorFile}` }, () => {
  const shared: SharedVector[] = JSON.parse(readFileSync(vectorFile, 'utf8'))
  for (const vector of shared) checkShared(vector)
  assert.ok(shared.length > 80, `only ${shared.length} vectors`)
})

interface SharedVector {
  readonly id: string
  readonly hex: string
  readonly expect: string
  readonly ref: string
}

/** Where the specification leaves a choice, this receiver's. */
const choices: Readonly<Record<string, Expected>> = {
  't1-tcp6-mixed-dst4': { claims: '[2001:db8::1]:54321>198.51.100.2:443' },
  't2-udp4': 'claims nobody',
  't2-inet-unspec': 'claims nobody',
  't2-crc-local-bad': 'claims nobody',
  't2-ssl-short4': 'malformed',
  't2-ssl-subover': 'malformed',
}

function checkShared({ id, hex, expect, ref }: SharedVector): void {
  const bytes = Buffer.from(hex, 'hex')
  const expected = choices[id] ?? expectedOf(expect, ref)
  const verdict = readProxyHeader(bytes)
  assert.deepEqual(outcomeOf(verdict), expected, id)
  assert.deepEqual(outcomeOf(readByteByByte(bytes)), expected, `${id} byte by byte`)
  assert.deepEqual(outcomeOf(readByteByByte(Buffer.concat([bytes, hello]))), expected, `${id} glued to a ClientHello`)
  const consumed = /consumed=(\d+)$/.exec(ref)?.[1]
  if (verdict.kind === 'header') assert.equal(verdict.header.byteCount, Number(consumed), id)
}

function expectedOf(expect: string, ref: string): Expected {
  if (ref.endsWith('not_proxy')) return 'absent'
  if (expect.startsWith('reject')) return 'malformed'
  const [, source, sourcePort, destination, destinationPort] = /^proxy (\S+) (\d+) > (\S+) (\d+)/.exec(ref) ?? []
  if (source === undefined || destination === undefined) return 'claims nobody'
  return {
    claims: `${formatAddress(source, Number(sourcePort))}>${formatAddress(destination, Number(destinationPort))}`,
  }
}

function headerIn(bytes: Buffer): ProxyHeader {
  const verdict = readProxyHeader(bytes)
  assert.equal(verdict.kind, 'header')
  return (verdict as Extract<ProxyVerdict, { kind: 'header' }>).header
}

describe('a second header', () => {
  it('is payload: senders in a row prepend without looking', () => {
    const [first] = vectors.filter((vector: Vector) => vector.name === 'v2 IPv4')
    assert.ok(first)
    const doubled = Buffer.concat([first.bytes, Buffer.from('PROXY TCP4 192.0.2.66 198.51.100.2 1 2\r\n')])
    assert.equal(headerIn(doubled).byteCount, first.bytes.length)
    assert.deepEqual(outcomeOf(readProxyHeader(doubled)), first.expected)
  })
})

describe('extensions', () => {
  const of = (...tlvs: Buffer[]): ProxyHeader['extensions'] => headerIn(extended(...tlvs)).extensions

  it('are read where they are known', () => {
    const { extensions } = headerIn(
      checked(tlv(1, 'h2'), tlv(2, 'Site-A.Example'), tlv(5, 'id'), tlv(0x30, 'blue'), tlv(0x20, tlsValue(1, 0))),
    )
    assert.deepEqual(extensions, {
      alpn: Buffer.from('h2'),
      authority: 'site-a.example',
      uniqueId: Buffer.from('id'),
      namespace: 'blue',
      tls: { isUsed: true, hasProvenCertificate: false },
      ignoredCount: 0,
    })
  })

  it('count by their first value, and the rest is counted', () => {
    assert.deepEqual(of(tlv(2, 'a.example'), tlv(2, 'b.example')), { authority: 'a.example', ignoredCount: 1 })
  })

  it('have no authority that is no host name', () => {
    for (const text of ['a b', 'a/b', 'a..b', '\xff\xfe', 'a\0.example']) {
      assert.deepEqual(of(tlv(2, Buffer.from(text, 'latin1'))), { ignoredCount: 1 }, text)
    }
  })

  it('of HAProxy say who proved what', () => {
    const tls = vectors
      .filter(({ name }) => name.startsWith('HAProxy'))
      .map(({ bytes }) => headerIn(bytes).extensions.tls)
    assert.deepEqual(
      tls.map((each) => [each?.isUsed, each?.hasProvenCertificate, each?.version, each?.commonName]),
      [
        [undefined, undefined, undefined, undefined],
        [true, true, 'TLSv1.3', 'client.example.test'],
        [true, false, 'TLSv1.3', undefined],
      ],
    )
  })

  it('prove a client certificate only where one was shown, and found good', () => {
    const isProven = (flags: number, verify: number): boolean | undefined =>
      of(tlv(0x20, tlsValue(flags, verify, tlv(0x22, 'client')))).tls?.hasProvenCertificate
    assert.deepEqual([isProven(7, 0), isProven(3, 0), isProven(5, 0)], [true, true, true])
    // HAProxy says "verify 0" where it asked for no certificate.
    assert.deepEqual([isProven(1, 0), isProven(7, 1), isProven(3, 0x80000000)], [false, false, false])
  })
})

describe('any bytes', () => {
  const beginnings = [Buffer.alloc(0), Buffer.from('PROXY TCP4 '), ...vectors.map(({ bytes }) => bytes)]
  const nearHeaders = fc.tuple(fc.constantFrom(...beginnings), fc.nat(300), fc.uint8Array({ maxLength: 40 }))

  it('are judged without a throw, alike whole and byte by byte', () => {
    fc.assert(
      fc.property(nearHeaders, ([beginning, kept, more]) => {
        const bytes = Buffer.concat([beginning.subarray(0, kept), more])
        const stepwise = readByteByByte(bytes)
        assert.deepEqual(readProxyHeader(bytes), stepwise)
        if (stepwise.kind === 'header') assert.ok(stepwise.header.byteCount <= bytes.length)
        if (stepwise.kind === 'incomplete') assert.ok(stepwise.bytesNeeded <= 16 + 4096)
      }),
      { numRuns: 2000 },
    )
  })

  it('that differ from a header in one place are judged without a throw', () => {
    const flipped = fc.tuple(
      fc.constantFrom(...beginnings.filter((it) => it.length > 0)),
      fc.nat(),
      fc.integer({ min: 1, max: 255 }),
    )
    fc.assert(
      fc.property(flipped, ([header, place, mask]) => {
        const bytes = Buffer.from(header)
        const at = place % Math.min(bytes.length, 200)
        bytes[at] = (bytes[at] as number) ^ mask
        readProxyHeader(bytes)
      }),
      { numRuns: 2000 },
    )
  })
})

test('what we send is what we read', () => {
  const endpoint = fc.record({
    address: fc.oneof(fc.ipV4(), fc.ipV6()),
    port: fc.nat(65_535),
  })
  fc.assert(
    fc.property(endpoint, endpoint, (source, destination) => {
      const header = headerIn(encodeProxyV2({ source, destination }))
      assert.ok(header.claim)
      assert.deepEqual(encodeProxyV2(header.claim), encodeProxyV2({ source, destination }))
      assert.deepEqual([header.claim.source.port, header.claim.destination.port], [source.port, destination.port])
    }),
  )
})

test('the checksum is that of Castagnoli, in one piece or several', () => {
  assert.equal(crc32c(Buffer.from('123456789')), 0xe3069283)
  assert.equal(crc32c(Buffer.from('6789'), crc32c(Buffer.from('12345'))), 0xe3069283)
  assert.equal(crc32c(Buffer.alloc(0)), 0)
})
