// PROXY headers with the verdict of a strict receiver; for the tests of the codec and of the listener.
import { crc32c } from '../../src/net/crc32c.js'
import { encodeProxyV2 } from '../../src/net/proxy-protocol-v2.js'

/** What a receiver makes of a header: it names a client, it is sound and names none, it is no header, or it is broken. */
export type Expected = { readonly claims: string } | 'claims nobody' | 'absent' | 'malformed'

export interface Vector {
  readonly name: string
  readonly bytes: Buffer
  readonly expected: Expected
}

const signature = Buffer.from('0d0a0d0a000d0a515549540a', 'hex')
const ipv4Block = Buffer.from('cb007109c6336402d43101bb', 'hex')
const ipv6Block = Buffer.from('20010db800000000000000000000000120010db8000000000000000000000002d43101bb', 'hex')
const unixBlock = Buffer.concat([Buffer.from('/run/client.sock'), Buffer.alloc(200)])
const client = { claims: '203.0.113.9:54321>198.51.100.2:443' }
const client6 = { claims: '[2001:db8::1]:54321>[2001:db8::2]:443' }
const nobody = 'claims nobody'
const malformed = 'malformed'

/** A version 2 header with a length that fits. */
export function version2(byte12: number, byte13: number, ...rest: readonly Buffer[]): Buffer {
  const body = Buffer.concat(rest)
  return Buffer.concat([signature, Buffer.from([byte12, byte13, body.length >> 8, body.length & 0xff]), body])
}

/** The header of a client at an address, from a forwarder at 198.51.100.2. */
export function headerOf(address: string, port: number): Buffer {
  return encodeProxyV2({ source: { address, port }, destination: { address: '198.51.100.2', port: 443 } })
}

export function tlv(type: number, value: Buffer | string): Buffer {
  const bytes = Buffer.from(value)
  return Buffer.concat([Buffer.from([type, bytes.length >> 8, bytes.length & 0xff]), bytes])
}

/** A header of an IPv4 client with these extensions. */
export function extended(...tlvs: readonly Buffer[]): Buffer {
  return version2(0x21, 0x11, ipv4Block, ...tlvs)
}

/** The same with a checksum at the end. */
export function checked(...tlvs: readonly Buffer[]): Buffer {
  const header = extended(...tlvs, tlv(3, Buffer.alloc(4)))
  header.writeUInt32BE(crc32c(header), header.length - 4)
  return header
}

/** A header whose last byte is another. */
export function spoiled(header: Buffer): Buffer {
  const copy = Buffer.from(header)
  copy[copy.length - 1] = (copy[copy.length - 1] as number) ^ 1
  return copy
}

/** The value of an SSL extension: flags, verification result, parts. */
export function tlsValue(flags: number, verify: number, ...parts: readonly Buffer[]): Buffer {
  return Buffer.concat([
    Buffer.from([flags, verify >>> 24, (verify >> 16) & 255, (verify >> 8) & 255, verify & 255]),
    ...parts,
  ])
}

function line(text: string, expected: Expected): Vector {
  return { name: `v1 ${JSON.stringify(text)}`, bytes: Buffer.from(text, 'latin1'), expected }
}

function tcp4(fields: string, expected: Expected = malformed): Vector {
  return line(`PROXY TCP4 ${fields}\r\n`, expected)
}

function tcp6(fields: string, expected: Expected = malformed): Vector {
  return line(`PROXY TCP6 ${fields}\r\n`, expected)
}

const ffff = 'ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff'

