// Where a body ends (RFC 9112 §6): one Content-Length, or chunked alone and last; all else is refused before an upstream hears of it.
import { forwarded, post, type Row, refused, shown, unchanged } from './row.js'

const hello = 'hello'
const chunks = '5\r\nhello\r\n0\r\n\r\n'
const inChunks = { head: post('transfer-encoding: chunked\r\n'), body: hello }

const badLengths = [
  '',
  '+5',
  '-5',
  '-0',
  '5 5',
  '5, 5',
  '5,5',
  ',5',
  '5,',
  '0x5',
  '5h',
  '5;',
  '5;a=b',
  '5.0',
  '.5',
  '5e0',
  '1_0',
  "'5'",
  '"5"',
  'five',
  'NaN',
  'Infinity',
  '\xb5',
  '\x0b5',
  '5\x0b',
  '5\0',
  '\xef\xbc\x95',
  '9007199254740993',
  '18446744073709551621',
  '9'.repeat(40),
]

const badCodings = [
  '',
  'identity',
  'gzip',
  'xchunked',
  'chunkedx',
  'x-chunked',
  'chunked,',
  ', chunked',
  'chunked, chunked',
  'chunked,chunked',
  'chunked, gzip, chunked',
  'gzip, chunked, chunked',
  'chunked, identity',
  'chunked, gzip',
  'chunked chunked',
  'chunked;q=1',
  'chunked;',
  'gzip chunked',
  '"chunked"',
  "'chunked'",
  'chun ked',
  'chunked\x0b',
  '\x0bchunked',
  '\x0cchunked',
  'chunked\0',
  '\xffchunked',
  'chunked\xa0',
  '\x85chunked',
]

const knownAlone: readonly Row[] = [
  unchanged('a Content-Length', post('Content-Length: 5\r\n', hello)),
  unchanged('a Content-Length with leading zeros', post('Content-Length: 0005\r\n', hello)),
  unchanged('a Content-Length with white space around it', post('Content-Length: \t5 \r\n', hello)),
  unchanged('a Content-Length of 0', post('Content-Length: 0\r\n')),
  unchanged('no framing is no body', post('')),
  unchanged('a GET with a body', 'GET / HTTP/1.1\r\nHost: a.example\r\nContent-Length: 5\r\n\r\nhello'),
  unchanged(
    'a body that looks like a request',
    post('Content-Length: 33\r\n', 'GET /second HTTP/1.1\r\nHost: b\r\n\r\n'),
  ),
  forwarded('Transfer-Encoding: chunked', post('Transfer-Encoding: chunked\r\n', chunks), inChunks),
  forwarded('chunked in capitals', post('TRANSFER-ENCODING: CHUNKED\r\n', chunks), inChunks),
  forwarded('chunked with white space around it', post('Transfer-Encoding:\t chunked \t\r\n', chunks), inChunks),
  forwarded('look-alikes of framing lines frame nothing', post('Content_Length: 5\r\nTransfer_Encoding: chunked\r\n'), {
    head: post(''),
  }),
  forwarded(
    'Connection does not take the framing away',
    post('Connection: content-length\r\nContent-Length: 5\r\n', hello),
    {
      head: post('Content-Length: 5\r\n'),
      body: hello,
    },
  ),
  ...['GET', 'HEAD', 'DELETE', 'OPTIONS', 'TRACE', 'PROPFIND'].map((method) =>
    forwarded(
      `a chunked ${method} whose body looks like a request is one request`,
      `${method} / HTTP/1.1\r\nHost: a.example\r\nTransfer-Encoding: chunked\r\n\r\n1d\r\nGET /second HTTP/1.1\r\nHost: b\r\n0\r\n\r\n`,
      {
        head: `${method} / HTTP/1.1\r\nHost: a.example\r\ntransfer-encoding: chunked\r\n\r\n`,
        body: 'GET /second HTTP/1.1\r\nHost: b',
      },
    ),
  ),
]

const lengthLine = 'Content-Length: 5\r\n'
const codingLine = 'Transfer-Encoding: chunked\r\n'

const contradictions: readonly Row[] = [
  refused('two equal Content-Lengths', post(`${lengthLine}${lengthLine}`, hello)),
  refused('two Content-Lengths', post(`${lengthLine}Content-Length: 6\r\n`, 'hello!')),
  refused('a Content-Length and an empty one', post(`${lengthLine}Content-Length:\r\n`, hello)),
  refused('two Content-Lengths of 0', post('Content-Length: 0\r\nContent-Length: 0\r\n')),
  refused('Content-Length before Transfer-Encoding', post(`${lengthLine}${codingLine}`, chunks)),
  refused('Transfer-Encoding before Content-Length', post(`${codingLine}${lengthLine}`, chunks)),
  refused('Transfer-Encoding and Content-Length: 0', post(`${codingLine}Content-Length: 0\r\n`, chunks)),
  refused('Transfer-Encoding and a broken Content-Length', post(`${codingLine}Content-Length: x\r\n`, chunks)),
  refused('an unknown coding and Content-Length', post(`Transfer-Encoding: identity\r\n${lengthLine}`, hello)),
  refused('Transfer-Encoding: chunked twice', post(`${codingLine}${codingLine}`, chunks)),
  refused('two Transfer-Encodings', post(`Transfer-Encoding: gzip\r\n${codingLine}`, chunks)),
  refused('chunked and an empty Transfer-Encoding', post(`${codingLine}Transfer-Encoding:\r\n`, chunks)),
  refused(
    'chunked hidden behind a space before the colon',
    post(`Transfer-Encoding : chunked\r\n${lengthLine}`, chunks),
  ),
  refused('chunked hidden in a folded line', post(`Transfer-Encoding:\r\n chunked\r\n${lengthLine}`, chunks)),
  refused('chunked hidden behind a leading space', post(` Transfer-Encoding: chunked\r\n${lengthLine}`, chunks)),
  refused('chunked hidden behind a bare CR', post(`X: y\rTransfer-Encoding: chunked\r\n${lengthLine}`, chunks)),
  refused('chunked in HTTP/1.0', `POST / HTTP/1.0\r\nHost: a.example\r\n${codingLine}\r\n${chunks}`),
  refused('an unknown coding in HTTP/1.0', 'POST / HTTP/1.0\r\nHost: a.example\r\nTransfer-Encoding: x\r\n\r\n'),
]

/** Rows about framing lines. */
export const framingRows: readonly Row[] = [
  ...knownAlone,
  ...contradictions,
  ...badLengths.map((length) =>
    refused(`Content-Length: ${shown(length)}`, post(`Content-Length: ${length}\r\n`, hello)),
  ),
  ...badCodings.map((coding) =>
    refused(`Transfer-Encoding: ${shown(coding)}`, post(`Transfer-Encoding: ${coding}\r\n`, chunks)),
  ),
  ...['gzip, chunked', 'x,chunked', 'identity, chunked', 'gzip ,\tdeflate , chunked'].map((coding) =>
    refused(
      `Transfer-Encoding: ${shown(coding)} is understood and not implemented`,
      post(`Transfer-Encoding: ${coding}\r\n`, chunks),
      501,
    ),
  ),
]
