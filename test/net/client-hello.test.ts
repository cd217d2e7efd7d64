// The ClientHello reader against real hellos of node:tls and openssl, and against bytes nobody should send.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import net from 'node:net'
import { describe, it } from 'node:test'
import tls from 'node:tls'
import fc from 'fast-check'
import type { ClientHello } from '../../src/net/client-hello.js'
import { clientHelloBytesMax, readClientHello } from '../../src/net/client-hello.js'

/** The bytes a node:tls client sends first. */
async function captureHello(options: tls.ConnectionOptions): Promise<Buffer> {
  const server = net.createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as net.AddressInfo
  const client = tls.connect({ host: '127.0.0.1', port, rejectUnauthorized: false, ...options })
  client.on('error', () => {})
  const [socket] = (await once(server, 'connection')) as [net.Socket]
  const chunks: Buffer[] = []
  for await (const chunk of socket) {
    chunks.push(chunk)
    if (readClientHello(Buffer.concat(chunks)).kind !== 'incomplete') break
  }
  client.destroy()
  server.close()
  return Buffer.concat(chunks)
}

function helloOf(bytes: Buffer): ClientHello {
  const verdict = readClientHello(bytes)
  assert.equal(verdict.kind, 'hello')
  assert.ok('hello' in verdict)
  return verdict.hello
}

function kindOf(bytes: Buffer): string {
  return readClientHello(bytes).kind
}

const uint16 = (value: number): Buffer => Buffer.from([value >> 8, value & 0xff])
const vector16 = (...parts: Buffer[]): Buffer => {
  const body = Buffer.concat(parts)
  return Buffer.concat([uint16(body.length), body])
}
const vector8 = (...parts: Buffer[]): Buffer => {
  const body = Buffer.concat(parts)
  return Buffer.concat([Buffer.from([body.length]), body])
}
const numbers = (...values: number[]): Buffer => Buffer.concat(values.map(uint16))
const record = (body: Buffer): Buffer => Buffer.concat([Buffer.from([0x16, 3, 1]), vector16(body)])
const extension = (type: number, body: Buffer): Buffer => Buffer.concat([uint16(type), vector16(body)])
const hostName = (name: string | Buffer): Buffer => Buffer.concat([Buffer.from([0]), vector16(Buffer.from(name))])
const serverName = (...names: (string | Buffer)[]): Buffer => extension(0, vector16(...names.map(hostName)))

interface HelloParts {
  readonly extensions?: readonly Buffer[] | undefined
  readonly cipherSuites?: Buffer
  readonly sessionId?: Buffer
  readonly compression?: Buffer
  readonly after?: Buffer
}

/** A handshake message of type ClientHello, sound unless a part says otherwise. */
function helloMessage(parts: HelloParts = {}): Buffer {
  const body = Buffer.concat([
    Buffer.from([3, 3]),
    Buffer.alloc(32, 7),
    parts.sessionId ?? vector8(),
    parts.cipherSuites ?? vector16(numbers(0xc02b)),
    parts.compression ?? vector8(Buffer.from([0])),
    parts.extensions === undefined ? Buffer.alloc(0) : vector16(...parts.extensions),
    parts.after ?? Buffer.alloc(0),
  ])
  return Buffer.concat([Buffer.from([1, 0]), uint16(body.length), body])
}

function withExtensions(...extensions: Buffer[]): Buffer {
  return record(helloMessage({ extensions }))
}

/** The same handshake message cut into records of the given number of bytes. */
function inRecords(message: Buffer, recordBytes: number): Buffer {
  const records: Buffer[] = []
  for (let at = 0; at < message.length; at += recordBytes) records.push(record(message.subarray(at, at + recordBytes)))
  return Buffer.concat(records)
}

/** What a reader says that is asked again after every byte: the first verdict other than incomplete. */
function verdictByteByByte(bytes: Buffer): ReturnType<typeof readClientHello> {
  for (let length = 0; length < bytes.length; length++) {
    const verdict = readClientHello(bytes.subarray(0, length))
    if (verdict.kind !== 'incomplete') return verdict
    assert.ok(verdict.bytesNeeded > length, `asks for ${verdict.bytesNeeded} bytes while holding ${length}`)
  }
  return readClientHello(bytes)
}

