// How urgent a response is and whether it wants to come whole (RFC 9218 §4), read from a Priority header or a
// PRIORITY_UPDATE frame. Pure; what is not understood is ignored, as the RFC demands.
import { isTokenByte } from '../wire/character.js'
import type { HeaderBlock } from '../wire/header-block.js'

/** Urgency (0 to 7, the least is the most urgent) times two, and one more where responses come one after another. */
export type Priority = number

const defaultUrgency = 3

/**
 * Nobody said anything. RFC 9218 would have such responses one after another; but a connection is shared by many visitors
 * of a CDN, who owe each other nothing (§13.1), so they take turns.
 */
export const unprioritized: Priority = defaultUrgency * 2

/** Urgency from 0 to 7. */
export function urgencyOf(priority: Priority): number {
  return priority >> 1
}

/** Whether its bytes are of no use before the last has come (`i` was not said). */
export function isSequential(priority: Priority): boolean {
  return (priority & 1) === 1
}

/** Frames for each turn: the urgent get more, and nobody starves. */
export function framesPerTurnOf(priority: Priority): number {
  const urgency = urgencyOf(priority)
  if (urgency === defaultUrgency) return 2
  return urgency < defaultUrgency ? 4 : 1
}

/** What a header line says. */
export function priorityOfLine(block: HeaderBlock, line: number): Priority {
  return parsePriority(block.bytes, block.valueStartOf(line), block.valueEndOf(line))
}

/** Reads a dictionary of structured fields (RFC 9651 §4.2.2); one that is malformed says nothing at all. */
export function parsePriority(bytes: Uint8Array, start: number, end: number): Priority {
  return scanner.dictionary(bytes, start, end)
}

// What a value is, beside the whole numbers from 0 on.
const isTrue = -1
const isFalse = -2
const isOther = -3
const isMalformed = -4

const letterU = 0x75
const letterI = 0x69

/** Walks over one dictionary without making anything of it. */
class Scanner {
  #bytes: Uint8Array = new Uint8Array(0)
  #at = 0
  #end = 0

  dictionary(bytes: Uint8Array, start: number, end: number): Priority {
    this.#bytes = bytes
    this.#at = start
    this.#end = end
    let urgency = defaultUrgency
    let isIncremental = false
    this.#skipBlanks()
    if (this.#at === end) return unprioritized
    for (;;) {
      const key = this.#key()
      const value = key === isMalformed ? isMalformed : this.#member()
      if (value === isMalformed) return unprioritized
      if (key === letterU && value >= 0 && value <= 7) urgency = value
      if (key === letterI && (value === isTrue || value === isFalse)) isIncremental = value === isTrue
      this.#skipBlanks()
      if (this.#at === end) return urgency * 2 + (isIncremental ? 0 : 1)
      if (!this.#takes(0x2c)) return unprioritized
      this.#skipBlanks()
    }
  }

  get #byte(): number {
    return this.#at < this.#end ? (this.#bytes[this.#at] as number) : 0
  }

  #takes(byte: number): boolean {
    if (this.#byte !== byte) return false
    this.#at++
    return true
  }

  #skipBlanks(): void {
    while (this.#byte === 0x20 || this.#byte === 0x09) this.#at++
  }

  /** The letter of a key that is one letter, 0 for every longer one. */
  #key(): number {
    const first = this.#byte
    if (!isLetter(first) && first !== 0x2a) return isMalformed
    const start = this.#at++
    while (isKeyByte(this.#byte)) this.#at++
    return this.#at === start + 1 ? first : 0
  }

  #member(): number {
    if (!this.#takes(0x3d)) return this.#parameters(isTrue)
    return this.#parameters(this.#takes(0x28) ? this.#innerList() : this.#bareItem())
  }

  /** Passes over what follows a value, and hands the value through. */
  #parameters(value: number): number {
    while (value !== isMalformed && this.#takes(0x3b)) {
      this.#skipBlanks()
      if (this.#key() === isMalformed) return isMalformed
      if (this.#takes(0x3d) && this.#bareItem() === isMalformed) return isMalformed
    }
    return value
  }

  #innerList(): number {
    for (;;) {
      while (this.#takes(0x20));
      if (this.#takes(0x29)) return isOther
      if (this.#parameters(this.#bareItem()) === isMalformed) return isMalformed
      if (this.#byte !== 0x20 && this.#byte !== 0x29) return isMalformed
    }
  }

  #bareItem(): number {
    const byte = this.#byte
    if (isDigit(byte) || byte === 0x2d) return this.#number()
    if (this.#takes(0x3f)) return this.#boolean()
    if (this.#takes(0x22)) return this.#string()
    if (this.#takes(0x3a)) return this.#byteSequence()
    return this.#token()
  }

  #number(): number {
    const isNegative = this.#takes(0x2d)
    const start = this.#at
    let value = 0
    while (isDigit(this.#byte)) value = value * 10 + (this.#bytes[this.#at++] as number) - 0x30
    const length = this.#at - start
    if (length === 0 || length > 15) return isMalformed
    if (!this.#takes(0x2e)) return isNegative ? isOther : value
    const fractionStart = this.#at
    while (isDigit(this.#byte)) this.#at++
    const fractionLength = this.#at - fractionStart
    return length > 12 || fractionLength === 0 || fractionLength > 3 ? isMalformed : isOther
  }

  #boolean(): number {
    if (this.#takes(0x31)) return isTrue
    return this.#takes(0x30) ? isFalse : isMalformed
  }

  #string(): number {
    while (this.#byte >= 0x20 && this.#byte < 0x7f) {
      if (this.#takes(0x22)) return isOther
      if (this.#takes(0x5c) && this.#byte !== 0x22 && this.#byte !== 0x5c) return isMalformed
      this.#at++
    }
    return isMalformed
  }

  #byteSequence(): number {
    while (isBase64Byte(this.#byte)) this.#at++
    return this.#takes(0x3a) ? isOther : isMalformed
  }

  #token(): number {
    const first = this.#byte | 0x20
    if (!isLetter(first) && first !== 0x2a) return isMalformed
    while (isTokenByte[this.#byte] === 1 || this.#byte === 0x3a || this.#byte === 0x2f) this.#at++
    return isOther
  }
}

/** One for the process: it is done with a field before the next one comes. */
const scanner = new Scanner()

function isDigit(byte: number): boolean {
  return byte >= 0x30 && byte <= 0x39
}

function isLetter(byte: number): boolean {
  return byte >= 0x61 && byte <= 0x7a
}

function isKeyByte(byte: number): boolean {
  return isLetter(byte) || isDigit(byte) || byte === 0x5f || byte === 0x2d || byte === 0x2e || byte === 0x2a
}

function isBase64Byte(byte: number): boolean {
  return isLetter(byte | 0x20) || isDigit(byte) || byte === 0x2b || byte === 0x2f || byte === 0x3d
}
