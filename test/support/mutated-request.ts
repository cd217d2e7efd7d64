// Requests that are nearly valid: a valid one, then a few bytes cut, doubled or put in where parsers differ.
import fc from 'fast-check'

const methods = ['GET', 'POST', 'HEAD', 'PUT', 'DELETE', 'OPTIONS', 'PATCH']
const targets = ['/', '/a?b=c', '*', '/%00//..', 'http://a.example/x', 'http://a.example', '/#', 'a']
const versions = ['HTTP/1.1', 'HTTP/1.1', 'HTTP/1.1', 'HTTP/1.0', 'HTTP/1.2']
const lines = [
  'Content-Length: 3',
  'Content-Length: 0',
  'Content-Length: 03',
  'Transfer-Encoding: chunked',
  'transfer-encoding:chunked ',
  'Transfer-Encoding: gzip, chunked',
  'Content_Length: 3',
  'X: y',
  'X:',
  'x: \t caf\xe9 \t',
  'Connection: close',
  'Connection: keep-alive, X',
  'Expect: 100-continue',
  'Cookie: a=b; c="d"',
  'Trailer: X',
]
const bodies = ['', 'abc', '3\r\nabc\r\n0\r\n\r\n', '3;a=b\r\nabc\r\n0\r\nX: y\r\n\r\n', '0\r\n\r\n']
const splices = [
  '',
  '\r',
  '\n',
  '\r\n',
  '\0',
  ' ',
  '\t',
  ':',
  ',',
  ';',
  '0',
  '3',
  'x',
  '\x0b',
  '\x7f',
  '\x80',
  '\xff',
  '\r\n\r\n',
  '\r\n ',
]

const edit = fc.record({
  at: fc.double({ min: 0, max: 1, noNaN: true }),
  cut: fc.nat(3),
  splice: fc.constantFrom(...splices),
})

const valid = fc
  .record({
    method: fc.constantFrom(...methods),
    target: fc.constantFrom(...targets),
    version: fc.constantFrom(...versions),
    lines: fc.array(fc.constantFrom(...lines), { maxLength: 5 }),
    body: fc.constantFrom(...bodies),
  })
  .map(({ method, target, version, lines, body }) =>
    [`${method} ${target} ${version}`, 'Host: a.example', ...lines, '', body].join('\r\n'),
  )

/** A request with at most `editsMax` mistakes, one character a byte. */
export function mutatedRequest(editsMax: number): fc.Arbitrary<string> {
  return fc.tuple(valid, fc.array(edit, { maxLength: editsMax })).map(([request, edits]) =>
    edits.reduce((bytes, { at, cut, splice }) => {
      const start = Math.floor(at * bytes.length)
      return bytes.slice(0, start) + splice + bytes.slice(start + cut)
    }, request),
  )
}
