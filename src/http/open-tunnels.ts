// The open tunnels of a server, which outlive the request that opened them: what would be refused now, by another configuration
// or at another time, is ended. Made once; exchanges come and go by themselves.
import type { Failure } from '../wire/failure.js'

/** An exchange that has become a tunnel. */
export interface OpenTunnel {
  /** Why a request for it would not be served now; undefined where it would. */
  refusalNow(): Failure | undefined
  fail(failure: Failure): void
}

/** All open tunnels. */
export class OpenTunnels {
  readonly #open = new Set<OpenTunnel>()
  /** Those that have been given a while. */
  readonly #leaving = new Set<OpenTunnel>()

  get count(): number {
    return this.#open.size
  }

  /** Takes a tunnel that has just opened; one that a reload refused meanwhile ends at once. */
  add(tunnel: OpenTunnel): void {
    this.#open.add(tunnel)
    this.#end(tunnel)
  }

  remove(tunnel: OpenTunnel): void {
    this.#open.delete(tunnel)
    this.#leaving.delete(tunnel)
  }

  /** Gives those that are refused now so many milliseconds to end, and ends what is still refused then. */
  review(withinMs: number): void {
    const refused: OpenTunnel[] = []
    for (const tunnel of this.#open) {
      if (!this.#leaving.has(tunnel) && tunnel.refusalNow() !== undefined) refused.push(tunnel)
    }
    if (refused.length === 0) return
    for (const tunnel of refused) this.#leaving.add(tunnel)
    setTimeout(() => this.#leave(refused), withinMs).unref()
  }

  #leave(refused: readonly OpenTunnel[]): void {
    for (const tunnel of refused) if (this.#leaving.delete(tunnel)) this.#end(tunnel)
  }

  #end(tunnel: OpenTunnel): void {
    const refusal = tunnel.refusalNow()
    if (refusal !== undefined) tunnel.fail(refusal)
  }
}
