// The words of HTTP/2 framing (RFC 9113 §4, §6, §7): types, flags, settings and error codes. Used by everything here.

/** Frame types (RFC 9113 §6, RFC 8336, RFC 9218 §7). */
export const FrameType = {
  data: 0,
  headers: 1,
  priority: 2,
  rstStream: 3,
  settings: 4,
  pushPromise: 5,
  ping: 6,
  goaway: 7,
  windowUpdate: 8,
  continuation: 9,
  origin: 0x0c,
  priorityUpdate: 0x10,
} as const

/** Frame flags; `ack` and `endStream` are the same bit on different types. */
export const Flag = { ack: 0x1, endStream: 0x1, endHeaders: 0x4, padded: 0x8, priority: 0x20 } as const

/** Error codes (RFC 9113 §7). */
export const ErrorCode = {
  noError: 0,
  protocolError: 1,
  internalError: 2,
  flowControlError: 3,
  settingsTimeout: 4,
  streamClosed: 5,
  frameSizeError: 6,
  refusedStream: 7,
  cancel: 8,
  compressionError: 9,
  connectError: 10,
  enhanceYourCalm: 11,
  inadequateSecurity: 12,
  http11Required: 13,
} as const

const errorNames = [
  'NO_ERROR',
  'PROTOCOL_ERROR',
  'INTERNAL_ERROR',
  'FLOW_CONTROL_ERROR',
  'SETTINGS_TIMEOUT',
  'STREAM_CLOSED',
  'FRAME_SIZE_ERROR',
  'REFUSED_STREAM',
  'CANCEL',
  'COMPRESSION_ERROR',
  'CONNECT_ERROR',
  'ENHANCE_YOUR_CALM',
  'INADEQUATE_SECURITY',
  'HTTP_1_1_REQUIRED',
]

/** An error code as people know it; the number where nobody does. */
export function errorName(code: number): string {
  return errorNames[code] ?? `error ${code}`
}

/** Settings (RFC 9113 §6.5.2, RFC 8441, RFC 9218 §2.1). */
export const Setting = {
  headerTableSize: 1,
  enablePush: 2,
  maxConcurrentStreams: 3,
  initialWindowSize: 4,
  maxFrameSize: 5,
  maxHeaderListSize: 6,
  enableConnectProtocol: 8,
  noRfc7540Priorities: 9,
} as const

/** What a client sends before its first frame (RFC 9113 §3.4). */
export const preface = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n')

export const frameHeadBytes = 9

/** The largest payload that Hostward sends and takes: the least that every peer must take (RFC 9113 §4.2). */
export const frameBytesMax = 16_384

/** The largest flow-control window (RFC 9113 §6.9.1), which is also the largest stream id. */
export const windowBytesMax = 0x7fffffff

/** The window that connections, and streams until told otherwise, start with (RFC 9113 §6.9.2). */
export const initialWindowBytes = 65_535

/** Reads 31 bits, ignoring the reserved one. */
export function readUint31(bytes: Uint8Array, at: number): number {
  return (readUint32(bytes, at) & 0x7fffffff) >>> 0
}

/** Reads 32 bits. */
export function readUint32(bytes: Uint8Array, at: number): number {
  const high = ((bytes[at] as number) << 8) | (bytes[at + 1] as number)
  const low = ((bytes[at + 2] as number) << 8) | (bytes[at + 3] as number)
  return ((high << 16) | low) >>> 0
}

/** Reads 24 bits. */
export function readUint24(bytes: Uint8Array, at: number): number {
  return ((bytes[at] as number) << 16) | ((bytes[at + 1] as number) << 8) | (bytes[at + 2] as number)
}
