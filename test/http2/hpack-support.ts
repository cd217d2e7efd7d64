// What the HPACK tests share: decoding to pairs, encoding from pairs.

import { FieldSection, type SectionKind } from '../../src/http2/field-section.js'
import { FrameWriter } from '../../src/http2/frame-writer.js'
import type { HpackDecoder } from '../../src/http2/hpack-decoder.js'
import type { HpackEncoder } from '../../src/http2/hpack-encoder.js'
import { HeaderBlock } from '../../src/wire/header-block.js'

export type Pair = readonly [name: string, value: string]

export const roomy = { headerBytes: 1 << 20, headerCount: 10_000 }

const section = new FieldSection()

/** Decodes one section; undefined where the coding is wrong. The section stays readable until the next call. */
export function decode(
  decoder: HpackDecoder,
  wire: Buffer,
  kind: SectionKind = 'request',
  limits = roomy,
): FieldSection | undefined {
  section.begin(kind, wire.length, limits)
  return decoder.decode(wire, 0, wire.length, section) ? section : undefined
}

/** All fields of a section as pairs, pseudo-headers first. */
export function pairsOf(from: FieldSection): Pair[] {
  const pseudo: Pair[] = []
  for (const name of ['method', 'scheme', 'authority', 'path', 'protocol', 'status'] as const) {
    const value = from[name]
    if (value !== undefined) pseudo.push([`:${name}`, value])
  }
  const { block } = from
  return [...pseudo, ...Array.from({ length: block.count }, (_, at): Pair => [block.nameOf(at), block.valueOf(at)])]
}

/** Encodes a response head. */
export function encode(encoder: HpackEncoder, status: number, pairs: readonly Pair[]): Buffer {
  const writer = new FrameWriter()
  encoder.encodeResponse(writer, status, blockOf(pairs))
  return writer.bytes.subarray(0, writer.at)
}

/** A header block with these lines as received ones. */
export function blockOf(pairs: readonly Pair[]): HeaderBlock {
  const block = new HeaderBlock()
  const lines = pairs.map(([name, value]) => `${name}: ${value}\r\n`)
  block.reset(Buffer.from(lines.join(''), 'latin1'))
  let at = 0
  for (const [name, value] of pairs) {
    const nameEnd = at + name.length
    const valueEnd = nameEnd + 2 + value.length
    block.push(at, nameEnd, nameEnd + 2, valueEnd, valueEnd + 2, 0)
    at = valueEnd + 2
  }
  return block
}
