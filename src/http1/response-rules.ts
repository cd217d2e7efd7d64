// What the head of a response says about its body and its connection (RFC 9112 §6.3, §9.3). Used by the client side.
import { unknownLength } from '../wire/body.js'
import { Field } from '../wire/field-names.js'
import type { HeaderBlock } from '../wire/header-block.js'
import { isBodiless } from '../wire/status.js'
import type { BodyFraming } from './body-reader.js'
import { hasConnectionOption } from './connection-options.js'
import { badFraming, chunked, framingOf, unframed, unknownCoding } from './framing.js'
import type { ParsedResponseHead } from './response-head.js'

/** How the body of a response ends. */
export interface ResponseFraming {
  readonly kind: BodyFraming | 'none'
  readonly lengthBytes: number
}

const none: ResponseFraming = { kind: 'none', lengthBytes: 0 }
const inChunks: ResponseFraming = { kind: 'chunked', lengthBytes: unknownLength }
const untilClose: ResponseFraming = { kind: 'until_close', lengthBytes: unknownLength }

/** How the body of the response to a request with `method` ends; undefined where its head contradicts itself. */
export function responseFraming(head: ParsedResponseHead, method: string): ResponseFraming | undefined {
  const framing = framingOf(head.headers)
  if (framing === badFraming || framing === unknownCoding) return undefined
  if (framing === chunked && head.minorVersion === 0) return undefined
  if (method === 'HEAD' || isBodiless(head.status) || framing === 0) return none
  if (framing === chunked) return inChunks
  return framing === unframed ? untilClose : { kind: 'length', lengthBytes: framing }
}

/** Whether the connection may be used again. An HTTP/1.0 endpoint is not asked to: its habits differ too much. */
export function isPersistent(head: ParsedResponseHead, framing: ResponseFraming): boolean {
  if (head.minorVersion === 0 || framing.kind === 'until_close') return false
  return !hasConnectionOption(head.headers, 'close')
}

/** How long the endpoint says it keeps an idle connection, less a second for the way; infinite where it says nothing. */
export function idleHintMs(headers: HeaderBlock): number {
  const index = headers.find(Field.keepAlive)
  const hint = index === -1 ? null : /(?:^|[,\s])timeout=(\d{1,6})/i.exec(headers.valueOf(index))
  return hint === null ? Number.POSITIVE_INFINITY : Math.max(0, Number(hint[1]) * 1000 - 1000)
}
