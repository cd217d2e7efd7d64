// PROXY headers in front of real connections: from listed and other sources, whole and in slivers, sound and hostile.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { Socket } from 'node:net'
import net from 'node:net'
import type { TestContext } from 'node:test'
import { before, describe, it } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import tls from 'node:tls'
import type { ListenerCounters } from '../../src/listener/counters.js'
import type { ListenerSettings } from '../../src/listener/listener.js'
import type { ProxyHeaderRules } from '../../src/listener/preamble.js'
import { checked, extended, headerOf, spoiled, tlv, version2 } from '../net/proxy-vectors.js'
import type { Rig, Site } from './rig.js'
import { addressSet, ask, assertAllGone, connectRaw, ended, helloBytes, makeSite, openRig, until } from './rig.js'

let site: Site
let hello: Buffer
const name = 'site-a.test'
before(async () => {
  site = await makeSite(name)
  hello = await helloBytes({ servername: name })
})

const version1Header = Buffer.from('PROXY TCP4 203.0.113.9 198.51.100.2 54321 443\r\n')
const version2Header = headerOf('203.0.113.9', 54321)
const localHeader = version2(0x20, 0x00)
const claim = ['203.0.113.9:54321', '203.0.113.9']

const listed = (more: Partial<ProxyHeaderRules> = {}): ProxyHeaderRules => ({
  from: addressSet('127.0.0.0/8'),
  mode: 'require',
  versions: [1, 2],
  ...more,
})
const stranger = listed({ from: addressSet('192.0.2.0/24') })

function openListener(
  test: TestContext,
  proxyHeader: ProxyHeaderRules,
  settings: Partial<ListenerSettings> = {},
): Promise<Rig> {
  return openRig(test, { sites: { [name]: site }, settings: { proxyHeader, ...settings } })
}

const openPlain = (test: TestContext, rules: ProxyHeaderRules): Promise<Rig> =>
  openListener(test, rules, { tls: false })

/** TLS over a connection that began with a header. */
async function connectBehind(rig: Rig, header: Buffer): Promise<tls.TLSSocket> {
  const raw = net.connect(rig.port, '127.0.0.1')
  raw.write(header)
  const socket = tls.connect({ socket: raw, servername: name, rejectUnauthorized: false })
  await once(socket, 'secureConnect')
  return socket.on('error', () => {})
}

/** Sends bytes and waits until the listener has closed; what it said. */
async function refusedAfter(rig: Rig, bytes: Buffer): Promise<Buffer> {
  const { socket, received } = await connectRaw(rig)
  socket.write(bytes)
  await ended(socket)
  socket.destroy()
  return received()
}

async function writeSplit(socket: Socket, bytes: Buffer, at: number): Promise<void> {
  socket.setNoDelay(true)
  socket.write(bytes.subarray(0, at))
  await turn()
  socket.write(bytes.subarray(at))
}

/** The counters that are not zero. */
function counted(rig: Rig): Partial<ListenerCounters> {
  return Object.fromEntries(Object.entries(rig.listener.counters).filter(([, count]) => count !== 0))
}

/** A good client is served whatever came before. */
async function assertStillServes(rig: Rig, header: Buffer): Promise<void> {
  const socket = await connectBehind(rig, header)
  assert.equal(await ask(socket, 'x'), `http/1.1 ${name} x`)
  socket.destroy()
}

