// A listener's life: it opens or says why not, bounds what it accepts, drains, closes, and leaves nothing behind.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import net from 'node:net'
import { before, describe, it } from 'node:test'
import { ListenError } from '../../src/listener/listen-error.js'
import { Listener } from '../../src/listener/listener.js'
import type { Site } from './rig.js'
import { ask, assertAllGone, connectRaw, connectTls, ended, helloBytes, makeSite, openRig, until } from './rig.js'

let site: Site
before(async () => {
  site = await makeSite('site-a.test')
})
const name = 'site-a.test'

function listenerOn(host: string, port: number): Listener {
  return new Listener({
    name: 'second',
    host,
    port,
    settings: () => ({
      tls: true,
      http2: true,
      connectionsMax: 1,
      handshakeMs: 1000,
      proxyHeader: undefined,
      allow: undefined,
    }),
    hooks: {
      choose: () => undefined,
      serve: () => ({ requests: 0, drain: () => {}, destroy: () => {} }),
      onHandshakeFailed: () => {},
    },
  })
}

describe('opening a listener', () => {
  it('on a port in use fails with a sentence that names the address', async (test) => {
    const rig = await openRig(test)
    await assert.rejects(listenerOn('127.0.0.1', rig.port).open(), (error) => {
      assert.ok(error instanceof ListenError)
      assert.equal(error.code, 'address_in_use')
      assert.equal(
        error.message,
        `listener "second" cannot listen on 127.0.0.1:${rig.port}: the address is already in use`,
      )
      return true
    })
  })

  it('on an address of another machine fails with that reason', async () => {
    await assert.rejects(listenerOn('192.0.2.1', 0).open(), { code: 'address_not_available' })
    await assert.rejects(listenerOn('2001:db8::1', 0).open(), (error) => {
      assert.ok(error instanceof ListenError)
      assert.match(error.message, /\[2001:db8::1\]:0/)
      return true
    })
  })

  it('tells the port that the system chose, until it drains', async (test) => {
    const rig = await openRig(test)
    assert.deepEqual(rig.listener.address, { address: '127.0.0.1', port: rig.port })
    assert.ok(rig.port > 0)
    rig.listener.drain()
    assert.equal(rig.listener.address, undefined)
  })
})

describe('a connection', () => {
  it('knows its peer, its name, its TLS version and an id of its own', async (test) => {
    const rig = await openRig(test, { sites: { [name]: site } })
    const first = await connectTls(rig, { servername: name, maxVersion: 'TLSv1.2' })
    const second = await connectTls(rig, { servername: name })
    await until(() => rig.served.length === 2, 'both are served')
    const [one, two] = rig.served
    assert.equal(one?.peer, `127.0.0.1:${first.localPort}`)
    assert.equal(one?.peerAddress, '127.0.0.1')
    assert.deepEqual([one?.listener, one?.sni, one?.claimed, one?.claimedBy], ['public', name, null, null])
    assert.deepEqual([one?.tlsVersion, two?.tlsVersion], ['TLSv1.2', 'TLSv1.3'])
    assert.notEqual(one?.id, two?.id)
    first.destroy()
    second.destroy()
    await assertAllGone(rig, 0)
    assert.equal(rig.listener.counters.withoutRequest, 2)
  })

  it('on a plain listener is served at once, without name and version', async (test) => {
    const rig = await openRig(test, { settings: { tls: false } })
    const { socket } = await connectRaw(rig)
    assert.equal(await ask(socket, 'GET'), 'http/1.1 null GET')
    assert.equal(rig.served[0]?.tlsVersion, null)
    socket.end()
    await assertAllGone(rig, 1)
  })

  it('within the limit is served, above it closed at once and counted', async (test) => {
    const rig = await openRig(test, { sites: { [name]: site }, settings: { connectionsMax: 2 } })
    const inside = [await connectTls(rig, { servername: name }), await connectTls(rig, { servername: name })]
    await assert.rejects(connectTls(rig, { servername: name }))
    assert.equal(rig.listener.counters.refusedByLimit, 1)
    rig.settings = { ...rig.settings, connectionsMax: 3 }
    inside.push(await connectTls(rig, { servername: name }))
    for (const socket of inside) assert.equal(await ask(socket, 'x'), `http/1.1 ${name} x`)
    for (const socket of inside) socket.destroy()
    await assertAllGone(rig, 3)
  })
})

