// Names for requests that no other request of any server has, for less than a microsecond each. Used by exchanges.
import { randomBytes } from 'node:crypto'

const prefix = randomBytes(9).toString('base64url')
let count = 0

/** A new id: 12 random characters of this process, then a running number. */
export function nextRequestId(): string {
  count++
  return `${prefix}-${count.toString(36)}`
}
