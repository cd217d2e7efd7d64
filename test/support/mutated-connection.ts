// Connections of HTTP/2 that are nearly valid: sound requests with a few fields, bodies, frames or bytes that are not, where
// a front and what stands behind it could come to disagree.
import fc from 'fast-check'
import { Flag, FrameType, preface } from '../../src/http2/frames.js'
import { frameBytes, literals, type Pair, settings, uint32 } from './http2-client.js'

const smuggled = 'GET /smuggled HTTP/1.1\r\nHost: a.example\r\n\r\n'
const methods = ['GET', 'POST', 'HEAD', 'PUT', 'DELETE', 'OPTIONS', 'CONNECT', 'get', 'GET / HTTP/1.1\r\nx:', '']
const paths = ['', '/a?b=c', '*', ' HTTP/1.1\r\nHost: b\r\n\r\n', '\r\n', '#x', '\0', ' x', 'http://b.example/']
const authorities = ['a.example', 'a.example', 'a.example', 'b.example', 'a.example\r\nx: y', 'u@a.example', '']
const fields: readonly Pair[] = [
  ['content-length', '3'],
  ['content-length', '0'],
  ['content-length', '03'],
  ['content-length', '4'],
  ['content-length', '3, 3'],
  ['content-length', '+3'],
  ['content_length', '3'],
  ['transfer-encoding', 'chunked'],
  ['transfer_encoding', 'chunked'],
  ['te', 'trailers'],
  ['connection', 'content-length'],
  ['upgrade', 'websocket'],
  ['host', 'a.example'],
  ['host', 'b.example'],
  ['cookie', 'a=b'],
  ['cookie', `c=d\r\n\r\n${smuggled}`],
  ['expect', '100-continue'],
  ['priority', 'u=1, i'],
  ['trailer', 'x'],
  ['x', `y\r\n\r\n${smuggled}`],
  ['x\r\ncontent-length', '3'],
  ['x: y\r\nz', ''],
  ['X', 'y'],
  ['', 'y'],
  [':path', '/other'],
  [':authority', 'b.example'],
  [':method', 'POST'],
  [':protocol', 'websocket'],
  [':status', '200'],
]
const parts = ['', 'abc', 'x', '0\r\n\r\n', `0\r\n\r\n${smuggled}`, smuggled]

/** One message, from which frames are made once it has a stream. */
interface Message {
  readonly method: string
  readonly path: string
  readonly authority: string
  readonly fields: readonly Pair[]
  readonly fieldsFirst: boolean
  readonly parts: readonly string[]
  readonly padding: number
  readonly end: 'head' | 'last part' | 'empty part' | 'trailers' | 'never'
  readonly trailers: readonly Pair[]
  readonly sectionCut: number
  readonly isIndexed: boolean
}

/** Mostly the first, sometimes another. */
function mostly<T>(usual: T, others: readonly T[]): fc.Arbitrary<T> {
  return fc.oneof({ weight: 12, arbitrary: fc.constant(usual) }, { weight: 1, arbitrary: fc.constantFrom(...others) })
}

/** Mostly none, seldom more than one. */
function few<T>(one: fc.Arbitrary<T>): fc.Arbitrary<T[]> {
  return fc.oneof(
    { weight: 3, arbitrary: fc.array(one, { maxLength: 0 }) },
    { weight: 2, arbitrary: fc.array(one, { maxLength: 2 }) },
  )
}

const message: fc.Arbitrary<Message> = fc.record({
  method: fc.oneof(mostly('POST', methods), mostly('GET', methods)),
  path: mostly('', paths),
  authority: mostly('a.example', authorities),
  fields: few(fc.constantFrom(...fields)),
  fieldsFirst: mostly(false, [true]),
  parts: fc.array(fc.constantFrom(...parts), { maxLength: 3 }),
  padding: mostly(0, [1, 20, 255]),
  end: fc.constantFrom('head', 'last part', 'last part', 'empty part', 'trailers', 'never'),
  trailers: few(fc.constantFrom(...fields)),
  sectionCut: mostly(0, [1, 5, 40]),
  isIndexed: fc.boolean(),
})

/** Literals that the table remembers, so that a later one can be referred to. */
function indexed(pairs: readonly Pair[]): Buffer {
  return Buffer.concat(
    pairs.map((pair) => {
      const bytes = literals([pair])
      bytes[0] = 0x40
      return bytes
    }),
  )
}

function headFrames(streamId: number, section: Buffer, more: { flags: number; cut: number }): Buffer {
  if (more.cut === 0) return frameBytes(FrameType.headers, more.flags | Flag.endHeaders, streamId, section)
  return Buffer.concat([
    frameBytes(FrameType.headers, more.flags, streamId, section.subarray(0, more.cut)),
    frameBytes(FrameType.continuation, Flag.endHeaders, streamId, section.subarray(more.cut)),
  ])
}