describe('a header from a listed source', () => {
  for (const [header, claimedBy] of [
    [version1Header, 'proxy-v1'],
    [version2Header, 'proxy-v2'],
  ] as const) {
    it(`names the client of a ${claimedBy} connection, whose peer stays the measured one`, async (test) => {
      const rig = await openListener(test, listed())
      const socket = await connectBehind(rig, header)
      assert.equal(await ask(socket, 'x'), `http/1.1 ${name} x`)
      const [connection] = rig.served
      assert.deepEqual([connection?.claimed, connection?.claimedAddress], claim)
      assert.equal(connection?.claimedBy, claimedBy)
      assert.deepEqual([connection?.peer, connection?.peerAddress], [`127.0.0.1:${socket.localPort}`, '127.0.0.1'])
      socket.destroy()
      await assertAllGone(rig, 1)
    })
  }

  it('writes an IPv6 client with brackets and port, and without', async (test) => {
    const rig = await openListener(test, listed())
    const socket = await connectBehind(rig, headerOf('2001:db8::7', 80))
    await until(() => rig.served.length === 1, 'it is served')
    assert.deepEqual([rig.served[0]?.claimed, rig.served[0]?.claimedAddress], ['[2001:db8::7]:80', '2001:db8::7'])
    socket.destroy()
  })

  it('claims nobody where it is LOCAL, UNKNOWN, unspecified or a Unix path', async (test) => {
    const rig = await openListener(test, listed())
    const headers = [
      localHeader,
      Buffer.from('PROXY UNKNOWN\r\n'),
      version2(0x21, 0),
      version2(0x21, 0x31, Buffer.alloc(216)),
    ]
    for (const header of headers) await assertStillServes(rig, header)
    await assertAllGone(rig, 4)
    assert.ok(rig.served.every((it) => it.claimed === null && it.claimedAddress === null && it.claimedBy === null))
    assert.deepEqual([rig.listener.counters.proxyV1, rig.listener.counters.proxyV2], [1, 3])
    assert.equal(rig.listener.counters.proxyLocal, 4)
  })

  it('is taken off however it is cut, glued to a ClientHello or not', async (test) => {
    const rig = await openListener(test, listed())
    for (const header of [version1Header, checked(tlv(1, 'h2'))]) {
      const bytes = Buffer.concat([header, hello])
      for (let at = 1; at <= header.length + 1; at++) {
        const { socket, received } = await connectRaw(rig)
        await writeSplit(socket, bytes, at)
        await until(() => received().length > 5, `an answer comes to a header cut at ${at}`)
        assert.deepEqual([received()[0], received()[5]], [0x16, 2])
        socket.destroy()
      }
    }
    await until(() => rig.listener.counters.open === 0, 'all are gone')
    assert.equal(rig.listener.counters.proxyMalformed, 0)
  })

  it('that drips byte by byte is taken off, and so is the hello behind it', async (test) => {
    const rig = await openListener(test, listed())
    const { socket, received } = await connectRaw(rig)
    socket.setNoDelay(true)
    for (const byte of Buffer.concat([version2Header, hello])) {
      socket.write(Buffer.from([byte]))
      await turn()
    }
    await until(() => received().length > 5, 'the server hello comes')
    assert.equal(received()[0], 0x16)
    socket.destroy()
  })

  it('stands before plain HTTP too, and what follows it is handed on to the byte', async (test) => {
    const rig = await openPlain(test, listed())
    for (const header of [version1Header, version2Header]) {
      const bytes = Buffer.concat([header, Buffer.from('GET / HTTP/1.1\r\n\r\n')])
      for (const at of [1, header.length - 1, header.length, header.length + 1, bytes.length]) {
        const { socket, received } = await connectRaw(rig)
        await writeSplit(socket, bytes, at)
        const isWhole = (): boolean => received().toString().replaceAll('http/1.1 null ', '').endsWith('\r\n\r\n')
        await until(isWhole, `the request is echoed, cut at ${at}`)
        assert.equal(received().toString().replaceAll('http/1.1 null ', ''), 'GET / HTTP/1.1\r\n\r\n')
        socket.destroy()
      }
    }
    await until(() => rig.listener.counters.open === 0, 'all are gone')
    assert.ok(rig.served.every((it) => it.claimedAddress === '203.0.113.9'))
  })

  it('of the largest size is taken off, and one byte more is refused before it is sent', async (test) => {
    const rig = await openListener(test, listed())
    await assertStillServes(rig, extended(tlv(4, Buffer.alloc(4096 - 15))))
    await refusedAfter(rig, extended(tlv(4, Buffer.alloc(4097 - 15))).subarray(0, 16))
    await assertAllGone(rig, 1)
    assert.deepEqual(
      rig.failures.map((it) => it.reason),
      ['proxy_v2_too_long'],
    )
  })

  it('counts extensions that come twice', async (test) => {
    const rig = await openListener(test, listed())
    await assertStillServes(rig, extended(tlv(1, 'h2'), tlv(1, 'h3')))
    assert.equal(rig.listener.counters.proxyExtensionsIgnored, 1)
  })
})