describe('a real ClientHello', () => {
  it('of node:tls is read with its name, protocols and algorithms', async () => {
    const hello = helloOf(await captureHello({ servername: 'site-a.test', ALPNProtocols: ['h2', 'http/1.1'] }))
    assert.equal(hello.serverName, 'site-a.test')
    assert.deepEqual(hello.alpn, ['h2', 'http/1.1'])
    assert.ok(hello.signatureAlgorithms?.includes(0x0403))
    assert.ok(hello.cipherSuites.includes(0x1301))
    assert.deepEqual([hello.supportsTls13, hello.supportsEcdsa, hello.supportsRsa], [true, true, true])
  })

  it('of TLS 1.2 alone does not claim TLS 1.3', async () => {
    const hello = helloOf(await captureHello({ servername: 'a.test', maxVersion: 'TLSv1.2' }))
    assert.deepEqual([hello.supportsTls13, hello.supportsEcdsa, hello.supportsRsa], [false, true, true])
  })

  it('without a server name has none', async () => {
    assert.equal(helloOf(await captureHello({})).serverName, undefined)
  })

  for (const maxVersion of ['TLSv1.2', 'TLSv1.3'] as const) {
    it(`of a client with RSA signatures alone supports RSA alone, at most ${maxVersion}`, async () => {
      const hello = helloOf(await captureHello({ maxVersion, sigalgs: 'RSA-PSS+SHA256:RSA+SHA256' }))
      assert.deepEqual([hello.supportsEcdsa, hello.supportsRsa], [false, true])
    })

    it(`of a client with ECDSA signatures alone supports ECDSA, at most ${maxVersion}`, async () => {
      const hello = helloOf(
        await captureHello({
          maxVersion,
          sigalgs: 'ECDSA+SHA256',
          ciphers: 'ECDHE-ECDSA-AES128-GCM-SHA256:TLS_AES_128_GCM_SHA256',
        }),
      )
      assert.deepEqual([hello.supportsEcdsa, hello.supportsRsa], [true, false])
    })
  }

  it('of TLS 1.2 with suites of one key supports that key, whatever it can verify', async () => {
    const rsa = helloOf(await captureHello({ maxVersion: 'TLSv1.2', ciphers: 'ECDHE-RSA-AES128-GCM-SHA256' }))
    assert.deepEqual([rsa.supportsEcdsa, rsa.supportsRsa], [false, true])
    const ecdsa = helloOf(await captureHello({ maxVersion: 'TLSv1.2', ciphers: 'ECDHE-ECDSA-AES128-GCM-SHA256' }))
    assert.deepEqual([ecdsa.supportsEcdsa, ecdsa.supportsRsa], [true, false])
  })

  it('gets the same verdict byte by byte and in records of one byte as in one piece', async () => {
    const whole = await captureHello({ servername: 'site-a.test', ALPNProtocols: ['h2'] })
    const expected = readClientHello(whole)
    assert.equal(expected.kind, 'hello')
    assert.deepEqual(verdictByteByByte(whole), expected)
    const slivers = inRecords(whole.subarray(5), 1)
    assert.deepEqual(readClientHello(slivers), expected)
    assert.deepEqual(verdictByteByByte(slivers), expected)
  })
})

