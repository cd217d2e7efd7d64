// Asks the system's resolver for the addresses of names, so that /etc/hosts, mDNS and a container's DNS count as for every
// other program. Shared by all endpoints. What getaddrinfo gives has no TTL, and asking DNS beside it would lose those.
import { lookup } from 'node:dns/promises'

/** Gives the literal addresses of a name, or rejects with the runtime's error. */
export type LookUp = (name: string) => Promise<readonly string[]>

/** Hears how a lookup ended: exactly one of the two, once. */
export interface LookupObserver {
  onLookedUp(addresses: readonly string[]): void
  onLookupFailed(reason: string): void
}

/** More addresses of one name than anybody needs. */
const addressesMax = 64

// The runtime gives slow work half of its four threads; more lookups at once would only wait there, where nothing bounds
// them, and where one that hangs cannot be taken back.
const defaultConcurrency = 2

/** Names that are being looked up: each once at a time, few at once. */
export class Lookups {
  readonly #lookUp: LookUp
  readonly #concurrency: number
  readonly #waiting = new Map<string, LookupObserver[]>()
  readonly #queue: string[] = []
  #running = 0

  constructor(options: { readonly lookUp?: LookUp; readonly concurrency?: number } = {}) {
    this.#lookUp = options.lookUp ?? lookUpBySystem
    this.#concurrency = options.concurrency ?? defaultConcurrency
  }

  /** Looks a name up; who asks while it is being looked up shares the answer. */
  find(name: string, observer: LookupObserver): void {
    const observers = this.#waiting.get(name)
    if (observers !== undefined) {
      observers.push(observer)
      return
    }
    this.#waiting.set(name, [observer])
    this.#queue.push(name)
    this.#startNext()
  }

  #startNext(): void {
    if (this.#running >= this.#concurrency) return
    const name = this.#queue.shift()
    if (name !== undefined) void this.#run(name)
  }

  async #run(name: string): Promise<void> {
    this.#running++
    const answer = await this.#answerOf(name)
    this.#running--
    const observers = this.#waiting.get(name) ?? []
    this.#waiting.delete(name)
    this.#startNext()
    for (const observer of observers) {
      if (typeof answer === 'string') observer.onLookupFailed(answer)
      else observer.onLookedUp(answer)
    }
  }

  /** The addresses, or why there are none. */
  async #answerOf(name: string): Promise<readonly string[] | string> {
    try {
      const addresses = [...new Set(await this.#lookUp(name))].slice(0, addressesMax)
      return addresses.length === 0 ? 'it has no address' : addresses
    } catch (error) {
      return reasonOf(error)
    }
  }
}

async function lookUpBySystem(name: string): Promise<readonly string[]> {
  return (await lookup(name, { all: true })).map(({ address }) => address)
}

const knownReasons: Readonly<Record<string, string>> = {
  ENOTFOUND: 'no such name',
  EAI_AGAIN: 'the name server does not answer',
  EAI_FAIL: 'the name server failed',
  EAI_NODATA: 'it has no address',
}

function reasonOf(error: unknown): string {
  const { code = '', message } = error as NodeJS.ErrnoException
  const known = knownReasons[code]
  return known === undefined ? message : `${known} (${code})`
}