describe('a hostile header', () => {
  it('that is broken is closed without a word, and told with what is wrong', async (test) => {
    const rig = await openListener(test, listed())
    const broken = [
      [Buffer.from('PROXY TCP4 203.0.113.9 198.51.100.2 54321 65536\r\n'), 'proxy_v1_port'],
      [Buffer.from(`PROXY UNKNOWN ${'x'.repeat(100)}`), 'proxy_v1_line'],
      [version2(0x22, 0x11, Buffer.alloc(12)), 'proxy_v2_command'],
      [spoiled(checked()), 'proxy_v2_checksum'],
      [Buffer.concat([version2Header.subarray(0, 14), Buffer.from([0xff, 0xff])]), 'proxy_v2_too_long'],
    ] as const
    for (const [bytes] of broken) assert.equal((await refusedAfter(rig, bytes)).length, 0)
    await assertStillServes(rig, version2Header)
    await assertAllGone(rig, 1)
    assert.deepEqual(
      rig.failures.map((it) => it.reason),
      broken.map(([, reason]) => reason),
    )
    assert.equal(rig.listener.counters.proxyMalformed, broken.length)
  })

  it('that comes twice is payload the second time: the inner claim is the attacker’s', async (test) => {
    const rig = await openListener(test, listed())
    await refusedAfter(rig, Buffer.concat([version2Header, headerOf('192.0.2.66', 1), hello]))
    await refusedAfter(rig, Buffer.concat([version2Header, version1Header]))
    await assertStillServes(rig, version2Header)
    await assertAllGone(rig, 1)
    assert.deepEqual(
      rig.failures.map((it) => [it.reason, it.connection.claimedAddress]),
      [
        ['not_tls', '203.0.113.9'],
        ['plain_http', '203.0.113.9'],
      ],
    )
  })

  it('that is sound and followed by garbage is a failure of that client', async (test) => {
    const rig = await openListener(test, listed())
    await refusedAfter(rig, Buffer.concat([version1Header, Buffer.from('\0garbage')]))
    await assertStillServes(rig, version1Header)
    await assertAllGone(rig, 1)
    assert.deepEqual(
      rig.failures.map((it) => [it.reason, it.connection.claimed]),
      [['not_tls', claim[0]]],
    )
  })

  it('that stops half-way is ended by the deadline, as is a client silent behind a whole one', async (test) => {
    const rig = await openListener(test, listed(), { handshakeMs: 500 })
    const halves = [version1Header.subarray(0, 20), version2Header.subarray(0, 13), Buffer.from('P')]
    await Promise.all([...halves, version2Header].map((bytes) => refusedAfter(rig, bytes)))
    await assertAllGone(rig, 0)
    assert.deepEqual(
      rig.failures.map((it) => it.reason),
      ['timeout', 'timeout', 'timeout'],
    )
    assert.equal(rig.listener.counters.withoutRequest, 1)
  })

  it('that drips slower than the deadline does not move it: header and hello share one', async (test) => {
    const rig = await openListener(test, listed(), { handshakeMs: 500 })
    const { socket } = await connectRaw(rig)
    const drip = setInterval(() => socket.write(Buffer.from('x')), 20)
    socket.write('PROXY UNKNOWN ')
    await ended(socket)
    clearInterval(drip)
    socket.destroy()
    const late = await connectRaw(rig)
    late.socket.write(version2Header)
    late.socket.write(hello.subarray(0, 20))
    await ended(late.socket)
    late.socket.destroy()
    await assertAllGone(rig, 0)
    assert.equal(rig.failures.length, 2)
  })

  it('that ends within itself is one failure, counted', async (test) => {
    const rig = await openListener(test, listed())
    const { socket } = await connectRaw(rig)
    socket.end(version2Header.subarray(0, 20))
    await ended(socket)
    socket.destroy()
    await assertAllGone(rig, 0)
    assert.deepEqual(
      rig.failures.map((it) => it.reason),
      ['client_gone'],
    )
  })
})

