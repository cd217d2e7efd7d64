// Takes DER apart: tags, lengths, contents, and nothing that ASN.1 could do beyond that. Used for what node:crypto does
// not tell of a certificate. Never throws and never reads past the end: what does not fit ends the list.

/** One element: its first byte and what stands in it. */
export interface DerElement {
  readonly tag: number
  readonly content: Buffer
}

/** The tags that certificates are made of (X.690 §8). */
export const derTag = {
  boolean: 0x01,
  integer: 0x02,
  bitString: 0x03,
  octetString: 0x04,
  null: 0x05,
  objectIdentifier: 0x06,
  utf8String: 0x0c,
  printableString: 0x13,
  utcTime: 0x17,
  generalizedTime: 0x18,
  sequence: 0x30,
  set: 0x31,
} as const

/** The tags of a certificate's own fields (RFC 5280 §4.1). */
export const fieldTag = { version: 0xa0, extensions: 0xa3 } as const

/** More elements side by side than any certificate has. */
const elementsMax = 65_536

/** The elements that stand side by side in `bytes`, up to the first that does not fit. */
export function derElements(bytes: Buffer): DerElement[] {
  const found: DerElement[] = []
  let offset = 0
  while (offset + 2 <= bytes.length && found.length < elementsMax) {
    const tag = bytes.readUInt8(offset)
    const extent = extentOf(bytes, offset + 1)
    // Tags of several bytes occur nowhere in X.509.
    if (extent === undefined || (tag & 0x1f) === 0x1f || extent.end > bytes.length) break
    found.push({ tag, content: bytes.subarray(extent.start, extent.end) })
    offset = extent.end
  }
  return found
}

/** The elements inside of one; none in one that is not there. */
export function derChildren(element: DerElement | undefined): DerElement[] {
  return element === undefined ? [] : derElements(element.content)
}

/** The elements of `bytes` where they fill it to the last byte with the shortest lengths (X.690 §10.1); undefined elsewhere. */
export function wholeElements(bytes: Buffer): readonly DerElement[] | undefined {
  const elements = derElements(bytes)
  const filled = elements.reduce((sum, { content }) => sum + headBytes(content.length) + content.length, 0)
  return filled === bytes.length ? elements : undefined
}

/** The same inside of an element; undefined also where there is none. */
export function wholeChildren(element: DerElement | undefined): readonly DerElement[] | undefined {
  return element === undefined ? undefined : wholeElements(element.content)
}

function headBytes(contentBytes: number): number {
  if (contentBytes < 0x80) return 2
  return 2 + Math.ceil(Math.log2(contentBytes + 1) / 8)
}

/** An object identifier as people write it, `2.5.29.17`; empty where it is cut off or padded. X.690 §8.19. */
export function objectIdentifier({ content }: DerElement): string {
  if (content.length > identifierBytesMax) return ''
  const bytes = content.toString('latin1')
  const known = knownIdentifiers.get(bytes)
  if (known !== undefined) return known
  const text = identifierText(content)
  if (knownIdentifiers.size < identifiersKeptMax) knownIdentifiers.set(bytes, text)
  return text
}

/** Certificates are made of a few dozen; no known one is longer than twenty bytes. */
const knownIdentifiers = new Map<string, string>()
const identifiersKeptMax = 1_024
const identifierBytesMax = 64

function identifierText(content: Buffer): string {
  const arcs: number[] = []
  let arc = 0
  let isInside = false
  for (const byte of content) {
    if (byte === 0x80 && !isInside) return ''
    arc = arc * 128 + (byte & 0x7f)
    isInside = (byte & 0x80) !== 0
    if (isInside) continue
    arcs.push(arc)
    arc = 0
  }
  const [first, ...others] = arcs
  if (first === undefined || isInside) return ''
  const root = Math.min(Math.floor(first / 40), 2)
  return [root, first - root * 40, ...others].join('.')
}

/** From where to where the content of an element reaches whose length begins at `offset`. */
function extentOf(bytes: Buffer, offset: number): { readonly start: number; readonly end: number } | undefined {
  const first = bytes.readUInt8(offset)
  const start = offset + 1
  if (first < 0x80) return { start, end: start + first }
  const lengthBytes = first & 0x7f
  // 0x80 is the indefinite length, which DER forbids.
  if (lengthBytes === 0 || lengthBytes > 4 || start + lengthBytes > bytes.length) return undefined
  const contentStart = start + lengthBytes
  return { start: contentStart, end: contentStart + bytes.readUIntBE(start, lengthBytes) }
}
