// What a balancing policy may know of a request, read from the exchange when it asks. One object serves a whole process:
// policies ask at once or not at all, and most of them do not.
import type { RequestFacts } from '../upstream/upstream.js'
import type { Exchange } from './exchange.js'

/** The facts of the exchange that `read` was given last. */
class ExchangeFacts implements RequestFacts {
  #exchange: Exchange | undefined

  read(exchange: Exchange): this {
    this.#exchange = exchange
    return this
  }

  get clientAddress(): string {
    return this.#exchange?.clientAddress ?? ''
  }

  get host(): string {
    return this.#exchange?.host ?? ''
  }

  get path(): string {
    return this.#exchange?.downstream.request.target.split('?', 1)[0] ?? ''
  }

  header(name: string): string | undefined {
    const values = this.#exchange?.downstream.request.headers.valuesOf(name) ?? []
    return values.length === 0 ? undefined : values.join(', ')
  }

  cookie(name: string): string | undefined {
    for (const line of this.#exchange?.downstream.request.headers.valuesOf('cookie') ?? []) {
      for (const pair of line.split(';')) {
        const at = pair.indexOf('=')
        if (at !== -1 && pair.slice(0, at).trim() === name) return pair.slice(at + 1).trim()
      }
    }
    return undefined
  }
}

const facts = new ExchangeFacts()

/** What a policy may ask about `exchange`, until the next call. */
export function factsOf(exchange: Exchange): RequestFacts {
  return facts.read(exchange)
}
