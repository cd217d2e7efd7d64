// What an upstream may answer (RFC 9112 §4, §6, §7), and what clients must get of it.

/** One answer of an upstream to a GET, and its one right outcome. */
export interface AnswerRow {
  readonly name: string
  /** One character a byte. */
  readonly bytes: string
  /** What an HTTP/1.1 client gets, without Date; `broken` is a body that never ends. */
  readonly gets: { readonly head: string; readonly body: string } | 'bad gateway' | 'broken'
  /** What an HTTP/1.0 client gets for a body, where it is another. */
  readonly oldBody?: string
  /** Whether the upstream connection may be used again. */
  readonly isReusable: boolean
  /** The upstream ends its connection behind the answer. */
  readonly ends: boolean
}

interface Passed {
  readonly head?: string
  readonly body?: string
  readonly oldBody?: string
  readonly isReusable?: boolean
  readonly ends?: boolean
}

function passed(name: string, bytes: string, gets: Passed = {}): AnswerRow {
  const headEnd = bytes.indexOf('\r\n\r\n') + 4
  return {
    name,
    bytes,
    gets: { head: gets.head ?? bytes.slice(0, headEnd), body: gets.body ?? bytes.slice(headEnd) },
    ...(gets.oldBody === undefined ? {} : { oldBody: gets.oldBody }),
    isReusable: gets.isReusable ?? true,
    ends: gets.ends ?? false,
  }
}

function refused(name: string, bytes: string): AnswerRow {
  return { name, bytes, gets: 'bad gateway', isReusable: false, ends: false }
}

function broken(name: string, bytes: string): AnswerRow {
  return { name, bytes, gets: 'broken', isReusable: false, ends: false }
}

function ok(fields: string, body = ''): string {
  return `HTTP/1.1 200 OK\r\n${fields}\r\n${body}`
}

function withStatusLine(line: string): string {
  return `${line}\r\nContent-Length: 0\r\n\r\n`
}

const length = 'Content-Length: 5\r\n'
const chunked = 'Transfer-Encoding: chunked\r\n'
const chunks = '5\r\nhello\r\n0\r\n\r\n'
const inChunks = { head: ok('transfer-encoding: chunked\r\n'), body: chunks, oldBody: 'hello' }

const statusLines: readonly AnswerRow[] = [
  ...[
    '200 OK',
    '201 Created',
    '299 Odd',
    '404 Not Found',
    '418 ',
    '599 X',
    '600 X',
    '999 X',
    '200 caf\xc3\xa9 \xff',
    '200 a\tb',
  ].map((line) => passed(`the status line ${line}`, withStatusLine(`HTTP/1.1 ${line}`))),
  passed('a status line without a reason', withStatusLine('HTTP/1.1 200'), {
    head: withStatusLine('HTTP/1.1 200 '),
  }),
  passed('HTTP/1.0', withStatusLine('HTTP/1.0 200 OK'), { head: withStatusLine('HTTP/1.1 200 OK'), isReusable: false }),
  ...[
    'HTTP/1.1 099 X',
    'HTTP/1.1 000 X',
    'HTTP/1.1 20 OK',
    'HTTP/1.1 2000 OK',
    'HTTP/1.1 2x0 OK',
    'HTTP/1.1 -20 OK',
    'HTTP/1.1  200 OK',
    'HTTP/1.1\t200 OK',
    'HTTP/1.1 200\tOK',
    'HTTP/1.1 200OK',
    'HTTP/1.1 200 O\0K',
    'HTTP/1.1 200 O\rK',
    'HTTP/1.1 200 \x7f',
    'HTTP/1.1',
    'HTTP/1.1 ',
    'HTTP/1.2 200 OK',
    'HTTP/2.0 200 OK',
    'HTTP/2 200 OK',
    'HTTP/0.9 200 OK',
    'http/1.1 200 OK',
    'ICY 200 OK',
    ' HTTP/1.1 200 OK',
    'GET / HTTP/1.1',
    '200 OK',
    `HTTP/1.1 200 ${'x'.repeat(1025)}`,
  ].map((line) => refused(`the status line ${JSON.stringify(line.slice(0, 40))}`, withStatusLine(line))),
  refused('an empty line before the status line', `\r\n${ok(length, 'hello')}`),
  refused('no head at all', '<html>hello</html>\r\n\r\n'),
  refused('bare LFs', 'HTTP/1.1 200 OK\nContent-Length: 0\n\n'),
]