describe('trust', () => {
  it('is in the measured peer: a header from elsewhere is refused, unread, and its absence is fine', async (test) => {
    const rig = await openListener(test, stranger)
    await refusedAfter(rig, version1Header)
    await refusedAfter(rig, Buffer.concat([version2Header, hello]))
    // Told at its signature: what is broken behind it is not looked at.
    await refusedAfter(rig, Buffer.from('PROXY '))
    await assertStillServes(rig, Buffer.alloc(0))
    await assertAllGone(rig, 1)
    assert.deepEqual(
      rig.failures.map((it) => it.reason),
      ['proxy_untrusted', 'proxy_untrusted', 'proxy_untrusted'],
    )
    assert.deepEqual([rig.listener.counters.proxyUntrusted, rig.listener.counters.proxyAbsent], [3, 0])
    assert.equal(rig.served[0]?.claimed, null)
  })

  it('keeps headers of strangers from plain listeners too, where "P" may still become a request', async (test) => {
    const rig = await openPlain(test, stranger)
    await refusedAfter(rig, version1Header)
    const { socket, received } = await connectRaw(rig)
    await writeSplit(socket, Buffer.from('POST / HTTP/1.1\r\n\r\n'), 1)
    await until(() => received().toString().endsWith('\r\n\r\n'), 'the request is echoed')
    assert.equal(received().toString(), 'http/1.1 null POST / HTTP/1.1\r\n\r\n')
    socket.destroy()
    await assertAllGone(rig, 1)
    assert.equal(rig.listener.counters.proxyUntrusted, 1)
  })

  it('does not extend to versions that are not allowed', async (test) => {
    const rig = await openListener(test, listed({ versions: [2] }))
    await refusedAfter(rig, version1Header)
    await assertStillServes(rig, version2Header)
    await assertAllGone(rig, 1)
    assert.deepEqual(
      rig.failures.map((it) => it.reason),
      ['proxy_version'],
    )
    assert.equal(rig.listener.counters.proxyWrongVersion, 1)
  })

  it('follows a reload at the next connection', async (test) => {
    const rig = await openListener(test, stranger)
    await refusedAfter(rig, version2Header)
    rig.settings = { ...rig.settings, proxyHeader: listed() }
    await assertStillServes(rig, version2Header)
    rig.settings = { ...rig.settings, proxyHeader: undefined }
    await assertStillServes(rig, Buffer.alloc(0))
    await assertAllGone(rig, 2)
  })
})

describe('the mode', () => {
  it('"optional" passes a hello on untouched, and both kinds are counted', async (test) => {
    const rig = await openListener(test, listed({ mode: 'optional' }))
    await assertStillServes(rig, Buffer.alloc(0))
    await assertStillServes(rig, version2Header)
    await assertAllGone(rig, 2)
    assert.deepEqual(
      rig.served.map((it) => it.claimed),
      [null, claim[0]],
    )
    assert.deepEqual(counted(rig), { accepted: 2, proxyAbsent: 1, proxyV2: 1 })
  })

  it('"require" closes what comes without a header, at its first byte', async (test) => {
    const rig = await openListener(test, listed())
    for (const bytes of [hello, hello.subarray(0, 1), Buffer.from('GET / HTTP/1.1\r\n\r\n')]) {
      assert.equal((await refusedAfter(rig, bytes)).length, 0)
    }
    await assertStillServes(rig, version2Header)
    await assertAllGone(rig, 1)
    assert.deepEqual(
      rig.failures.map((it) => it.reason),
      ['proxy_missing', 'proxy_missing', 'proxy_missing'],
    )
    assert.equal(rig.listener.counters.proxyMissing, 3)
  })

  it('"require" says nothing before the header, also on a plain listener', async (test) => {
    const rig = await openRig(test, { settings: { tls: false, proxyHeader: listed() }, greeting: 'hello' })
    const { socket, received } = await connectRaw(rig)
    socket.write(version2Header.subarray(0, 15))
    await until(() => rig.listener.counters.open === 1, 'it is accepted')
    await turn()
    assert.deepEqual([received().length, rig.served.length], [0, 0])
    socket.write(version2Header.subarray(15))
    await until(() => received().toString() === 'hello', 'it is greeted')
    socket.destroy()
  })
})

