// Which extensions a certificate carries and which of them must be understood. Used by the path check, which refuses
// what it does not understand whole, and for leaves that are read without OpenSSL.
import { type DerElement, derTag, fieldTag, objectIdentifier, wholeChildren, wholeElements } from './der.js'

/** One extension as it is marked. */
export interface ExtensionMark {
  readonly identifier: string
  readonly isCritical: boolean
}

/** The extensions of a certificate in order; undefined where its DER is not strict, so that two readers might differ. */
export function extensionMarks(certificateDer: Buffer): readonly ExtensionMark[] | undefined {
  const [certificate] = wholeElements(certificateDer) ?? []
  const [toBeSigned] = wholeChildren(certificate) ?? []
  const fields = wholeChildren(toBeSigned)
  if (fields === undefined) return undefined
  const wrapper = fields.find(({ tag }) => tag === fieldTag.extensions)
  if (wrapper === undefined) return []
  const [list, ...others] = wholeChildren(wrapper) ?? []
  if (list?.tag !== derTag.sequence || others.length > 0) return undefined
  const marks = wholeChildren(list)?.map(markOf)
  return marks?.every((mark) => mark !== undefined) ? marks : undefined
}

const derTrue = 0xff

/** `SEQUENCE { identifier, critical BOOLEAN DEFAULT FALSE, value OCTET STRING }` (RFC 5280 §4.1). */
function markOf(extension: DerElement): ExtensionMark | undefined {
  if (extension.tag !== derTag.sequence) return undefined
  const fields = wholeChildren(extension) ?? []
  const [identifier, second] = fields
  const isCritical = second?.tag === derTag.boolean
  const wanted = [derTag.objectIdentifier, ...(isCritical ? [derTag.boolean] : []), derTag.octetString]
  if (identifier === undefined || fields.map(({ tag }) => tag).join() !== wanted.join()) return undefined
  // DER leaves a default out and writes true as 0xff (X.690 §11.1, §11.5).
  if (isCritical && !(second.content.length === 1 && second.content[0] === derTrue)) return undefined
  return { identifier: objectIdentifier(identifier), isCritical }
}
