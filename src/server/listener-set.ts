// The open listeners. A reload opens what is missing first, which may fail, and drains what is surplus last, which cannot.
// Used by the server.
import type { ConfigError } from '../config/config-error.js'
import { ListenError } from '../listener/listen-error.js'
import type { Listener } from '../listener/listener.js'
import type { ListenerPlan } from './snapshot.js'

/** Listeners by the key of their address. */
export type Plans = ReadonlyMap<string, ListenerPlan>

/** What has been opened for a snapshot that does not serve yet. */
export type Preparation =
  | { readonly opened: ReadonlyMap<string, Listener> }
  | { readonly errors: readonly ConfigError[] }

/** The listeners of one server. */
export class ListenerSet {
  readonly #make: (key: string, plan: ListenerPlan) => Listener
  readonly #listeners = new Map<string, Listener>()
  readonly #draining = new Set<Promise<void>>()

  constructor(make: (key: string, plan: ListenerPlan) => Listener) {
    this.#make = make
  }

  /** Opens the listeners that `plans` has and the set has not; on a failure none of them stays open. */
  async prepare(plans: Plans): Promise<Preparation> {
    const opened = new Map<string, Listener>()
    for (const [key, plan] of plans) {
      if (this.#listeners.has(key)) continue
      const listener = this.#make(key, plan)
      const error = await openError(listener, plan)
      if (error === undefined) {
        opened.set(key, listener)
        continue
      }
      for (const other of opened.values()) await other.close(0)
      return { errors: [error] }
    }
    return { opened }
  }

  /** Takes what was prepared and lets go of what `plans` no longer has, within `drainMs`. */
  commit(opened: ReadonlyMap<string, Listener>, plans: Plans, drainMs: number): void {
    for (const [key, listener] of opened) this.#listeners.set(key, listener)
    for (const [key, listener] of this.#listeners) {
      if (plans.has(key)) continue
      this.#listeners.delete(key)
      this.#drain(listener, drainMs)
    }
  }

  get(key: string): Listener | undefined {
    return this.#listeners.get(key)
  }

  /** Each with its key. */
  all(): Iterable<[string, Listener]> {
    return this.#listeners
  }

  /** Connections open on all listeners. */
  get openConnections(): number {
    let open = 0
    for (const { counters } of this.#listeners.values()) open += counters.open
    return open
  }

  /** Drains all and resolves when the last connection is closed, after `drainMs` at the latest. */
  async close(drainMs: number): Promise<void> {
    for (const listener of this.#listeners.values()) this.#drain(listener, drainMs)
    await Promise.all(this.#draining)
  }

  #drain(listener: Listener, drainMs: number): void {
    const drained = listener.close(drainMs).finally(() => this.#draining.delete(drained))
    this.#draining.add(drained)
  }
}

async function openError(listener: Listener, plan: ListenerPlan): Promise<ConfigError | undefined> {
  try {
    await listener.open()
    return undefined
  } catch (error) {
    if (!(error instanceof ListenError)) throw error
    const hint = error.hint === undefined ? {} : { hint: error.hint }
    return { ...plan.config.place, message: error.message, ...hint }
  }
}
