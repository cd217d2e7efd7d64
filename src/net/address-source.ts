// How people name addresses: a range, a single address, or a set by its name. Pure.

import { type Cidr, parseCidr } from './cidr.js'
import type { Parsed } from './parsed.js'

/** A range, or the name of a set of ranges; `written` is what people wrote. */
export type AddressSource =
  | { readonly kind: 'range'; readonly written: string; readonly range: Cidr }
  | { readonly kind: 'set'; readonly written: string }

// No address looks like one: those have a dot or a colon.
const setNamePattern = /^[A-Za-z][A-Za-z0-9_-]{0,63}$/

/** Whether a text can be the name of a set. */
export function isSetName(text: string): boolean {
  return setNamePattern.test(text)
}

/** Reads `192.0.2.0/24`, `2001:db8::1` or `cloudflare`. */
export function parseAddressSource(raw: string): Parsed<AddressSource> {
  if (isSetName(raw)) return { value: { kind: 'set', written: raw } }
  const parsed = parseCidr(raw)
  return 'mistake' in parsed ? parsed : { value: { kind: 'range', written: raw, range: parsed.value } }
}
