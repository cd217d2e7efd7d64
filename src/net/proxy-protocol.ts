// Recognises and reads the PROXY header, of either version, that a forwarder puts before the first byte of a connection
// (HAProxy's proxy-protocol.txt). The listener asks it. Total: no bytes make it throw, and it keeps no state.

import type { ProxyVerdict } from './proxy-protocol-header.js'
import { readVersion1, signatureV1 } from './proxy-protocol-v1.js'
import { signatureV2 } from './proxy-protocol-v2.js'
import { readVersion2 } from './proxy-protocol-v2-reader.js'

/** The version of the header that bytes begin; `absent` is told at the first byte that no header has there. */
export type RecognizedHeader = 1 | 2 | 'absent' | 'incomplete'

/** Whether the bytes received so far begin a header, and which. */
export function recognizeProxyHeader(bytes: Buffer): RecognizedHeader {
  const version = bytes[0] === signatureV1[0] ? 1 : 2
  const signature = version === 1 ? signatureV1 : signatureV2
  const length = Math.min(signature.length, bytes.length)
  if (bytes.compare(signature, 0, length, 0, length) !== 0) return 'absent'
  return length < signature.length ? 'incomplete' : version
}

/** Judges the bytes received so far; the answer for a prefix is never contradicted by that for more bytes. */
export function readProxyHeader(bytes: Buffer): ProxyVerdict {
  const recognized = recognizeProxyHeader(bytes)
  if (recognized === 'absent') return { kind: 'absent' }
  if (recognized === 'incomplete') return { kind: 'incomplete', bytesNeeded: bytes.length + 1 }
  return recognized === 1 ? readVersion1(bytes) : readVersion2(bytes)
}
