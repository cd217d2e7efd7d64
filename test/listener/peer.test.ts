// How addresses are written, and what a person reads when one cannot be bound.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { ListenError } from '../../src/listener/listen-error.js'
import { peerOf } from '../../src/listener/peer.js'

describe('a peer', () => {
  const cases: [string, string, string][] = [
    ['192.0.2.1', '192.0.2.1:443', '192.0.2.1'],
    ['2001:db8::1', '[2001:db8::1]:443', '2001:db8::1'],
    ['::ffff:192.0.2.1', '192.0.2.1:443', '192.0.2.1'],
    ['::ffff:c000:201', '[::ffff:c000:201]:443', '::ffff:c000:201'],
    ['fe80::1%eth0', '[fe80::1]:443', 'fe80::1'],
  ]
  for (const [remoteAddress, peer, peerAddress] of cases) {
    it(`at ${remoteAddress} is written ${peer}`, () => {
      const local = { localAddress: '::ffff:192.0.2.9', localPort: 8443 }
      const expected = { peer, peerAddress, local: '192.0.2.9:8443' }
      assert.deepEqual(peerOf({ remoteAddress, remotePort: 443, ...local }), expected)
    })
  }

  it('that is already gone is none', () => {
    assert.equal(peerOf({ remoteAddress: undefined, remotePort: undefined }), undefined)
  })
})

describe('an address that cannot be bound', () => {
  it('is explained, with a hint where a person can do something', () => {
    const cause = Object.assign(new Error('listen EACCES: permission denied 127.0.0.1:443'), { code: 'EACCES' })
    const error = new ListenError({ listener: 'public', bind: '127.0.0.1:443', cause })
    assert.equal(error.message, 'listener "public" cannot listen on 127.0.0.1:443: permission denied')
    assert.equal(error.code, 'permission_denied')
    assert.match(error.hint ?? '', /CAP_NET_BIND_SERVICE/)
  })

  it('for an unforeseen reason says what the system said', () => {
    const cause = Object.assign(new Error('listen EMFILE: too many open files'), { code: 'EMFILE' })
    const error = new ListenError({ listener: 'public', bind: ':443', cause })
    assert.equal(error.message, 'listener "public" cannot listen on :443: listen EMFILE: too many open files')
    assert.deepEqual([error.code, error.hint, error.cause], ['listen_failed', undefined, cause])
  })
})