describe('draining', () => {
  it('stops accepting, drains the served, drops the silent and leaves a handshake under way alone', async (test) => {
    const rig = await openRig(test, { sites: { [name]: site } })
    const served = await connectTls(rig, { servername: name })
    const silent = await connectRaw(rig)
    const halfway = await connectRaw(rig)
    halfway.socket.write((await helloBytes({ servername: name })).subarray(0, 50))
    await until(() => rig.listener.counters.open === 3, 'all three are accepted')
    // Both in one process: once an answer has come, the bytes written before it have been read too.
    await ask(served, 'x')
    await ask(served, 'y')
    const closed = rig.listener.close(60_000)
    await ended(silent.socket)
    await ended(served)
    assert.deepEqual(
      rig.drained,
      rig.served.map((it) => it.id),
    )
    await assert.rejects(once(net.connect(rig.port, '127.0.0.1'), 'connect'), { code: 'ECONNREFUSED' })
    for (const socket of [silent.socket, served]) socket.destroy()
    await until(() => rig.listener.counters.open === 1, 'only the handshake is left')
    assert.deepEqual(rig.failures, [])
    halfway.socket.destroy()
    await closed
    await assertAllGone(rig, 1)
  })

  it('asks a connection that is served only afterwards to drain as well', async (test) => {
    const rig = await openRig(test, {
      choose: () => {
        rig.listener.drain()
        return site.context
      },
    })
    const socket = await connectTls(rig, { servername: name })
    socket.resume()
    await ended(socket)
    assert.deepEqual(rig.drained, [rig.served[0]?.id])
    socket.destroy()
    await assertAllGone(rig, 0)
  })

  it('ends at the deadline whatever a connection does', async (test) => {
    const rig = await openRig(test, { settings: { tls: false } })
    const { socket } = await connectRaw(rig)
    await ask(socket, 'x')
    await rig.listener.close(20)
    assert.equal(rig.listener.counters.open, 0)
    socket.destroy()
  })

  it('may be asked for twice, and before the listener was open', async (test) => {
    const rig = await openRig(test)
    await Promise.all([rig.listener.close(0), rig.listener.close(0)])
    await rig.listener.close(0)
    await listenerOn('127.0.0.1', 0).close(0)
  })
})

describe('a thousand connections', () => {
  it('that end at random points leave no count, no deadline and no socket behind', async (test) => {
    const rig = await openRig(test, { sites: { [name]: site } })
    const hello = await helloBytes({ servername: name })
    const ends = [
      async (socket: net.Socket) => socket.end(),
      async (socket: net.Socket) => socket.resetAndDestroy(),
      async (socket: net.Socket) => socket.end(hello.subarray(0, 1 + ((socket.localPort ?? 0) % hello.length))),
      async (socket: net.Socket) => socket.write(hello, () => socket.resetAndDestroy()),
      async (socket: net.Socket) => socket.end(hello),
      async (socket: net.Socket) => socket.end('GET / HTTP/1.0\r\n\r\n'),
      async (socket: net.Socket) => {
        socket.write(hello)
        await once(socket, 'data')
        socket.resetAndDestroy()
      },
    ]
    const handles = process.getActiveResourcesInfo().length
    for (let batch = 0; batch < 20; batch++) {
      const knocks = Array.from({ length: 49 }, async (_, number) => {
        const { socket } = await connectRaw(rig)
        const closed = once(socket, 'close')
        await ends[number % ends.length]?.(socket)
        await closed
      })
      const whole = connectTls(rig, { servername: name }).then((socket) =>
        ask(socket, 'x').then(() => socket.destroy()),
      )
      await Promise.all([...knocks, whole])
    }
    await until(() => rig.listener.counters.accepted === 1000, 'all were accepted')
    await assertAllGone(rig, 20)
    await until(() => process.getActiveResourcesInfo().length <= handles, 'no handle is left')
  })
})
