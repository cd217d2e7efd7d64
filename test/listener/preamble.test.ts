// What comes before TLS, as real and hostile clients send it: in slivers, as another protocol, never, or not to the end.
import assert from 'node:assert/strict'
import { before, describe, it } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import type { Rig, Site } from './rig.js'
import { assertAllGone, connectRaw, ended, helloBytes, makeSite, openRig, until } from './rig.js'

let site: Site
let hello: Buffer
before(async () => {
  site = await makeSite('site-a.test')
  hello = await helloBytes({ servername: 'site-a.test' })
})

const serverHello = (bytes: Buffer): boolean => bytes[0] === 0x16 && bytes[5] === 2

/** Cuts the handshake message of one record into records of so many bytes. */
function inRecords(bytes: Buffer, recordBytes: number): Buffer {
  const records: Buffer[] = []
  for (let at = 5; at < bytes.length; at += recordBytes) {
    const body = bytes.subarray(at, at + recordBytes)
    records.push(Buffer.from([0x16, 3, 1, body.length >> 8, body.length & 0xff]), body)
  }
  return Buffer.concat(records)
}

/** Waits until the listener has read what was written before: a later connection has come and gone. */
async function haveBeenRead(rig: Rig): Promise<void> {
  const { socket } = await connectRaw(rig)
  socket.end()
  await ended(socket)
}

describe('a ClientHello', () => {
  it('that drips byte by byte is answered', async (test) => {
    const rig = await openRig(test, { sites: { 'site-a.test': site } })
    const { socket, received } = await connectRaw(rig)
    socket.setNoDelay(true)
    for (const byte of hello) {
      socket.write(Buffer.from([byte]))
      await turn()
    }
    await until(() => serverHello(received()), 'the server hello comes')
    socket.destroy()
    await assertAllGone(rig, 0)
  })

  it('that is cut into records, also across segments, is answered', async (test) => {
    const rig = await openRig(test, { sites: { 'site-a.test': site } })
    const { socket, received } = await connectRaw(rig)
    const records = inRecords(hello, 40)
    socket.write(records.subarray(0, 61))
    await turn()
    socket.write(records.subarray(61))
    await until(() => serverHello(received()), 'the server hello comes')
    socket.destroy()
    await assertAllGone(rig, 0)
  })

  it('that is malformed, or too large, gets a decode_error alert', async (test) => {
    const rig = await openRig(test, { sites: { 'site-a.test': site } })
    const shortened = Buffer.from(hello)
    shortened.writeUInt16BE(hello.readUInt16BE(7) - 1, 7)
    const tooLarge = Buffer.from([0x16, 3, 1, 0x40, 0, 1, 1, 0, 0])
    for (const bytes of [shortened, tooLarge]) {
      const { socket, received } = await connectRaw(rig)
      socket.end(bytes)
      await ended(socket)
      assert.deepEqual([...received()], [0x15, 3, 3, 0, 2, 2, 50])
    }
    await assertAllGone(rig, 0)
    assert.deepEqual(
      rig.failures.map((it) => it.reason),
      ['malformed_hello', 'hello_too_large'],
    )
  })

  it('for a name that no context serves, or for none, gets an unrecognized_name alert and a line', async (test) => {
    const rig = await openRig(test, { sites: { 'site-a.test': site } })
    for (const servername of ['site-b.test', '']) {
      const { socket, received } = await connectRaw(rig)
      socket.end(await helloBytes({ servername }))
      await ended(socket)
      assert.deepEqual([...received()], [0x15, 3, 3, 0, 2, 2, 112])
    }
    await assertAllGone(rig, 0)
    const told = rig.failures.map((it) => [it.reason, it.connection.sni, it.connection.tlsVersion])
    assert.deepEqual(told, [
      ['unrecognized_name', 'site-b.test', null],
      ['unrecognized_name', null, null],
    ])
  })

  it('that is refused is closed on our side even where the client stays', async (test) => {
    const rig = await openRig(test)
    const { socket } = await connectRaw(rig)
    socket.write(hello)
    await ended(socket)
    await assertAllGone(rig, 0)
    assert.equal(rig.listener.counters.handshakesFailed, 1)
    socket.destroy()
  })
})

