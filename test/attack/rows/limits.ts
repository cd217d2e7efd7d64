// Bounds of a head, one row just inside and one just outside of each, and expectations (RFC 9110 §10.1.1).
import { closing, forwarded, get, post, type Row, refused, unchanged } from './row.js'

/** The limits that the rows are written for. */
export const rowLimits = {
  targetBytes: 512,
  headerBytes: 2048,
  headerCount: 32,
  pipelined: 16,
  bodyBytesPerSecondMin: 100,
}

const hostBytes = 'Host: a.example\r\n'.length

function lines(count: number): string {
  return Array.from({ length: count }, (_, index) => `X-${index}: y\r\n`).join('')
}

function lineOf(bytes: number): string {
  return `X: ${'y'.repeat(bytes - 'X: \r\n'.length)}\r\n`
}

function targetOf(bytes: number): string {
  return `GET /${'a'.repeat(bytes - 1)} HTTP/1.1\r\nHost: a.example\r\n\r\n`
}

/** Rows about limits and expectations. */
export const limitRows: readonly Row[] = [
  unchanged('a target of as many bytes as it may have', targetOf(rowLimits.targetBytes)),
  refused('a target of one byte more', targetOf(rowLimits.targetBytes + 1), 414),
  refused('an endless target', `GET /${'a'.repeat(20_000)}`, 414),
  unchanged('as many fields as a head may have', get(lines(rowLimits.headerCount - 1))),
  refused('one field more', get(lines(rowLimits.headerCount)), 431),
  unchanged('fields of as many bytes as a head may have', get(lineOf(rowLimits.headerBytes - hostBytes))),
  refused('fields of one byte more', get(lineOf(rowLimits.headerBytes - hostBytes + 1)), 431),
  refused('an endless field', `GET / HTTP/1.1\r\nHost: a.example\r\nX: ${'y'.repeat(20_000)}`, 431),
  refused('an endless field name', `GET / HTTP/1.1\r\nHost: a.example\r\n${'y'.repeat(20_000)}`, 431),
  refused('endless fields', `GET / HTTP/1.1\r\nHost: a.example\r\n${'X: y\r\n'.repeat(4_000)}`, 431),
  refused('an endless method', 'A'.repeat(20_000)),
  refused('an expectation that nobody knows', post('Expect: 200-ok\r\nContent-Length: 0\r\n'), 417),
  refused('an empty expectation', post('Expect:\r\nContent-Length: 0\r\n'), 417),
  refused('two expectations in one line', post('Expect: 100-continue, x\r\nContent-Length: 0\r\n'), 417),
  refused('two expectations in two lines', post('Expect: 100-continue\r\nExpect: x\r\nContent-Length: 0\r\n'), 417),
  unchanged(
    '100-continue and a body that does not wait',
    post('Expect: 100-continue\r\nContent-Length: 5\r\n', 'hello'),
  ),
  unchanged('100-continue in other cases', post('expect: 100-Continue\r\nContent-Length: 5\r\n', 'hello')),
  forwarded('100-continue without a body is nothing to wait for', get('Expect: 100-continue\r\n'), { head: get() }),
  closing(
    forwarded(
      'an expectation in HTTP/1.0 is ignored',
      `POST / HTTP/1.0\r\nHost: a.example\r\nExpect: x\r\nContent-Length: 2\r\n\r\nhi`,
      {
        head: post('Content-Length: 2\r\n'),
        body: 'hi',
      },
    ),
  ),
  closing(forwarded('Connection: close is the last request', get('Connection: close\r\n'), { head: get() })),
  closing(forwarded('close among other options', get('Connection: x, Close\r\n'), { head: get() })),
  closing(forwarded('close in a second line', get('Connection: keep-alive\r\nConnection: close\r\n'), { head: get() })),
  forwarded('Connection: keep-alive changes nothing', get('Connection: keep-alive\r\n'), { head: get() }),
]
