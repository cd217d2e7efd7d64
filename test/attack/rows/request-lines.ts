// Request lines: methods, versions, and what stands around them (RFC 9112 §2.2, §2.3, §3; RFC 9110 §9.1).
import { closing, forwarded, get, type Row, refused, separators, shown, unchanged } from './row.js'

const rest = '\r\nHost: a.example\r\n\r\n'

function withMethod(method: string): string {
  return `${method} / HTTP/1.1${rest}`
}

function withVersion(version: string): string {
  return `GET / ${version}${rest}`
}

const methods: readonly Row[] = [
  ...['GET', 'POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS', 'TRACE', 'PROPFIND', 'get', 'Get'].map((method) =>
    unchanged(`the method ${method} passes as it is`, withMethod(method)),
  ),
  unchanged('a method of every token character passes', withMethod("!#$%&'*+-.^_`|~09azAZ")),
  unchanged('a method of 32 bytes passes', withMethod('M'.repeat(32))),
  refused('a method of 33 bytes is longer than any that is implemented', withMethod('M'.repeat(33)), 501),
  refused('a method of 256 bytes is still a method', withMethod('M'.repeat(256)), 501),
  refused('a method of 257 bytes is none', withMethod('M'.repeat(257))),
  refused('a long method that a line feed ends', `${'M'.repeat(33)}\n`),
  refused('a missing method', ` / HTTP/1.1${rest}`),
  ...[...separators, '\0', '\t', '\x01', '\x0b', '\x7f', '\x80', '\xff'].map((byte) =>
    refused(`a method with ${shown(byte)} in it`, withMethod(`G${byte}T`)),
  ),
  refused('a method that starts with a NUL', withMethod('\0GET')),
  refused('CONNECT to an authority', `CONNECT a.example:443 HTTP/1.1${rest}`, 501),
  refused('CONNECT to a path', `CONNECT / HTTP/1.1${rest}`, 501),
]

const versions: readonly Row[] = [
  closing(
    forwarded('HTTP/1.0 is answered and closed', withVersion('HTTP/1.0'), {
      head: `GET / HTTP/1.1${rest}`,
    }),
  ),
  closing(
    forwarded('HTTP/1.0 with keep-alive is answered and closed', `GET / HTTP/1.0\r\nConnection: keep-alive${rest}`, {
      head: `GET / HTTP/1.1${rest}`,
    }),
  ),
  ...['HTTP/1.2', 'HTTP/1.9', 'HTTP/2.0', 'HTTP/3.0', 'HTTP/0.9', 'HTTP/9.9', 'HTTP/0.0'].map((version) =>
    refused(`the version ${version}`, withVersion(version), 505),
  ),
  refused('the preface of HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 505),
  ...[
    'http/1.1',
    'Http/1.1',
    'HTTP/1.10',
    'HTTP/11',
    'HTTP/1',
    'HTTP/1.',
    'HTTP/.1',
    'HTTP/1,1',
    'HTTP /1.1',
    'HTTP/ 1.1',
    'HTTP/1. 1',
    'HTTP/1 .1',
    'HTTP/+1.1',
    'HTTP/-1.1',
    'HTTP/x.1',
    'HTTP/1.x',
    'HTTP/01.1',
    'HTTP/1.01',
    'HTTP\\1.1',
    'XTTP/1.1',
    'HTTPS/1.1',
    'HTTP/1.1.1',
    'HTTP',
    '1.1',
    'HTTP/1.\xb9',
  ].map((version) => refused(`the version ${shown(version)}`, withVersion(version))),
]

const lines: readonly Row[] = [
  refused('HTTP/0.9: no version', 'GET /\r\n'),
  refused('HTTP/0.9 with fields behind it', `GET /${rest}`),
  refused('a space for a version', `GET / ${rest}`),
  refused('a missing target', `GET HTTP/1.1${rest}`),
  refused('a method alone', `GET${rest}`),
  refused('an empty target', `GET  HTTP/1.1${rest}`),
  refused('two spaces behind the method', `GET  / HTTP/1.1${rest}`),
  refused('two spaces behind the target', `GET /  HTTP/1.1${rest}`),
  refused('a space behind the version', `GET / HTTP/1.1 ${rest}`),
  refused('a tab behind the version', `GET / HTTP/1.1\t${rest}`),
  refused('a word behind the version', `GET / HTTP/1.1 x${rest}`),
  refused('a tab behind the method', `GET\t/ HTTP/1.1${rest}`),
  refused('a tab behind the target', `GET /\tHTTP/1.1${rest}`),
  refused('a vertical tab behind the method', `GET\x0b/ HTTP/1.1${rest}`),
  refused('a form feed behind the target', `GET /\x0cHTTP/1.1${rest}`),
  refused('a bare CR behind the method', `GET\r/ HTTP/1.1${rest}`),
  refused('a bare CR behind the target', `GET /\rHTTP/1.1${rest}`),
  refused('a request line that ends with a bare LF', 'GET / HTTP/1.1\nHost: a.example\r\n\r\n'),
  refused('a request line that ends with a bare CR', 'GET / HTTP/1.1\rHost: a.example\r\n\r\n'),
  refused('a request line that ends with CR CR LF', 'GET / HTTP/1.1\r\r\nHost: a.example\r\n\r\n'),
  refused('a request line that ends with LF CR', 'GET / HTTP/1.1\n\rHost: a.example\r\n\r\n'),
  refused('a head of bare LFs', 'GET / HTTP/1.1\nHost: a.example\n\n'),
  refused('a status line', 'HTTP/1.1 200 OK\r\nHost: a.example\r\n\r\n'),
  refused('a ClientHello on a plain connection', '\x16\x03\x01\x00\xa5\x01\x00\x00\xa1\x03\x03'),
  refused('the signature of a PROXY v2 header', '\r\n\r\n\0\r\nQUIT\n'),
  refused('a PROXY v1 header', `PROXY TCP4 127.0.0.1 127.0.0.1 1 2\r\n${get()}`),
  refused('an SMTP greeting', 'EHLO a.example\r\n'),
  forwarded('one empty line before the request', `\r\n${get()}`, { head: get() }),
  refused('two empty lines before the request', `\r\n\r\n${get()}`),
  refused('a bare LF before the request', `\n${get()}`),
  refused('a bare CR before the request', `\r${get()}`),
  refused('a space before the request', ` ${get()}`),
  refused('an empty line and a space before the request', `\r\n ${get()}`),
  refused('a NUL before the request', `\0${get()}`),
  refused('a byte order mark before the request', `\xef\xbb\xbf${get()}`),
]

/** Rows about the request line. */
export const requestLineRows: readonly Row[] = [...methods, ...versions, ...lines]
