// The PROXY header that we send: byte for byte what the specification draws.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { encodeProxyV2 } from '../../src/net/proxy-protocol-v2.js'

const signature = '0d0a0d0a000d0a515549540a'

function encoded(source: [string, number], destination: [string, number]): string {
  const [from, to] = [source, destination].map(([address, port]) => ({ address, port }))
  assert.ok(from && to)
  return encodeProxyV2({ source: from, destination: to }).toString('hex')
}

describe('a version 2 header that we send', () => {
  it('names an IPv4 client', () => {
    const hex = encoded(['203.0.113.9', 54321], ['198.51.100.2', 443])
    assert.equal(hex, `${signature}2111000ccb007109c6336402d43101bb`)
  })

  it('names an IPv6 client', () => {
    const hex = encoded(['2001:db8::1', 54321], ['2001:db8::2', 443])
    const addresses = '20010db800000000000000000000000120010db8000000000000000000000002'
    assert.equal(hex, `${signature}21210024${addresses}d43101bb`)
  })

  it('maps IPv4 into IPv6 where the client has one and we the other, either way', () => {
    const four = '00000000000000000000ffffc6336402'
    const six = '20010db8000000000000000000000001'
    assert.equal(encoded(['2001:db8::1', 1], ['198.51.100.2', 2]), `${signature}21210024${six}${four}00010002`)
    assert.equal(encoded(['198.51.100.2', 0], ['2001:db8::1', 65535]), `${signature}21210024${four}${six}0000ffff`)
  })

  it('names the IPv4 client of a dual-stack socket as IPv4', () => {
    const hex = encoded(['::ffff:203.0.113.9', 54321], ['::ffff:198.51.100.2', 443])
    assert.equal(hex, `${signature}2111000ccb007109c6336402d43101bb`)
  })

  it('is LOCAL, without addresses, for a connection of our own', () => {
    assert.equal(encodeProxyV2('local').toString('hex'), `${signature}20000000`)
  })

  it('is LOCAL where an address is no IP address', () => {
    assert.equal(encoded(['/run/client.sock', 0], ['198.51.100.2', 443]), `${signature}20000000`)
    assert.equal(encoded(['203.0.113.9', 1], ['', 443]), `${signature}20000000`)
  })
})
