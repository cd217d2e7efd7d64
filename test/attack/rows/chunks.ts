// Chunked bodies (RFC 9112 §7.1): sizes, extensions, data and trailers. A body that breaks the grammar is never whole upstream.
import { broken, forwarded, post, type Row, shown } from './row.js'

function chunked(body: string): string {
  return post('Transfer-Encoding: chunked\r\n', body)
}

function whole(name: string, body: string, seen: { body: string; trailers?: string }): Row {
  return forwarded(name, chunked(body), { head: post('transfer-encoding: chunked\r\n'), ...seen })
}

const end = '\r\nhello\r\n0\r\n\r\n'

const goodExtensions = [
  ';a',
  ';a=b',
  ';a;b',
  ';a=b;c=d;e',
  ';a="b"',
  ';a=""',
  ';a="b;c\\"\t \xe9"',
  ';a="b\\\\";c',
  `;a=${'b'.repeat(300)}`,
]

const badExtensions = [
  ';',
  ';;a',
  ';a;',
  ';=b',
  ';a=',
  ';a=;b',
  ';a=b=c',
  ';a="b',
  ';a="b"c',
  ';a="\\',
  ';a b',
  ' ;a',
  '; a',
  ';a =b',
  ';a= b',
  ';a\nb',
  ';a\rb',
  ';a\r\r',
  ';a\0',
  ';a\x7f',
  ';a="\0"',
  ';a="\n"',
  ';a="\r"',
  ';a/b',
  ';\xe9',
  ';a=\xe9',
]

const badSizes = [
  '',
  'g',
  'x',
  '0x5',
  '5h',
  '-5',
  '+5',
  ' 5',
  '\t5',
  '5 ',
  '5\t',
  '5\x0b',
  '5\0',
  '5,5',
  '5.',
  '_5',
  '5_',
  '5\r',
  '\r\n5',
  '\n5',
  '\xb5',
  '00000000000005',
  '20000000000000',
  'FFFFFFFFFFFFFFFFF',
  '100000000000000005',
]

const brokenBodies: Readonly<Record<string, string>> = {
  'a size line that ends with a bare LF': '5\nhello\r\n0\r\n\r\n',
  'a size line that ends with a bare CR': '5\rhello\r\n0\r\n\r\n',
  'a last size line that ends with a bare LF': '5\r\nhello\r\n0\n\r\n',
  'data that is longer than its size': '5\r\nhello!\r\n0\r\n\r\n',
  'data that is shorter than its size': '5\r\nhell\r\n0\r\n\r\n',
  'data that ends with a bare LF': '5\r\nhello\n0\r\n\r\n',
  'data that ends with a bare CR': '5\r\nhello\r0\r\n\r\n',
  'data that ends with LF CR': '5\r\nhello\n\r0\r\n\r\n',
  'data that ends with CR CR LF': '5\r\nhello\r\r\n0\r\n\r\n',
  'data that ends with nothing': '5\r\nhello0\r\n\r\n',
  'an empty line between chunks': '5\r\nhello\r\n\r\n0\r\n\r\n',
  'a negative last chunk': '5\r\nhello\r\n-0\r\n\r\n',
  'a bare LF for the last line': '5\r\nhello\r\n0\r\n\n',
  'a bare CR for the last line': '5\r\nhello\r\n0\r\n\rX',
  'a trailer without a colon': '0\r\nX\r\n\r\n',
  'a trailer with a space before its colon': '0\r\nX : y\r\n\r\n',
  'a trailer that starts with a space': '0\r\n X: y\r\n\r\n',
  'a folded trailer': '0\r\nX: y\r\n z\r\n\r\n',
  'a trailer with an empty name': '0\r\n: y\r\n\r\n',
  'a trailer with a NUL': '0\r\nX: \0\r\n\r\n',
  'a trailer with a bare CR': '0\r\nX: y\rz\r\n\r\n',
  'a trailer that ends with a bare LF': '0\r\nX: y\n\r\n',
  'trailers that end with a bare LF': '0\r\nX: y\r\n\n',
  'a request line for a trailer': '0\r\nGET /second HTTP/1.1\r\nHost: a.example\r\n\r\n',
  'extensions of more than 8 KiB': `5;a=${'b'.repeat(8 * 1024)}${end}`,
  'extensions of more than 8 KiB in many chunks': `1;a=${'b'.repeat(1000)}\r\nx\r\n`.repeat(9),
  'trailers of more bytes than a head may have': `0\r\n${`X: ${'y'.repeat(500)}\r\n`.repeat(5)}\r\n`,
  'more trailers than a head may have fields': `0\r\n${'X: y\r\n'.repeat(33)}\r\n`,
}

/** Rows about chunked bodies. */
export const chunkRows: readonly Row[] = [
  whole('one chunk', '5\r\nhello\r\n0\r\n\r\n', { body: 'hello' }),
  whole('many chunks', '1\r\nh\r\n2\r\nel\r\n2\r\nlo\r\n0\r\n\r\n', { body: 'hello' }),
  whole('no chunk but the last', '0\r\n\r\n', { body: '' }),
  whole('sizes in both cases', `a\r\n${'x'.repeat(10)}\r\nA\r\n${'y'.repeat(10)}\r\n0\r\n\r\n`, {
    body: 'x'.repeat(10) + 'y'.repeat(10),
  }),
  whole('a size with leading zeros', '0000000000005\r\nhello\r\n0\r\n\r\n', { body: 'hello' }),
  whole('a last chunk of many zeros', '5\r\nhello\r\n000\r\n\r\n', { body: 'hello' }),
  whole('data of CR and LF', '4\r\n\r\n\r\n\r\n0\r\n\r\n', { body: '\r\n\r\n' }),
  whole('data that looks like a last chunk', '5\r\n0\r\n\r\n\r\n0\r\n\r\n', { body: '0\r\n\r\n' }),
  whole('data of every byte', `100\r\n${everyByte()}\r\n0\r\n\r\n`, { body: everyByte() }),
  ...goodExtensions.map((extension) =>
    whole(`the extension ${shown(extension.slice(0, 30))} is read and left behind`, `5${extension}${end}`, {
      body: 'hello',
    }),
  ),
  whole('an extension of the last chunk', '5\r\nhello\r\n0;a=b\r\n\r\n', { body: 'hello' }),
  whole('trailers pass', '5\r\nhello\r\n0\r\nX-Sum: 5\r\nx-sum: \xe9\r\n\r\n', {
    body: 'hello',
    trailers: 'X-Sum: 5\r\nx-sum: \xe9\r\n',
  }),
  whole('trailers that frame, route or claim are gone', `0\r\n${unfitTrailers()}X-Sum: 5\r\n\r\n`, {
    body: '',
    trailers: 'X-Sum: 5\r\n',
  }),
  ...badSizes.map((size) => broken(`the chunk size ${shown(size)}`, chunked(`${size}${end}`))),
  ...badExtensions.map((extension) =>
    broken(`the chunk extension ${shown(extension)}`, chunked(`5${extension}${end}`)),
  ),
  ...Object.entries(brokenBodies).map(([name, body]) => broken(name, chunked(body))),
]

function everyByte(): string {
  return Array.from({ length: 256 }, (_, byte) => String.fromCharCode(byte)).join('')
}

function unfitTrailers(): string {
  const names = [
    'Content-Length',
    'Transfer-Encoding',
    'Transfer_Encoding',
    'Host',
    'Connection',
    'Trailer',
    'X-Forwarded-For',
    'Cookie',
    'Authorization',
    'Content-Type',
  ]
  return names.map((name) => `${name}: 5\r\n`).join('')
}
