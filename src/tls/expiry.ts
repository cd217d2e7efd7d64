// How near a certificate is to its end, by its own lifetime. Pure; used by ExpiryWatch and by the `certs` command.
// A warning must come only when the renewal that was due has been missed, for 160 hours as for 10 years.

/** Worse from left to right; `not_yet_valid` stands apart. */
export type ExpiryState = 'ok' | 'warn' | 'critical' | 'expired' | 'not_yet_valid'

/** From when to when a certificate is valid, both ends included (RFC 5280 §4.1.2.5); milliseconds since the epoch. */
export interface Validity {
  readonly notBeforeMs: number
  readonly notAfterMs: number
}

const dayMs = 86_400_000

/** With L the lifetime: `warn` at min(L/4, 30 days) left, `critical` at min(L/10, 7 days) left. */
export function expiryState({ notBeforeMs, notAfterMs }: Validity, nowMs: number): ExpiryState {
  const lifetimeMs = notAfterMs - notBeforeMs
  const leftMs = notAfterMs - nowMs
  if (leftMs < 0) return 'expired'
  if (nowMs < notBeforeMs) return 'not_yet_valid'
  if (leftMs <= Math.min(lifetimeMs / 10, 7 * dayMs)) return 'critical'
  return leftMs <= Math.min(lifetimeMs / 4, 30 * dayMs) ? 'warn' : 'ok'
}

/** Whether a certificate is valid at this moment. */
export function isValidAt({ notBeforeMs, notAfterMs }: Validity, nowMs: number): boolean {
  return notBeforeMs <= nowMs && nowMs <= notAfterMs
}

/**
 * When a renewal is due: with a third of the lifetime left, half of it where that is below ten days (RFC 9773, and what
 * the common clients do).
 */
export function renewalDueMs({ notBeforeMs, notAfterMs }: Validity): number {
  const lifetimeMs = notAfterMs - notBeforeMs
  return notAfterMs - lifetimeMs / (lifetimeMs < 10 * dayMs ? 2 : 3)
}

/**
 * Days until the end, negative after it. Always rounded down, so that it never promises more than there is: to whole
 * days, and within two days of the end to hundredths (a quarter of an hour).
 */
export function daysLeft({ notAfterMs }: Validity, nowMs: number): number {
  const days = (notAfterMs - nowMs) / dayMs
  return Math.abs(days) >= 2 ? Math.floor(days) : Math.floor(days * 100) / 100
}
