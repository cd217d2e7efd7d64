// Field lines (RFC 9112 §2.2, §5; RFC 9110 §5): a line is a token, a colon and a value, and ends with CRLF.
import { forwarded, get, type Row, refused, separators, shown, unchanged } from './row.js'

const controls = ['\0', '\x01', '\x07', '\x08', '\x0b', '\x0c', '\x0e', '\x1b', '\x1f', '\x7f']

const passedLines: Readonly<Record<string, string>> = {
  'an empty value': 'X:\r\n',
  'a value of white space': 'X: \t \r\n',
  'no white space before the value': 'X:y\r\n',
  'much white space around the value': 'X: \t  y \t \r\n',
  'a tab in a value': 'X: a\tb\r\n',
  'a colon in a value': 'X: a:b: c\r\n',
  'every visible character in a value': `X: ${Array.from({ length: 0x5e }, (_, n) => String.fromCharCode(n + 0x21)).join('')}\r\n`,
  'UTF-8 in a value': 'X: caf\xc3\xa9 \xe2\x98\x83\r\n',
  'obs-text in a value': 'X: \x80\xff\x85\xa0\r\n',
  'every token character in a name': "!#$%&'*+-.^_`|~09azAZ: y\r\n",
  'a name with an underscore': 'X_Y: z\r\n',
  'lines with one name, in their order': 'X: 1\r\nY: 2\r\nX: 3\r\nx: 1\r\n',
  'two Cookie lines': 'Cookie: a=b\r\nCookie: c=d\r\n',
  'a Range and a condition': 'Range: bytes=0-1\r\nIf-Match: "x"\r\n',
  'names close to those that frame': 'Content-Lengthx: 5\r\nTransfer-Encodin: chunked\r\nX-Content-Length: 5\r\n',
}

const brokenLines: Readonly<Record<string, string>> = {
  'a space before the colon': 'X : y\r\n',
  'a tab before the colon': 'X\t: y\r\n',
  'a space in a name': 'X Y: z\r\n',
  'an empty name': ': y\r\n',
  'an empty name and a space': ' : y\r\n',
  'a line without a colon': 'X\r\n',
  'a line that starts with a colon twice': ':: y\r\n',
  'obs-fold with a space': 'X: y\r\n z\r\n',
  'obs-fold with a tab': 'X: y\r\n\tz\r\n',
  'obs-fold of nothing': 'X: y\r\n \r\n',
  'obs-text in a name': 'X\xe9: y\r\n',
  'a NUL in a name': 'X\0: y\r\n',
  'a CR in a name': 'X\rY: z\r\n',
  'a bare CR in a value': 'X: y\rz\r\n',
  'a bare CR at the start of a value': 'X:\ry\r\n',
  'a bare LF at the end of a line': 'X: y\nY: z\r\n',
  'CR CR LF at the end of a line': 'X: y\r\r\n',
  'a line smuggled by a bare LF': 'X: y\nTransfer-Encoding: chunked\r\n',
  'a line smuggled by a bare CR': 'X: y\rContent-Length: 5\r\n',
  'a bare LF for the empty line': 'X: y\r\n\n',
  'a bare CR for the empty line': 'X: y\r\n\rZ: z\r\n',
  'a request line for a field line': 'GET /second HTTP/1.1\r\n',
}

/** Rows about field lines. */
export const fieldRows: readonly Row[] = [
  ...Object.entries(passedLines).map(([name, lines]) => unchanged(`${name} passes`, get(lines))),
  ...Object.entries(brokenLines).map(([name, lines]) => refused(name, get(lines))),
  ...separators
    .filter((byte) => byte !== ':')
    .map((byte) => refused(`a field name with ${shown(byte)} in it`, get(`X${byte}Y: z\r\n`))),
  ...controls.map((byte) => refused(`a value with ${shown(byte)} in it`, get(`X: a${byte}b\r\n`))),
  refused('a value that ends with a NUL', get('X: y\0\r\n')),
  refused('a space before the first field line', 'GET / HTTP/1.1\r\n Host: a.example\r\n\r\n'),
  refused('a folded line before the first field line', 'GET / HTTP/1.1\r\n X: y\r\nHost: a.example\r\n\r\n'),
  refused('a head that ends with CR LF LF', 'GET / HTTP/1.1\r\nHost: a.example\r\n\n'),
  refused('a head that ends with LF CR LF', 'GET / HTTP/1.1\r\nHost: a.example\n\r\n'),
  forwarded('claims of a client, and their look-alikes, are gone', get(claims()), { head: get('X-Kept: 1\r\n') }),
  forwarded(
    'lines that a Connection line names are gone',
    get('Connection: close-x, X-Gone, ,x-gone\r\nX-Gone: 1\r\nX-Kept: 1\r\n'),
    {
      head: get('X-Kept: 1\r\n'),
    },
  ),
]

function claims(): string {
  const lines = [
    'X-Forwarded-For: 1.2.3.4',
    'X_Forwarded_For: 1.2.3.4',
    'x-forwarded_for: 1.2.3.4',
    'X-Forwarded-Proto: http',
    'X-Forwarded-Host: b.example',
    'X-Forwarded-Port: 1',
    'Forwarded: for=1.2.3.4',
    'X-Request-Id: mine',
    'X_Request_Id: mine',
    'X-Kept: 1',
    'Proxy: http://evil.example',
    'Proxy-Authorization: Basic eDp5',
    'Proxy-Connection: keep-alive',
    'Keep-Alive: timeout=5',
    'TE: trailers',
    'Upgrade: h2c',
    'HTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA',
    'Content_Length: 5',
    'Transfer_Encoding: chunked',
    'Connection: Upgrade, HTTP2-Settings, TE',
  ]
  return `${lines.join('\r\n')}\r\n`
}
