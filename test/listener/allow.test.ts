// Who may connect at all: strangers are closed before a word is said, counted, and told of in no line.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import net from 'node:net'
import { before, describe, it, type TestContext } from 'node:test'
import tls from 'node:tls'
import type { ListenerSettings } from '../../src/listener/listener.js'
import { headerOf, version2 } from '../net/proxy-vectors.js'
import type { Rig, Site } from './rig.js'
import { addressSet, ask, connectRaw, connectTls, ended, makeSite, openRig, until } from './rig.js'

const name = 'site-a.test'
let site: Site
before(async () => {
  site = await makeSite(name)
})

const own = addressSet('127.0.0.0/8')
const other = addressSet('192.0.2.0/24', '2001:db8::/32')
const believing = { from: own, mode: 'optional', versions: [1, 2] } as const

function open(test: TestContext, settings: Partial<ListenerSettings>): Promise<Rig> {
  return openRig(test, { sites: { [name]: site }, settings })
}

async function assertShutOut(rig: Rig, said: Buffer = Buffer.alloc(0)): Promise<void> {
  const before = rig.listener.counters.refusedByAllow
  const { socket, received } = await connectRaw(rig)
  socket.write(said)
  await ended(socket)
  await until(() => rig.listener.counters.open === 0, 'the connection is gone')
  assert.equal(received().length, 0)
  assert.equal(rig.listener.counters.refusedByAllow, before + 1)
  socket.destroy()
}

async function behind(rig: Rig, header: Buffer): Promise<tls.TLSSocket> {
  const raw = net.connect(rig.port, '127.0.0.1').on('error', () => {})
  raw.write(header)
  const socket = tls.connect({ socket: raw, servername: name, rejectUnauthorized: false })
  await once(socket, 'secureConnect')
  return socket
}

describe('a listener that takes some peers alone', () => {
  it('closes all others at once, TLS or not, without a failure and without a line', async (t) => {
    for (const isTls of [true, false]) {
      const rig = await open(t, { tls: isTls, allow: { from: other, of: 'peer' } })
      await assertShutOut(rig)
      await assertShutOut(rig, Buffer.from('GET / HTTP/1.1\r\n\r\n'))
      const { accepted, handshakesFailed, withoutRequest, refusedByAllow } = rig.listener.counters
      assert.deepEqual([accepted, handshakesFailed, withoutRequest, refusedByAllow], [2, 0, 0, 2])
      assert.deepEqual([rig.failures.length, rig.served.length], [0, 0])
    }
  })

  it('serves those, and reads no PROXY header to know them', async (t) => {
    const rig = await open(t, { allow: { from: own, of: 'peer' }, proxyHeader: believing })
    const socket = await connectTls(rig, { servername: name })
    assert.match(await ask(socket, 'hello'), /hello$/)
    const claiming = await behind(rig, headerOf('203.0.113.9', 1))
    assert.match(await ask(claiming, 'hello'), /hello$/)
    assert.equal(rig.listener.counters.refusedByAllow, 0)
    for (const each of [socket, claiming]) each.destroy()
  })

  it('does not let a header speak for a peer that may not come', async (t) => {
    const rig = await open(t, { allow: { from: other, of: 'peer' }, proxyHeader: believing })
    await assertShutOut(rig, headerOf('192.0.2.7', 1))
  })

  it('follows a reload with the next connection, and keeps the open ones', async (t) => {
    const rig = await open(t, { allow: { from: own, of: 'peer' } })
    const socket = await connectTls(rig, { servername: name })
    rig.settings = { ...rig.settings, allow: { from: addressSet(), of: 'peer' } }
    const refused = await connectRaw(rig)
    await ended(refused.socket)
    assert.equal(rig.listener.counters.refusedByAllow, 1)
    assert.match(await ask(socket, 'still'), /still$/)
    socket.destroy()
  })
})

describe('a listener that takes some claimed addresses alone', () => {
  const claimed = { allow: { from: other, of: 'claimed' }, proxyHeader: believing } as const

  it('serves those that a trusted header claims', async (t) => {
    const rig = await open(t, claimed)
    for (const address of ['192.0.2.7', '2001:db8::7', '::ffff:192.0.2.7']) {
      const socket = await behind(rig, headerOf(address, 1))
      assert.match(await ask(socket, 'hello'), /hello$/)
      socket.destroy()
    }
    assert.equal(rig.listener.counters.refusedByAllow, 0)
  })

  it('closes all others behind their header, before TLS', async (t) => {
    const rig = await open(t, claimed)
    for (const address of ['192.0.3.0', '2001:db9::', '127.0.0.1']) await assertShutOut(rig, headerOf(address, 1))
    assert.deepEqual([rig.failures.length, rig.listener.counters.withoutRequest], [0, 0])
  })

  it('takes a header that claims nobody, and none at all, for the peer', async (t) => {
    const rig = await open(t, claimed)
    await assertShutOut(rig, version2(0x20, 0x00))
    await assertShutOut(rig, Buffer.from('PROXY UNKNOWN\r\n'))
    await assertShutOut(rig, Buffer.from([0x16, 3, 1, 2, 0]))
    rig.settings = { ...rig.settings, allow: { from: own, of: 'claimed' } }
    const socket = await behind(rig, version2(0x20, 0x00))
    assert.match(await ask(socket, 'hello'), /hello$/)
    socket.destroy()
  })
})
