// Which lines may stand behind a body. Used by the codecs of both wires where they take trailers in.
import { Field } from './field-names.js'
import type { HeaderBlock } from './header-block.js'

/**
 * RFC 9110 §6.5.1: what frames, routes, authenticates or tells of the client may not come in a trailer, where no rule for heads
 * looks. Whatever we know by name is of that kind, so it does not pass.
 */
export function dropKnownFields(trailers: HeaderBlock): void {
  for (let index = 0; index < trailers.count; index++) {
    if (trailers.ids[index] !== Field.other) trailers.drop(index)
  }
}