describe('the server name', () => {
  it('is compared without case and trailing dot', () => {
    assert.equal(helloOf(withExtensions(serverName('SITE-A.Test.'))).serverName, 'site-a.test')
  })

  it('may hold underscores, digits and as many characters as a name can', () => {
    const longest = `${'a'.repeat(63)}.${'b'.repeat(63)}.${'c'.repeat(63)}.${'d'.repeat(61)}`
    for (const name of ['_dmarc.a_b.test', '127.0.0.1', 'localhost', longest]) {
      assert.equal(helloOf(withExtensions(serverName(name))).serverName, name)
    }
  })

  it('counts as missing where no site could have it', () => {
    const tooLong = `${'a'.repeat(63)}.${'b'.repeat(63)}.${'c'.repeat(63)}.${'d'.repeat(62)}`
    const names = ['.', 'a..test', '.test', 'a b.test', '::1', 'a.test\0', 'ä.test', '*.test', 'a.test:443', tooLong]
    for (const name of [...names, `${'a'.repeat(64)}.test`, 'a.test..', 'a.test\n']) {
      assert.equal(helloOf(withExtensions(serverName(name))).serverName, undefined, JSON.stringify(name))
    }
  })

  it('given twice, in one extension or in two, is malformed', () => {
    assert.equal(kindOf(withExtensions(serverName('a.test', 'b.test'))), 'malformed')
    assert.equal(kindOf(withExtensions(serverName('a.test'), serverName('a.test'))), 'malformed')
  })

  it('that is empty, of another type, or in an empty list is malformed', () => {
    assert.equal(kindOf(withExtensions(serverName(''))), 'malformed')
    assert.equal(kindOf(withExtensions(extension(0, vector16()))), 'malformed')
    assert.equal(kindOf(withExtensions(extension(0, Buffer.alloc(0)))), 'malformed')
    assert.equal(
      kindOf(withExtensions(extension(0, vector16(Buffer.from([1]), vector16(Buffer.from('a')))))),
      'malformed',
    )
  })
})

describe('a ClientHello that is not sound', () => {
  it('is accepted without extensions, as TLS 1.2 allows', () => {
    const hello = helloOf(record(helloMessage()))
    assert.deepEqual([hello.serverName, hello.alpn, hello.signatureAlgorithms], [undefined, [], undefined])
    assert.deepEqual([hello.supportsEcdsa, hello.supportsRsa], [true, false])
  })

  it('is malformed where a length disagrees with what is there', () => {
    const cases: Record<string, Buffer> = {
      'bytes after the extensions': record(helloMessage({ extensions: [], after: Buffer.from([0]) })),
      'extensions longer than the message': record(helloMessage({ after: Buffer.from([0, 9, 0, 0]) })),
      'an odd cipher suite list': record(helloMessage({ cipherSuites: vector16(Buffer.from([1, 2, 3])) })),
      'no cipher suites': record(helloMessage({ cipherSuites: vector16() })),
      'no compression method': record(helloMessage({ compression: vector8() })),
      'a session id of 33 bytes': record(helloMessage({ sessionId: vector8(Buffer.alloc(33)) })),
      'an extension cut short': withExtensions(Buffer.from([0, 16, 0, 9, 0])),
      'bytes after the name list': withExtensions(
        extension(0, Buffer.concat([vector16(hostName('a')), Buffer.from([0])])),
      ),
      'an empty protocol name': withExtensions(extension(16, vector16(vector8(Buffer.from('h2')), vector8()))),
      'no protocols': withExtensions(extension(16, vector16())),
      'odd signature algorithms': withExtensions(extension(13, vector16(Buffer.from([4, 3, 5])))),
      'odd versions': withExtensions(extension(43, vector8(Buffer.from([3, 4, 3])))),
      'an empty message': record(Buffer.from([1, 0, 0, 0])),
    }
    for (const [name, bytes] of Object.entries(cases)) assert.equal(kindOf(bytes), 'malformed', name)
  })

  it('is accepted with a session id of 32 bytes and unknown extensions', () => {
    const parts = {
      sessionId: vector8(Buffer.alloc(32)),
      extensions: [extension(0x2a2a, Buffer.alloc(3)), extension(9, Buffer.alloc(0))],
    }
    assert.equal(kindOf(record(helloMessage(parts))), 'hello')
  })

  it('is malformed with any extension twice', () => {
    assert.equal(kindOf(withExtensions(extension(9, Buffer.alloc(1)), extension(9, Buffer.alloc(1)))), 'malformed')
  })

  it('is malformed where another message or record stands in its place', () => {
    const message = helloMessage()
    assert.equal(kindOf(record(Buffer.from([2, 0, 0, 1, 0]))), 'malformed')
    const interrupted = Buffer.concat([record(message.subarray(0, 9)), Buffer.from([0x15, 3, 3, 0, 2, 1, 0])])
    assert.equal(kindOf(interrupted), 'malformed')
    assert.equal(kindOf(Buffer.from([0x16, 3, 1, 0, 0])), 'malformed')
  })

  it('is malformed with a record above 2^14 bytes, and incomplete just inside', () => {
    assert.equal(kindOf(Buffer.from([0x16, 3, 1, 0x40, 0x01])), 'malformed')
    assert.equal(kindOf(Buffer.from([0x16, 3, 1, 0x40, 0x00])), 'incomplete')
  })
})

