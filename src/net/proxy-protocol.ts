// Reads the PROXY header, of either version, that a forwarder puts before the first byte of a connection (HAProxy's
// proxy-protocol.txt). The listener asks it. Total: no bytes make it throw, and it keeps no state.

import type { ProxyVerdict } from './proxy-protocol-header.js'
import { readVersion1, signatureV1 } from './proxy-protocol-v1.js'
import { signatureV2 } from './proxy-protocol-v2.js'
import { readVersion2 } from './proxy-protocol-v2-reader.js'

/** Judges the bytes received so far; the answer for a prefix is never contradicted by that for more bytes. */
export function readProxyHeader(bytes: Buffer): ProxyVerdict {
  if (bytes.length === 0) return { kind: 'incomplete', bytesNeeded: 1 }
  if (bytes[0] === signatureV1[0]) return judgeAfter(signatureV1, bytes, readVersion1)
  return judgeAfter(signatureV2, bytes, readVersion2)
}

function judgeAfter(signature: Buffer, bytes: Buffer, read: (bytes: Buffer) => ProxyVerdict): ProxyVerdict {
  const length = Math.min(signature.length, bytes.length)
  if (bytes.compare(signature, 0, length, 0, length) !== 0) return { kind: 'absent' }
  // A byte more may already tell that it is no header, so that its sender waits for nothing.
  if (length < signature.length) return { kind: 'incomplete', bytesNeeded: length + 1 }
  return read(bytes)
}
