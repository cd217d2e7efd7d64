import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import { after, before, describe, test } from 'node:test'
import fc from 'fast-check'
import { chunked, framingOf, unframed } from '../../src/http1/framing.js'
import { RequestHead } from '../../src/http1/request-head.js'
import { objectionTo } from '../../src/http1/request-rules.js'
import { until } from '../support/deadline.js'
import { mutatedRequest } from '../support/mutated-request.js'
import { portOf } from '../support/port.js'
import { RawClient } from '../support/raw-client.js'

const limits = { headerBytes: 65_536, headerCount: 256, targetBytes: 16_384 }
const head = new RequestHead()

/** What our parser makes of the bytes: a head and where it ends, undefined for a refusal, or that bytes are missing. */
function parsed(bytes: string): { end: number; lines: [string, string][] } | 'refused' | 'incomplete' {
  const end = head.parse(Buffer.from(bytes, 'latin1'), 0, limits)
  if (end === 0) return 'incomplete'
  if (end < 0) return 'refused'
  const { headers } = head
  return {
    end,
    lines: Array.from({ length: headers.count }, (_, line) => [headers.nameOf(line), headers.valueOf(line)]),
  }
}

const token = "[!#$%&'*+\\-.^_`|~0-9A-Za-z]"
const naiveHead = new RegExp(
  `^(${token}{1,32}) ([!"$-~]+) HTTP/1\\.[01]\r\n((?:${token}+:[\\t\\x20-\\x7e\\x80-\\xff]*\r\n)*)\r\n`,
)

/** The same by one regular expression, for bytes that hold a whole head. */
function naivelyParsed(bytes: string): { end: number; lines: [string, string][] } | 'refused' {
  const match = naiveHead.exec(bytes)
  if (match === null || !isTarget(match[2] as string, match[1] as string)) return 'refused'
  const lines = (match[3] as string).split('\r\n').slice(0, -1)
  return { end: match[0].length, lines: lines.map(naiveLine) }
}

function naiveLine(line: string): [string, string] {
  const colon = line.indexOf(':')
  return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).replace(/^[ \t]+|[ \t]+$/g, '')]
}

function isTarget(target: string, method: string): boolean {
  return target.startsWith('/') || /^https?:\/\/[^/?]/i.test(target) || (target === '*' && method === 'OPTIONS')
}

describe('the parser of request heads', () => {
  test('agrees with a naive model', () => {
    fc.assert(
      fc.property(mutatedRequest(3), (bytes) => {
        fc.pre(bytes.includes('\r\n\r\n') && !bytes.startsWith('CONNECT '))
        const verdict = parsed(bytes)
        if (verdict !== 'incomplete') assert.deepEqual(verdict, naivelyParsed(bytes))
      }),
      { numRuns: 3_000 },
    )
  })

  test('reads what it accepts from any beginning: no verdict before the last byte, none but this with more behind', () => {
    fc.assert(
      fc.property(mutatedRequest(2), fc.string({ unit: 'binary', maxLength: 20 }), (bytes, more) => {
        const verdict = parsed(bytes)
        if (verdict === 'incomplete' || verdict === 'refused') return
        for (let length = 1; length < verdict.end; length++) assert.equal(parsed(bytes.slice(0, length)), 'incomplete')
        assert.deepEqual(parsed(bytes.slice(0, verdict.end) + more), verdict)
      }),
      { numRuns: 500 },
    )
  })

  test('never mends with later bytes what it has refused', () => {
    fc.assert(
      fc.property(mutatedRequest(3), fc.nat(), (bytes, seed) => {
        const length = seed % (bytes.length + 1)
        if (parsed(bytes.slice(0, length)) === 'refused') assert.equal(parsed(bytes), 'refused')
      }),
      { numRuns: 3_000 },
    )
  })

  test('takes any bytes without throwing', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), fc.nat(20), (bytes, from) => {
        const end = head.parse(Buffer.from(bytes), Math.min(from, bytes.length), limits)
        assert.ok(end >= -1 && end <= bytes.length)
      }),
      { numRuns: 3_000 },
    )
  })
})

interface NodeRequest {
  readonly method: string
  readonly url: string
  readonly lines: [string, string][]
  body: string
  isComplete: boolean
}

describe("what the parser accepts, Node's own accepts too", () => {
  let server: Server
  let requests: NodeRequest[]

  before(async () => {
    server = createServer((request, response) => {
      const { method = '', url = '', rawHeaders } = request
      const lines = rawHeaders.flatMap((name, at): [string, string][] =>
        at % 2 === 0 ? [[name.toLowerCase(), rawHeaders[at + 1] as string]] : [],
      )
      const seen = { method, url, lines, body: '', isComplete: false }
      requests.push(seen)
      request.on('data', (chunk: Buffer) => {
        seen.body += chunk.toString('latin1')
      })
      request.on('end', () => {
        seen.isComplete = request.complete
        response.end('ok')
      })
    }).listen(0, '127.0.0.1')
    await once(server, 'listening')
  })
  after(() => {
    server.closeAllConnections()
    server.close()
  })

  test('with the same method, target, lines and body, and the same next request behind it', async () => {
    await fc.assert(
      fc.asyncProperty(mutatedRequest(2), async (bytes) => {
        const verdict = parsed(bytes)
        fc.pre(verdict !== 'refused' && verdict !== 'incomplete')
        const framing = framingOf(head.headers)
        fc.pre(objectionTo(head, framing) === undefined && framing <= bodyBytesMax && isComparable(verdict.lines))
        const { method, target, authority, minorVersion } = head
        const isLast =
          minorVersion === 0 || verdict.lines.some(([name, value]) => name === 'connection' && /close/i.test(value))
        await sendToNode(bytes.slice(0, verdict.end) + bodyFor(framing), isLast)
        const [first, second] = requests
        const url = authority === undefined ? target : first?.url
        assert.deepEqual(first, { method, url, lines: verdict.lines, body: contentFor(framing), isComplete: true })
        assert.equal(second?.url, isLast ? undefined : '/second')
      }),
      { numRuns: 300 },
    )
  })

  // Differences that are wanted: Node knows a fixed list of methods and takes Upgrade out of our hands; one Host is the
  // handler's rule, not the parser's.
  function isComparable(lines: readonly [string, string][]): boolean {
    return lines.filter(([name]) => name === 'host').length === 1 && nodeMethods.has(head.method)
  }

  async function sendToNode(bytes: string, isLast: boolean): Promise<void> {
    requests = []
    const client = await RawClient.connect(portOf(server))
    client.send(isLast ? bytes : `${bytes}GET /second HTTP/1.1\r\nHost: a.example\r\nConnection: close\r\n\r\n`)
    await until(`Node answers ${JSON.stringify(bytes)}`, () => client.isEnded || client.isClosed)
    client.destroy()
  }
})

const bodyBytesMax = 1_000
const nodeMethods = new Set(['GET', 'POST', 'HEAD', 'PUT', 'DELETE', 'OPTIONS', 'PATCH'])

function contentFor(framing: number): string {
  if (framing === chunked) return 'abc'
  return framing === unframed ? '' : 'x'.repeat(framing)
}

function bodyFor(framing: number): string {
  return framing === chunked ? '3\r\nabc\r\n0\r\n\r\n' : contentFor(framing)
}
