// Judges the head of a response (RFC 9113 §8.3.2, §8.1.1). Pure; used by the intake of responses once HPACK has delivered
// the section.
import { isBodiless } from '../wire/status.js'
import type { FieldSection } from './field-section.js'

/** The status of a response, 0 where it has none that exists. */
export function statusOf(section: FieldSection): number {
  const { status } = section
  if (status === undefined || !/^[1-9]\d\d$/.test(status)) return 0
  return Number(status)
}

/** What is known of a response beside its section. */
export interface ResponseFacts {
  readonly method: string
  readonly status: number
  /** The content-length, as `bodyBytesOf` tells it. */
  readonly bodyBytes: number
  /** Whether the head ends the stream. */
  readonly body: 'none' | 'follows'
}

/** Why a response is malformed, which is a stream error; undefined for a sound one. */
export function responseFault(section: FieldSection, facts: ResponseFacts): string | undefined {
  const { method, status, bodyBytes, body } = facts
  if (section.fault !== undefined) return section.fault
  if (section.isTooLarge) return 'the headers exceed their limits'
  if (status === 0) return 'no :status, or one that does not exist'
  // RFC 9113 §8.6.
  if (status === 101) return 'a 101, which does not exist here'
  if (status < 200) return body === 'none' ? 'an informational head that ends the stream' : undefined
  if (Number.isNaN(bodyBytes)) return 'a content-length that is not one number'
  const mayLackBody = method === 'HEAD' || isBodiless(status)
  return body === 'none' && bodyBytes > 0 && !mayLackBody ? 'a content-length without a body' : undefined
}