const fields: readonly AnswerRow[] = [
  ...Object.entries({
    'UTF-8 in a Content-Disposition': 'Content-Disposition: attachment; filename="\xe2\x98\x83.txt"\r\n',
    'obs-text in a value': 'X: \x80\xff\r\n',
    'an empty value': 'X:\r\n',
    'white space around a value': 'X: \t y\t \r\n',
    'Set-Cookie lines, apart and in order': 'Set-Cookie: a=1\r\nX: y\r\nSet-Cookie: b=2\r\nset-cookie: a=1\r\n',
    'lines of one name': 'Vary: a\r\nVary: b\r\n',
    'a name with an underscore': 'X_Y: z\r\n',
    'what only requests say': 'X-Forwarded-For: 1.2.3.4\r\nX-Request-Id: x\r\nHost: b\r\nVia: 1.1 x\r\n',
  }).map(([name, lines]) => passed(`${name} passes`, ok(`${lines}${length}`, 'hello'))),
  passed(
    'lines of the connection, and those it names, are gone',
    ok(
      `Connection: keep-alive, X-Gone\r\nKeep-Alive: timeout=60\r\nProxy-Connection: x\r\nX-Gone: 1\r\nUpgrade: h2c\r\nTE: x\r\nProxy-Authenticate: Basic\r\nX: 1\r\n${length}`,
      'hello',
    ),
    { head: ok(`X: 1\r\n${length}`), body: 'hello' },
  ),
  passed('Connection: close', ok(`Connection: close\r\n${length}`, 'hello'), {
    head: ok(length),
    body: 'hello',
    isReusable: false,
  }),
  passed('Connection does not take the length away', ok(`Connection: Content-Length\r\n${length}`, 'hello'), {
    head: ok(length),
    body: 'hello',
  }),
  passed('Trailer without chunks is gone', ok(`Trailer: X\r\n${length}`, 'hello'), { head: ok(length), body: 'hello' }),
  ...Object.entries({
    'a space before a colon': 'X : y\r\n',
    'obs-fold': 'X: y\r\n z\r\n',
    'no colon': 'X\r\n',
    'an empty name': ': y\r\n',
    'a NUL in a value': 'X: \0\r\n',
    'a bare CR in a value': 'X: y\rz\r\n',
    'a bare LF': 'X: y\nZ: z\r\n',
    'obs-text in a name': 'X\xe9: y\r\n',
    'more lines than a head may have': 'X: y\r\n'.repeat(257),
    'more bytes than a head may have': `X: ${'y'.repeat(70_000)}\r\n`,
  }).map(([name, lines]) => refused(name, ok(`${lines}Content-Length: 0\r\n`))),
]