function dataFrame(streamId: number, part: string, more: { flags: number; padding: number }): Buffer {
  const bytes = Buffer.from(part, 'latin1')
  if (more.padding === 0) return frameBytes(FrameType.data, more.flags, streamId, bytes)
  const payload = Buffer.concat([Buffer.from([more.padding]), bytes, Buffer.alloc(more.padding)])
  return frameBytes(FrameType.data, more.flags | Flag.padded, streamId, payload)
}

/** The frames of a message; its path tells it from all others of its connection. */
function framesOf(one: Message, streamId: number): Buffer[] {
  const pseudo: Pair[] = [
    [':method', one.method],
    [':scheme', 'https'],
    [':authority', one.authority],
    [':path', `/${streamId}${one.path}`],
  ]
  const pairs = one.fieldsFirst ? [...one.fields, ...pseudo] : [...pseudo, ...one.fields]
  const section = one.isIndexed ? indexed(pairs) : literals(pairs)
  const isBodyless = one.end === 'head'
  const frames = [headFrames(streamId, section, { flags: isBodyless ? Flag.endStream : 0, cut: one.sectionCut })]
  const { padding } = one
  for (const [index, part] of one.parts.entries()) {
    const isEnd = one.end === 'last part' && index === one.parts.length - 1
    frames.push(dataFrame(streamId, part, { flags: isEnd ? Flag.endStream : 0, padding }))
  }
  if (one.end === 'empty part') frames.push(dataFrame(streamId, '', { flags: Flag.endStream, padding }))
  const trailers = { flags: Flag.endStream, cut: 0 }
  if (one.end === 'trailers') frames.push(headFrames(streamId, literals(one.trailers), trailers))
  return frames
}

/** Frames that may stand between those of messages. */
const between = fc.constantFrom(
  frameBytes(FrameType.ping, 0, 0, Buffer.alloc(8)),
  frameBytes(FrameType.settings, 0, 0, settings([4, 10], [1, 0])),
  frameBytes(FrameType.rstStream, 0, 1, uint32(8)),
  frameBytes(FrameType.windowUpdate, 0, 0, uint32(1)),
  frameBytes(FrameType.windowUpdate, 0, 3, uint32(0x7fffffff)),
  frameBytes(FrameType.priorityUpdate, 0, 0, Buffer.concat([uint32(3), Buffer.from('u=0')])),
  frameBytes(FrameType.headers, Flag.endHeaders | Flag.endStream, 5, Buffer.from([0xbe, 0xbf, 0xc0, 0xc1])),
  frameBytes(FrameType.data, Flag.endStream, 1, Buffer.from(smuggled)),
  frameBytes(FrameType.continuation, Flag.endHeaders, 1),
  frameBytes(0xfa, 0xff, 1, Buffer.from('unknown')),
)

const place = fc.double({ min: 0, max: 1, noNaN: true })

const edit = fc.record({
  at: place,
  cut: fc.nat(3),
  splice: fc.constantFrom(
    '',
    '\0',
    '\x01',
    '\x04',
    '\x05',
    '\x08',
    '\x0a',
    '\x40',
    '\x7f',
    '\x80',
    '\xbe',
    '\xff',
    '\r\n',
  ),
})

/** A connection's bytes, one character a byte. */
export const mutatedConnection: fc.Arbitrary<string> = fc
  .record({
    messages: fc.array(message, { minLength: 1, maxLength: 4 }),
    between: few(fc.tuple(place, between)),
    swaps: few(place),
    edits: few(edit),
  })
  .map(({ messages, between, swaps, edits }) => {
    const frames = messages.flatMap((one, index) => framesOf(one, index * 2 + 1))
    for (const [at, frame] of between) frames.splice(Math.floor(at * frames.length), 0, frame)
    for (const at of swaps) swapWithNext(frames, Math.floor(at * frames.length))
    const bytes = Buffer.concat(frames).toString('latin1')
    const edited = edits.reduce((text, { at, cut, splice }) => {
      const start = Math.floor(at * text.length)
      return text.slice(0, start) + splice + text.slice(start + cut)
    }, bytes)
    return preface.toString('latin1') + frameBytes(FrameType.settings, 0, 0).toString('latin1') + edited
  })

function swapWithNext(frames: Buffer[], at: number): void {
  const [one, next] = [frames[at], frames[at + 1]]
  if (one === undefined || next === undefined) return
  frames[at] = next
  frames[at + 1] = one
}