describe('a client that speaks something else', () => {
  it('in plain HTTP is told so in plain HTTP, in one piece or byte by byte', async (test) => {
    const rig = await openRig(test)
    for (const pieces of [['GET / HTTP/1.1\r\nHost: site-a.test\r\n\r\n'], [...'DELETE /x HTTP/1.1\r\n']]) {
      const { socket, received } = await connectRaw(rig)
      socket.setNoDelay(true)
      for (const piece of pieces) {
        socket.write(piece)
        await turn()
      }
      socket.end()
      await ended(socket)
      assert.match(received().toString(), /^HTTP\/1\.1 400 Bad Request\r\n.*\r\nconnection: close\r\n\r\n.*HTTPS.*\n$/s)
    }
    await assertAllGone(rig, 0)
    assert.deepEqual(
      rig.failures.map((it) => it.reason),
      ['plain_http', 'plain_http'],
    )
  })

  it('reads the whole 400 although a body of its request is still on the way', async (test) => {
    const rig = await openRig(test)
    const { socket, received } = await connectRaw(rig)
    socket.write('POST / HTTP/1.1\r\nContent-Length: 1000000\r\n\r\n')
    socket.end(Buffer.alloc(1_000_000))
    await ended(socket)
    assert.match(received().toString(), /^HTTP\/1\.1 400 .*HTTPS.*\n$/s)
    await assertAllGone(rig, 0)
  })

  it('is closed without a word where it is neither TLS nor HTTP', async (test) => {
    const rig = await openRig(test)
    const garbage = [
      Buffer.from([0]),
      Buffer.from('SSH-2.0-x\r\n'),
      Buffer.from([0x16, 2]),
      Buffer.from('A'.repeat(17)),
    ]
    for (const bytes of garbage) {
      const { socket, received } = await connectRaw(rig)
      socket.write(bytes)
      await ended(socket)
      assert.equal(received().length, 0)
      socket.destroy()
    }
    await assertAllGone(rig, 0)
    assert.deepEqual(
      rig.failures.map((it) => it.reason),
      garbage.map(() => 'not_tls'),
    )
  })
})

describe('a client that leaves', () => {
  it('without a byte is counted and writes no line', async (test) => {
    const rig = await openRig(test)
    const polite = await connectRaw(rig)
    polite.socket.end()
    const rude = await connectRaw(rig)
    rude.socket.resetAndDestroy()
    await until(() => rig.listener.counters.accepted === 2, 'both were accepted')
    await assertAllGone(rig, 0)
    assert.equal(rig.listener.counters.withoutRequest, 2)
    assert.deepEqual(rig.failures, [])
  })

  it('within its hello, by an end or a reset, is one failure', async (test) => {
    const rig = await openRig(test, { sites: { 'site-a.test': site } })
    for (const leave of ['end', 'resetAndDestroy'] as const) {
      const { socket } = await connectRaw(rig)
      socket.write(hello.subarray(0, 100))
      await haveBeenRead(rig)
      socket[leave]()
    }
    await assertAllGone(rig, 0)
    assert.deepEqual(
      rig.failures.map((it) => [it.reason, it.connection.sni]),
      [
        ['client_gone', null],
        ['client_gone', null],
      ],
    )
  })

  it('right behind its hello is one failure', async (test) => {
    const rig = await openRig(test, { sites: { 'site-a.test': site }, settings: { handshakeMs: 60_000 } })
    const { socket } = await connectRaw(rig)
    socket.end(hello)
    await ended(socket)
    await assertAllGone(rig, 0)
    const told = rig.failures.map((it) => [it.reason, it.connection.sni])
    assert.deepEqual(told, [['client_gone', 'site-a.test']])
  })
})

describe('the deadline of a handshake', () => {
  it('ends a client that stays silent, without a line', async (test) => {
    const rig = await openRig(test, { settings: { handshakeMs: 50 } })
    const { socket } = await connectRaw(rig)
    await ended(socket)
    socket.destroy()
    await assertAllGone(rig, 0)
    assert.deepEqual([rig.failures, rig.listener.counters.withoutRequest], [[], 1])
  })

  it('ends a client that stops within its hello, within an HTTP method, or before its Finished', async (test) => {
    const rig = await openRig(test, { sites: { 'site-a.test': site }, settings: { handshakeMs: 50 } })
    for (const bytes of [hello.subarray(0, 10), Buffer.from('GET'), hello]) {
      const { socket } = await connectRaw(rig)
      socket.write(bytes)
      await ended(socket)
      socket.destroy()
    }
    await assertAllGone(rig, 0)
    assert.deepEqual(
      rig.failures.map((it) => it.reason),
      ['timeout', 'timeout', 'timeout'],
    )
  })

  it('is shortened by a reload for those who already wait', async (test) => {
    const rig = await openRig(test, { settings: { handshakeMs: 3_600_000 } })
    const { socket } = await connectRaw(rig)
    await until(() => rig.listener.counters.open === 1, 'the client is accepted')
    rig.settings = { ...rig.settings, handshakeMs: 10 }
    await ended(socket)
    socket.destroy()
    await assertAllGone(rig, 0)
  })
})