const framings: readonly AnswerRow[] = [
  passed('a Content-Length', ok(length, 'hello')),
  passed('a Content-Length of 0', ok('Content-Length: 0\r\n')),
  passed('a chunked body', ok(chunked, chunks), inChunks),
  passed('a chunked body with extensions', ok(chunked, '5;a=b\r\nhello\r\n0;c\r\n\r\n'), inChunks),
  passed('trailers', ok(`Trailer: X\r\n${chunked}`, '5\r\nhello\r\n0\r\nX: y\r\n\r\n'), {
    head: ok('Trailer: X\r\ntransfer-encoding: chunked\r\n'),
    body: '5\r\nhello\r\n0\r\nX: y\r\n\r\n',
    oldBody: 'hello',
  }),
  passed('a body until the end of the connection', ok('', 'hello'), { ...inChunks, isReusable: false, ends: true }),
  passed('a body of HTTP/1.0 until the end', 'HTTP/1.0 200 OK\r\n\r\nhello', {
    ...inChunks,
    isReusable: false,
    ends: true,
  }),
  passed('an empty body until the end', ok(''), {
    head: ok('transfer-encoding: chunked\r\n'),
    body: '0\r\n\r\n',
    oldBody: '',
    isReusable: false,
    ends: true,
  }),
  ...['204 No Content', '304 Not Modified'].map((status) =>
    passed(`${status} without framing`, `HTTP/1.1 ${status}\r\nX: y\r\n\r\n`),
  ),
  passed('304 with the length that a 200 would have', `HTTP/1.1 304 Not Modified\r\n${length}\r\n`),
  passed('204 with a length', `HTTP/1.1 204 No Content\r\n${length}X: y\r\n\r\n`, {
    head: 'HTTP/1.1 204 No Content\r\nX: y\r\n\r\n',
  }),
  passed('204 that says chunked', `HTTP/1.1 204 No Content\r\n${chunked}\r\n`, {
    head: 'HTTP/1.1 204 No Content\r\n\r\n',
  }),
  passed('bytes behind the body', ok(length, 'hello, world'), { body: 'hello', isReusable: false }),
  passed('an answer behind the answer', ok(length, `hello${ok(length, 'world')}`), {
    body: 'hello',
    isReusable: false,
  }),
  ...Object.entries({
    'two Content-Lengths': `${length}Content-Length: 6\r\n`,
    'two equal Content-Lengths': `${length}${length}`,
    'a list of Content-Lengths': 'Content-Length: 5, 5\r\n',
    'a signed Content-Length': 'Content-Length: +5\r\n',
    'a hexadecimal Content-Length': 'Content-Length: 0x5\r\n',
    'an empty Content-Length': 'Content-Length:\r\n',
    'Content-Length and Transfer-Encoding': `${length}${chunked}`,
    'Transfer-Encoding and Content-Length': `${chunked}${length}`,
    'two Transfer-Encodings': `${chunked}${chunked}`,
    'chunked twice': 'Transfer-Encoding: chunked, chunked\r\n',
    'a coding besides chunked': 'Transfer-Encoding: gzip, chunked\r\n',
    identity: 'Transfer-Encoding: identity\r\n',
  }).map(([name, lines]) => refused(name, ok(lines, chunks))),
  refused('chunked in HTTP/1.0', `HTTP/1.0 200 OK\r\n${chunked}\r\n${chunks}`),
  refused('two Content-Lengths in a 204', `HTTP/1.1 204 No Content\r\n${length}Content-Length: 6\r\n\r\n`),
  ...Object.entries({
    'a size that is no number': 'x\r\n',
    'a size with a sign': '+5\r\nhello\r\n0\r\n\r\n',
    'a size line with a bare LF': '5\nhello\r\n0\r\n\r\n',
    'data without its CRLF': '5\r\nhello0\r\n\r\n',
    'a chunk extension without a name': '5;\r\nhello\r\n0\r\n\r\n',
    'a broken trailer': '5\r\nhello\r\n0\r\nX : y\r\n\r\n',
  }).map(([name, body]) => broken(`chunks with ${name}`, ok(chunked, body))),
]

const informational: readonly AnswerRow[] = [
  passed(
    '103 and its links pass',
    `HTTP/1.1 103 Early Hints\r\nLink: </a>\r\nConnection: X\r\nX: y\r\n\r\n${ok(length, 'hello')}`,
    {
      head: `HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n${ok(length)}`,
      body: 'hello',
    },
  ),
  passed(
    '102, and 100 that nobody waits for, pass',
    `HTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n${ok(length, 'hello')}`,
    {
      head: `HTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n${ok(length)}`,
      body: 'hello',
    },
  ),
  passed('framing lines of a 103 frame nothing', `HTTP/1.1 103 X\r\n${length}${chunked}\r\n${ok(length, 'hello')}`, {
    head: `HTTP/1.1 103 X\r\n\r\n${ok(length)}`,
    body: 'hello',
  }),
  passed('32 informational answers pass', 'HTTP/1.1 103 X\r\n\r\n'.repeat(32) + ok(length, 'hello'), {
    head: 'HTTP/1.1 103 X\r\n\r\n'.repeat(32) + ok(length),
    body: 'hello',
  }),
  refused('33 informational answers', 'HTTP/1.1 103 X\r\n\r\n'.repeat(33) + ok(length, 'hello')),
  refused('101 that nobody asked for', 'HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n'),
  refused('a broken informational answer', `HTTP/1.1 103 X\r\nX : y\r\n\r\n${ok(length, 'hello')}`),
]

/** Rows about status lines, fields, framing and informational answers. */
export const answerTables: Readonly<Record<string, readonly AnswerRow[]>> = {
  'status lines': statusLines,
  'field lines': fields,
  framing: framings,
  'informational answers': informational,
}