describe('the bound on a ClientHello', () => {
  /** A sound hello of exactly so many bytes on the wire, in records of up to 16 KiB. */
  function helloOfWireBytes(wireBytes: number): Buffer {
    const records = Math.ceil(wireBytes / (16_384 + 5))
    const padding = wireBytes - records * 5 - helloMessage({ extensions: [extension(21, Buffer.alloc(0))] }).length
    return inRecords(helloMessage({ extensions: [extension(21, Buffer.alloc(padding))] }), 16_384)
  }

  it('is reached by a hello of exactly that many bytes on the wire', () => {
    const bytes = helloOfWireBytes(clientHelloBytesMax)
    assert.equal(bytes.length, clientHelloBytesMax)
    assert.equal(kindOf(bytes), 'hello')
  })

  it('refuses one byte more, and a longer announcement before its bytes come', () => {
    assert.equal(kindOf(helloOfWireBytes(clientHelloBytesMax + 1)), 'too_large')
    assert.equal(kindOf(Buffer.from([0x16, 3, 1, 0x40, 0, 1, 1, 0, 0])), 'too_large')
  })

  it('ends a hello in slivers that never ends', () => {
    const endless = inRecords(Buffer.concat([Buffer.from([1, 0, 0x70, 0]), Buffer.alloc(0x7000)]), 1)
    assert.equal(kindOf(endless), 'too_large')
  })
})

describe('bytes of another protocol', () => {
  it('are told at the first byte that differs', () => {
    assert.equal(kindOf(Buffer.from('G')), 'not_tls')
    assert.equal(kindOf(Buffer.from([0x80])), 'not_tls')
    assert.equal(kindOf(Buffer.from([0x16])), 'incomplete')
    assert.equal(kindOf(Buffer.from([0x16, 2])), 'not_tls')
    assert.equal(kindOf(Buffer.from([0x16, 3])), 'incomplete')
    assert.equal(kindOf(Buffer.alloc(0)), 'incomplete')
  })
})

describe('any bytes', () => {
  const message = helloMessage({
    extensions: [
      serverName('site-a.test'),
      extension(16, vector16(vector8(Buffer.from('h2')))),
      extension(13, vector16(numbers(0x0403))),
    ],
  })
  const mutated = fc
    .tuple(
      fc.array(fc.tuple(fc.nat(message.length - 1), fc.nat(255)), { maxLength: 4 }),
      fc.integer({ min: 1, max: message.length }),
      fc.nat(message.length + 200),
    )
    .map(([changes, recordBytes, length]) => {
      const copy = Buffer.from(message)
      for (const [at, value] of changes) copy[at] = value
      return inRecords(copy, recordBytes).subarray(0, length)
    })
  const noise = fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes))
  const headed = noise.map((bytes) => Buffer.concat([Buffer.from([0x16, 3, 1]), bytes]))

  it('never make the reader throw, and mean the same byte by byte as whole', () => {
    fc.assert(
      fc.property(fc.oneof(mutated, noise, headed), (bytes) => {
        assert.deepEqual(verdictByteByByte(bytes), readClientHello(bytes))
      }),
      { numRuns: 500 },
    )
  })

  it('in records of any length mean the same as in one', () => {
    const expected = readClientHello(record(message))
    fc.assert(
      fc.property(fc.integer({ min: 1, max: message.length }), (recordBytes) => {
        assert.deepEqual(readClientHello(inRecords(message, recordBytes)), expected)
      }),
    )
  })
})
