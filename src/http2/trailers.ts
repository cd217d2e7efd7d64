// Judges the trailers of a message (RFC 9113 §8.1). Pure; used by the intakes of requests and of responses.
import type { FieldSection } from './field-section.js'
import { Flag } from './frames.js'
import type { ReceivingStream } from './session.js'

/** Why a section that came behind a head is malformed, which is a stream error; undefined for sound trailers. */
export function trailersFault(stream: ReceivingStream, section: FieldSection, flags: number): string | undefined {
  if (section.fault !== undefined) return section.fault
  if (!(flags & Flag.endStream)) return 'trailers that do not end the message'
  if (section.isTooLarge) return 'trailers over the limits'
  const lengthBytes = stream.body?.lengthBytes ?? -1
  return lengthBytes >= 0 && stream.bytesReceived !== lengthBytes ? 'a body shorter than announced' : undefined
}
