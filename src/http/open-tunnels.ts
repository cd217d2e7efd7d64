// The tunnels of one site, which outlive the request that opened them: a reload that keeps the site hands them on, one that
// removes it ends them. Made with the site; exchanges come and go by themselves.
import { Failure } from '../wire/failure.js'

/** An exchange that has become a tunnel. */
export interface OpenTunnel {
  fail(failure: Failure): void
}

const siteRemoved = new Failure('site_removed', 'the site is configured no more, or demands another client certificate')

/** The open tunnels of a site. */
export class OpenTunnels {
  readonly #open = new Set<OpenTunnel>()
  #isClosed = false

  get count(): number {
    return this.#open.size
  }

  add(tunnel: OpenTunnel): void {
    this.#open.add(tunnel)
    if (this.#isClosed) tunnel.fail(siteRemoved)
  }

  remove(tunnel: OpenTunnel): void {
    this.#open.delete(tunnel)
  }

  /** Ends all of them, and whatever a request under way still opens. */
  close(): void {
    this.#isClosed = true
    for (const tunnel of [...this.#open]) tunnel.fail(siteRemoved)
  }
}
