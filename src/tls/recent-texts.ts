// Remembers what was made of texts that come again and again: thousands of certificates stand over a few authorities. Used
// for blocks of PEM; found by the whole text, so what merely looks alike is something else. Never for private keys.

/** More than the text of any authority; what is longer is made anew each time. */
const textLengthMax = 65_536

/** The values of the texts that were asked for last. `make` must be a pure function of the text. */
export class RecentTexts<Value> {
  readonly #max: number
  readonly #make: (text: string) => Value
  /** The one asked for last at the end. */
  readonly #values = new Map<string, Value>()

  constructor(max: number, make: (text: string) => Value) {
    this.#max = max
    this.#make = make
  }

  get(text: string): Value {
    const value = this.#values.get(text) ?? this.#make(text)
    this.#values.delete(text)
    if (text.length <= textLengthMax) this.#keep(text, value)
    return value
  }

  get size(): number {
    return this.#values.size
  }

  #keep(text: string, value: Value): void {
    this.#values.set(text, value)
    const [oldest] = this.#values.keys()
    if (this.#values.size > this.#max && oldest !== undefined) this.#values.delete(oldest)
  }
}
