// Which switch of protocols a head asks for or agrees to (RFC 9110 §7.8). Used by both sides of HTTP/1.
import { isTokenByte } from '../wire/character.js'
import { Field } from '../wire/field-names.js'
import type { HeaderBlock } from '../wire/header-block.js'
import { hasConnectionOption } from './connection-options.js'

// HTTP behind an upgrade would be requests that nobody routes (h2c smuggling), TLS bytes that nobody reads.
const refusedProtocol = /^(?:h2c?|http|tls)(?:[/.]|$)/

/**
 * The protocol of the one Upgrade line, in lower case; undefined where there is none, or more than one choice, or one that
 * would carry requests past the routing: such a line is not followed, which RFC 9110 allows.
 */
export function upgradeOf(headers: HeaderBlock): string | undefined {
  const index = headers.find(Field.upgrade)
  if (index === -1 || headers.find(Field.upgrade, index + 1) !== -1) return undefined
  if (!hasConnectionOption(headers, 'upgrade')) return undefined
  const protocol = headers.valueOf(index).toLowerCase()
  return isProtocol(protocol) && !refusedProtocol.test(protocol) ? protocol : undefined
}

/** A name, or a name and a version behind a slash. */
function isProtocol(text: string): boolean {
  const parts = text.split('/')
  return parts.length <= 2 && parts.every(isToken)
}

function isToken(text: string): boolean {
  for (let at = 0; at < text.length; at++) if (isTokenByte[text.charCodeAt(at)] !== 1) return false
  return text.length > 0
}
