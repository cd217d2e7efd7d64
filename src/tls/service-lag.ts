// How bad it is that files cannot take over from the certificate that serves. Pure; used by the watch of the server and
// by nobody who looks at files alone: what is on disk says nothing about what clients meet.
import { expiryState, type Validity } from './expiry.js'

/** `in_service`: the files are what serves, or are just being written. */
export type ServiceLag = 'in_service' | 'warn' | 'critical'

/** A pair of files beside what serves. */
export interface LaggingPair {
  readonly pendingSinceMs: number | undefined
  /** How long a tool may take to write both halves. */
  readonly graceMs: number
  readonly served: Validity
}

/** Judges files that have been of no use since `pendingSinceMs`, by what serves meanwhile. */
export function serviceLag({ pendingSinceMs, graceMs, served }: LaggingPair, nowMs: number): ServiceLag {
  if (pendingSinceMs === undefined || nowMs - pendingSinceMs < graceMs) return 'in_service'
  const state = expiryState(served, nowMs)
  return state === 'ok' || state === 'warn' ? 'warn' : 'critical'
}