describe('connections that ask for nothing', () => {
  /** What load balancers do all day to see whether somebody is there. */
  const checks: Readonly<Record<string, (rig: Rig) => Promise<unknown>>> = {
    'a bare connect': async (rig) => (await connectRaw(rig)).socket.resetAndDestroy(),
    'a LOCAL header and an end': async (rig) => (await connectRaw(rig)).socket.end(localHeader),
    'a LOCAL header and a reset': async (rig) => {
      const { socket } = await connectRaw(rig)
      socket.write(localHeader, () => socket.resetAndDestroy())
    },
    'what AWS sends': async (rig) => {
      const announced = Buffer.from('030004bce5951f04004a', 'hex')
      ;(await connectRaw(rig)).socket.end(version2(0x20, 0x11, announced, Buffer.alloc(74)))
    },
    'UNKNOWN and an end': async (rig) => (await connectRaw(rig)).socket.end('PROXY UNKNOWN\r\n'),
    'a client’s header and an end': async (rig) => (await connectRaw(rig)).socket.end(version2Header),
  }

  it('write no line, thousands of them, with a header or without', async (test) => {
    const rig = await openListener(test, listed({ mode: 'optional' }))
    const rounds = 500
    for (let round = 0; round < rounds; round++) await Promise.all(Object.values(checks).map((check) => check(rig)))
    const total = rounds * Object.keys(checks).length
    await until(() => rig.listener.counters.accepted === total, 'all were accepted')
    await assertAllGone(rig, 0)
    assert.deepEqual(rig.failures, [])
    assert.equal(rig.listener.counters.withoutRequest, total)
  })

  it('write no line after a whole handshake behind a header', async (test) => {
    const rig = await openListener(test, listed())
    for (let round = 1; round <= 50; round++) {
      const socket = await connectBehind(rig, localHeader)
      await until(() => rig.served.length === round, 'the handshake is over on our side too')
      socket.destroy()
    }
    await assertAllGone(rig, 0)
    assert.deepEqual(rig.failures, [])
    assert.equal(rig.listener.counters.withoutRequest, 50)
  })

  it('are closed by a drain even behind their header', async (test) => {
    const rig = await openListener(test, listed())
    const { socket } = await connectRaw(rig)
    socket.write(version2Header)
    await until(() => rig.listener.counters.proxyV2 === 1, 'the header is read')
    const closed = rig.listener.close(60_000)
    await ended(socket)
    socket.destroy()
    await closed
    assert.deepEqual(rig.failures, [])
  })
})

describe('ten thousand connections', () => {
  it('each have the claim of their own header and no other, over a few ports that are used again', async (test) => {
    const rig = await openPlain(test, listed({ mode: 'optional' }))
    const claims = new Map<string, string | null>()
    const ports: (number | undefined)[] = Array.from({ length: 50 }, () => undefined)
    for (let batch = 0; batch < 200; batch++) {
      const knocks = ports.map((port, index) => knock({ rig, port, number: batch * ports.length + index, claims }))
      for (const [index, port] of (await Promise.all(knocks)).entries()) ports[index] = port
    }
    await assertAllGone(rig, 10_000)
    assert.equal(claims.size, 10_000)
    for (const { id, claimed } of rig.served) assert.equal(claims.get(id), claimed)
    assert.ok(new Set(rig.served.map(({ peer }) => peer)).size < 5000)
    assert.deepEqual(rig.failures, [])
  })
})

interface Knock {
  readonly rig: Rig
  /** That of a connection before, where there was one. */
  readonly port: number | undefined
  readonly number: number
  readonly claims: Map<string, string | null>
}

/** One connection, its port; every third comes without a header and must not inherit the claim of the port's last user. */
async function knock({ rig, port, number, claims }: Knock): Promise<number | undefined> {
  const socket = await connectFrom(rig, port)
  const address = `10.${number >> 8}.0.${number & 255}`
  const isClaiming = number % 3 !== 0
  if (isClaiming) socket.write(headerOf(address, 1 + number))
  await ask(socket, 'x')
  const { localPort } = socket
  const served = rig.served.findLast((it) => it.peer === `127.0.0.1:${localPort}`)
  assert.ok(served !== undefined && !claims.has(served.id))
  claims.set(served.id, isClaiming ? `${address}:${1 + number}` : null)
  const closed = once(socket, 'close')
  socket.resetAndDestroy()
  await closed
  return localPort
}

/** From that port, unless somebody else has taken it since. */
async function connectFrom(rig: Rig, localPort: number | undefined): Promise<Socket> {
  const socket = net.connect({ host: '127.0.0.1', port: rig.port, ...(localPort === undefined ? {} : { localPort }) })
  try {
    await once(socket, 'connect')
    return socket.on('error', () => {})
  } catch {
    return await connectFrom(rig, undefined)
  }
}
