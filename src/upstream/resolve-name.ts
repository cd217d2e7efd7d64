// The addresses of one name, looked up again while the name is in use. Owned by an endpoint, which drains connections to
// addresses that are gone. A lookup that fails takes nothing away: the last good addresses stay.
import { nowMs } from '../wire/deadlines.js'
import type { AddressSeeker, AddressSource } from './resolve-addresses.js'
import type { LookupObserver, Lookups } from './resolve-lookups.js'

/** How often a name is looked up, in milliseconds. */
export interface LookupPace {
  /** Between two lookups while connections are made or open: what stands in for the TTL, which getaddrinfo hides. */
  readonly refreshMs: number
  /** Addresses older than this are not dialled before a lookup has ended. */
  readonly staleMs: number
  /** Between two lookups that failures ask for; as long a failed lookup is the answer. */
  readonly retryMs: number
  /** How long an address that was not reachable stands behind the others. */
  readonly suspectMs: number
}

/** The pace of a name for which nothing else is said. */
export const defaultLookupPace: LookupPace = { refreshMs: 5000, staleMs: 30_000, retryMs: 1000, suspectMs: 10_000 }

/** What the addresses of a name are made of. */
export interface NameOptions {
  readonly name: string
  readonly lookups: Lookups
  readonly pace?: LookupPace | undefined
  readonly observer: NameObserver
}

/** Hears what a name stands for. */
export interface NameObserver {
  /** Whether connections are open: as long the name is looked up again and again. */
  isInUse(): boolean
  /** What the name stands for has changed; the first lookup counts. */
  onAddresses(addresses: readonly string[]): void
}

/** A name and what it stands for; closed by its endpoint. */
export class ResolvedName implements AddressSource, LookupObserver {
  readonly #options: NameOptions
  readonly #pace: LookupPace
  readonly #seekers = new Set<AddressSeeker>()
  /** When which address was found not to be reachable. */
  readonly #suspects = new Map<string, number>()
  #addresses: readonly string[] = []
  #goodMs = Number.NEGATIVE_INFINITY
  #startedMs = Number.NEGATIVE_INFINITY
  #failure: { readonly reason: string; readonly atMs: number } | undefined
  #isLookingUp = false
  #wasAsked = false
  #turn = 0
  #timer: NodeJS.Timeout | undefined
  #isClosed = false

  constructor(options: NameOptions) {
    this.#options = options
    this.#pace = options.pace ?? defaultLookupPace
  }

  find(seeker: AddressSeeker): void {
    this.#wasAsked = true
    const ageMs = nowMs() - this.#goodMs
    if (ageMs > this.#pace.refreshMs) this.#lookUp()
    if (ageMs > this.#pace.staleMs && this.#isLookingUp) this.#seekers.add(seeker)
    else this.#answer(seeker)
  }

  findAgain(seeker: AddressSeeker): void {
    this.#lookUp()
    if (this.#isLookingUp) this.#seekers.add(seeker)
    else setImmediate(() => seeker.onNotFound(`${this.#options.name} was looked up just now`))
  }

  forget(seeker: AddressSeeker): void {
    this.#seekers.delete(seeker)
  }

  onReached(address: string): void {
    this.#suspects.delete(address)
  }

  /** A container that has moved is found by looking up at once, not at the next refresh. */
  onUnreachable(address: string): void {
    if (this.#addresses.includes(address)) this.#suspects.set(address, nowMs())
    this.#lookUp()
  }

  /** Looks nothing up any more on its own. */
  close(): void {
    this.#isClosed = true
    clearTimeout(this.#timer)
  }

  onLookedUp(addresses: readonly string[]): void {
    const hasChanged = !isSameSet(addresses, this.#addresses)
    this.#addresses = addresses
    this.#goodMs = nowMs()
    this.#failure = undefined
    this.#endLookup()
    for (const address of this.#suspects.keys()) if (!addresses.includes(address)) this.#suspects.delete(address)
    if (hasChanged && !this.#isClosed) this.#options.observer.onAddresses(addresses)
    for (const seeker of this.#takeSeekers()) this.#answer(seeker)
  }

  onLookupFailed(reason: string): void {
    this.#failure = { reason, atMs: nowMs() }
    this.#endLookup()
    for (const seeker of this.#takeSeekers()) this.#answer(seeker)
  }

  /** Unless one is under way, or the last began just now. */
  #lookUp(): void {
    if (this.#isLookingUp || this.#isClosed || nowMs() - this.#startedMs < this.#pace.retryMs) return
    this.#isLookingUp = true
    this.#startedMs = nowMs()
    this.#options.lookups.find(this.#options.name, this)
  }

  #endLookup(): void {
    this.#isLookingUp = false
    this.#refreshLater()
  }

  #refreshLater(): void {
    clearTimeout(this.#timer)
    if (!this.#isClosed) this.#timer = setTimeout(() => this.#refresh(), this.#pace.refreshMs).unref()
  }

  /** A name that nobody uses is left alone until somebody asks. */
  #refresh(): void {
    const isInUse = this.#wasAsked || this.#options.observer.isInUse()
    this.#wasAsked = false
    if (!isInUse) return
    this.#lookUp()
    if (!this.#isLookingUp) this.#refreshLater()
  }

  #answer(seeker: AddressSeeker): void {
    if (this.#addresses.length > 0) return seeker.onFound(this.#inOrder())
    const reason = this.#failure?.reason ?? 'it is no longer used'
    setImmediate(() => seeker.onNotFound(`${this.#options.name}: ${reason}`))
  }

  #takeSeekers(): readonly AddressSeeker[] {
    const seekers = [...this.#seekers]
    this.#seekers.clear()
    return seekers
  }

  /** Each new connection begins one address further; those that were not reachable just now come last. */
  #inOrder(): readonly string[] {
    const addresses = this.#addresses
    const first = this.#turn++ % addresses.length
    const rotated = [...addresses.slice(first), ...addresses.slice(0, first)]
    if (this.#suspects.size === 0) return rotated
    const sinceMs = nowMs() - this.#pace.suspectMs
    const isSuspect = (address: string) => (this.#suspects.get(address) ?? Number.NEGATIVE_INFINITY) > sinceMs
    return [...rotated.filter((address) => !isSuspect(address)), ...rotated.filter(isSuspect)]
  }
}

function isSameSet(some: readonly string[], others: readonly string[]): boolean {
  return some.length === others.length && some.every((address) => others.includes(address))
}
