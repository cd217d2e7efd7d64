// Reads the options of Connection lines (RFC 9110 §7.6.1). Used by both sides of HTTP/1.
import { Field } from '../wire/field-names.js'
import type { HeaderBlock } from '../wire/header-block.js'

/** Whether a Connection line names `option` (lower case). */
export function hasConnectionOption(headers: HeaderBlock, option: string): boolean {
  for (let index = headers.find(Field.connection); index !== -1; index = headers.find(Field.connection, index + 1)) {
    if (headers.hasValue(index, option)) return true
    if (!headers.hasValue(index, 'keep-alive') && namesOption(headers.valueOf(index), option)) return true
  }
  return false
}

function namesOption(value: string, option: string): boolean {
  return value
    .toLowerCase()
    .split(',')
    .some((token) => token.trim() === option)
}