const lines: readonly Vector[] = [
  tcp4('203.0.113.9 198.51.100.2 54321 443', client),
  tcp4('255.255.255.255 255.255.255.255 65535 65535', { claims: '255.255.255.255:65535>255.255.255.255:65535' }),
  tcp4('203.0.113.9 198.51.100.2 0 0', { claims: '203.0.113.9:0>198.51.100.2:0' }),
  tcp6('2001:db8::1 2001:db8::2 54321 443', client6),
  tcp6('2001:DB8:0:0:0:0:0:1 2001:db8::2 54321 443', client6),
  tcp6('::ffff:203.0.113.9 ::ffff:198.51.100.2 54321 443', client),
  tcp6(`${ffff} ${ffff} 65535 65535`, { claims: `[${ffff}]:65535>[${ffff}]:65535` }),
  // What nginx writes for an IPv6 client that reaches the next hop over IPv4.
  tcp6('2001:db8::1 127.0.0.1 54321 18104', { claims: '[2001:db8::1]:54321>127.0.0.1:18104' }),
  line('PROXY UNKNOWN\r\n', nobody),
  line(`PROXY UNKNOWN ${ffff} ${ffff} 65535 65535\r\n`, nobody),
  line('PROXY UNKNOWN  any thing \r\n', nobody),
  line(`PROXY UNKNOWN ${'x'.repeat(107 - 16)}\r\n`, nobody),
  line(`PROXY UNKNOWN ${'x'.repeat(108 - 16)}\r\n`, malformed),
  line('PROXY UNKNOWN \x00\r\n', malformed),
  line('PROXY UNKNOWN \xe9\r\n', malformed),
  line('PROXY UNKNOWNX\r\n', malformed),
  line('PROXY unknown\r\n', malformed),
  line('PROXY \r\n', malformed),
  line('PROXY  TCP4 203.0.113.9 198.51.100.2 54321 443\r\n', malformed),
  line('PROXY TCP4\r\n', malformed),
  line('PROXY TCP4 203.0.113.9 198.51.100.2 54321 443\n', malformed),
  line('PROXY TCP4 203.0.113.9 198.51.100.2 54321 443\rX', malformed),
  line('PROXY TCP4 203.0.113.9\n198.51.100.2 54321 443\r\n', malformed),
  line('PROXY UDP4 203.0.113.9 198.51.100.2 54321 443\r\n', malformed),
  line('PROXY tcp4 203.0.113.9 198.51.100.2 54321 443\r\n', malformed),
  line('PROXY TCP5 203.0.113.9 198.51.100.2 54321 443\r\n', malformed),
  tcp4(' 203.0.113.9 198.51.100.2 54321 443'),
  tcp4('203.0.113.9  198.51.100.2 54321 443'),
  tcp4('203.0.113.9\t198.51.100.2 54321 443'),
  tcp4('203.0.113.9 198.51.100.2 54321 443 '),
  tcp4('203.0.113.9 198.51.100.2 54321 443 x'),
  tcp4('203.0.113.9 198.51.100.2 54321'),
  tcp4('203.0.113.256 198.51.100.2 54321 443'),
  tcp4('203.000.113.009 198.51.100.2 54321 443'),
  tcp4('203.0.113 198.51.100.2 54321 443'),
  tcp4('203.0.113.9. 198.51.100.2 54321 443'),
  tcp4('203.0.113.9 localhost 54321 443'),
  tcp4('203.0.113.9\0 198.51.100.2 54321 443'),
  tcp4('2001:db8::1 2001:db8::2 54321 443'),
  tcp4('::ffff:203.0.113.9 198.51.100.2 54321 443'),
  tcp6('203.0.113.9 2001:db8::2 54321 443'),
  tcp6('203.0.113.9 198.51.100.2 54321 443'),
  tcp6('fe80::1%eth0 fe80::2 54321 443'),
  tcp6('1::2::3 2001:db8::2 54321 443'),
  tcp6('[2001:db8::1] 2001:db8::2 54321 443'),
  tcp4('203.0.113.9 198.51.100.2 65536 443'),
  tcp4('203.0.113.9 198.51.100.2 54321 0443'),
  tcp4('203.0.113.9 198.51.100.2 00 443'),
  tcp4('203.0.113.9 198.51.100.2 +5432 443'),
  tcp4('203.0.113.9 198.51.100.2 -1 443'),
  tcp4('203.0.113.9 198.51.100.2 0x10 443'),
  tcp4('203.0.113.9 198.51.100.2  443'),
  line('proxy TCP4 203.0.113.9 198.51.100.2 54321 443\r\n', 'absent'),
  line('PROXYjunk TCP4 203.0.113.9 198.51.100.2 54321 443\r\n', 'absent'),
  line('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 'absent'),
  line('PROPFIND / HTTP/1.1\r\n', 'absent'),
  line('PUT / HTTP/1.1\r\n', 'absent'),
  line('GET / HTTP/1.1\r\n', 'absent'),
  line('\r\n\r\nGET / HTTP/1.1\r\n', 'absent'),
]

function binary(name: string, bytes: Buffer, expected: Expected): Vector {
  return { name: `v2 ${name}`, bytes, expected }
}

const commands: readonly Vector[] = [
  binary('IPv4', version2(0x21, 0x11, ipv4Block), client),
  binary('IPv6', version2(0x21, 0x21, ipv6Block), client6),
  binary('IPv4 mapped into IPv6', headerOf('::ffff:203.0.113.9', 54321), client),
  binary('IPv6 to IPv4', headerOf('2001:db8::1', 1), { claims: '[2001:db8::1]:1>198.51.100.2:443' }),
  binary('a Unix path', version2(0x21, 0x31, unixBlock), nobody),
  binary('Unix paths without an end', version2(0x21, 0x31, Buffer.alloc(216, 'a')), nobody),
  binary('an abstract Unix name', version2(0x21, 0x31, Buffer.alloc(216, '\0a')), nobody),
  binary('Unix paths that are cut', version2(0x21, 0x31, Buffer.alloc(215)), malformed),
  binary('IPv4 addresses that are cut', version2(0x21, 0x11, Buffer.alloc(11)), malformed),
  binary('IPv6 addresses that are cut', version2(0x21, 0x21, Buffer.alloc(35)), malformed),
  binary('no addresses', version2(0x21, 0x11), malformed),
  binary('LOCAL alone', version2(0x20, 0x00), nobody),
  binary('LOCAL with addresses', version2(0x20, 0x11, ipv4Block), nobody),
  binary('LOCAL of an unheard-of family', version2(0x20, 0xff, Buffer.from('aaaaaa', 'hex')), nobody),
  binary('LOCAL with an extension', version2(0x20, 0x00, tlv(4, 'pad')), nobody),
  binary('LOCAL with a wrong checksum', version2(0x20, 0x00, tlv(3, '\0\0\0\0')), nobody),
  binary(
    'LOCAL as the health checks of AWS send it: IPv4 announced, extensions in its place',
    version2(0x20, 0x11, Buffer.from('030004bce5951f04004a', 'hex'), Buffer.alloc(74)),
    nobody,
  ),
  binary('unspecified', version2(0x21, 0x00), nobody),
  binary('unspecified with addresses', version2(0x21, 0x00, ipv4Block), nobody),
  binary('an unspecified transport', version2(0x21, 0x10, ipv4Block), nobody),
  binary('datagrams', version2(0x21, 0x12, ipv4Block), nobody),
  binary('command 2', version2(0x22, 0x11, ipv4Block), malformed),
  binary('version 1', version2(0x11, 0x11, ipv4Block), malformed),
  binary('family 4', version2(0x21, 0x41, ipv4Block), malformed),
  binary('transport 3', version2(0x21, 0x13, ipv4Block), malformed),
  binary(
    'a signature that differs in its last byte',
    Buffer.concat([signature.subarray(0, 11), Buffer.from([0x0b, 0x21])]),
    'absent',
  ),
]

const extensions: readonly Vector[] = [
  binary('padding, also empty and twice', extended(tlv(4, ''), tlv(4, 'xxxxxxxx')), client),
  binary('ALPN and authority', extended(tlv(1, 'h2'), tlv(2, 'site-a.example')), client),
  binary(
    'types of nobody and of everybody',
    extended(tlv(0x99, 'z'), tlv(0xe0, ''), tlv(0xf0, 'f'), tlv(0xff, 'r')),
    client,
  ),
  binary('the endpoint id of AWS', extended(tlv(0xea, '\x01vpce-08d2bf15fac5001c9')), client),
  binary('the link id of Azure', extended(tlv(0xee, Buffer.from('0178563412', 'hex'))), client),
  binary('the connection id of Google', extended(tlv(0xe0, Buffer.alloc(8, 1))), client),
  binary('a right checksum', checked(tlv(1, 'h2')), client),
  binary('a wrong checksum', spoiled(checked(tlv(1, 'h2'))), malformed),
  binary('a checksum of zero', extended(tlv(3, Buffer.alloc(4))), malformed),
  binary('a checksum of three bytes', extended(tlv(3, Buffer.alloc(3))), malformed),
  binary('two checksums', extended(tlv(3, Buffer.alloc(4)), tlv(3, Buffer.alloc(4))), malformed),
  binary('a stray byte', extended(Buffer.from([4])), malformed),
  binary('two stray bytes', extended(Buffer.from([4, 0])), malformed),
  binary('a value beyond the end', extended(Buffer.from([4, 0, 1])), malformed),
  binary('a unique id of 128 bytes', extended(tlv(5, Buffer.alloc(128))), client),
  binary('a unique id of 129 bytes', extended(tlv(5, Buffer.alloc(129))), malformed),
  binary('an authority of 255 bytes', extended(tlv(2, Buffer.alloc(255, 'a'))), client),
  binary('an authority of 256 bytes', extended(tlv(2, Buffer.alloc(256, 'a'))), malformed),
  binary('an authority that is no text', extended(tlv(2, Buffer.from('fffe00', 'hex'))), client),
  binary(
    'TLS with its parts',
    extended(tlv(0x20, tlsValue(7, 0, tlv(0x21, 'TLSv1.3'), tlv(0x22, 'client'), tlv(0x28, 'x')))),
    client,
  ),
  binary('TLS of four bytes', extended(tlv(0x20, Buffer.alloc(4))), malformed),
  binary(
    'TLS whose part reaches beyond it',
    extended(tlv(0x20, tlsValue(1, 0, Buffer.from([0x21, 0, 9, 0x54])))),
    malformed,
  ),
  binary('a namespace', extended(tlv(0x30, 'blue')), client),
  binary('4096 bytes', extended(tlv(4, Buffer.alloc(4096 - 12 - 3))), client),
  binary('4097 bytes', extended(tlv(4, Buffer.alloc(4097 - 12 - 3))), malformed),
  binary('65535 bytes', Buffer.concat([signature, Buffer.from([0x21, 0x11, 0xff, 0xff])]), malformed),
]

/** Bytes that HAProxy 2.6 has sent. */
const captures: readonly Vector[] = [
  captured('with checksum and unique id', '127.0.0.1:38780>127.0.0.1:18003', [
    '0d0a0d0a000d0a515549540a2111003a7f0000017f000001977c46530300047b274b7e05002432386637376631652d383630',
    '382d346639662d626265332d653233313863356563653531',
  ]),
  captured('with all that it knows of TLS and a client certificate', '127.0.0.1:58244>127.0.0.1:18004', [
    '0d0a0d0a000d0a515549540a211100857f0000017f000001e384465403000486977396010002683202001266726f6e742e65',
    '78616d706c652e746573742000550700000000210007544c5376312e33220013636c69656e742e6578616d706c652e746573',
    '742500075253413230343824000a5253412d534841323536230016544c535f4145535f3235365f47434d5f534841333834',
  ]),
  captured('without a client certificate', '127.0.0.1:58258>127.0.0.1:18004', [
    '0d0a0d0a000d0a515549540a2111006f7f0000017f000001e3924654030004db4f9864010002683202001266726f6e742e65',
    '78616d706c652e7465737420003f0100000000210007544c5376312e332500075253413230343824000a5253412d53484132',
    '3536230016544c535f4145535f3235365f47434d5f534841333834',
  ]),
]

function captured(name: string, claims: string, hex: readonly string[]): Vector {
  return { name: `HAProxy ${name}`, bytes: Buffer.from(hex.join(''), 'hex'), expected: { claims } }
}

/** Every line of the specification that a receiver can get wrong, once right and once wrong. */
export const vectors: readonly Vector[] = [...lines, ...commands, ...extensions, ...captures]
