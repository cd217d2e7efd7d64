// Pools of one endpoint kept apart by client: a connection that began with a client's addresses (PROXY protocol) must carry
// nobody else's requests. Used by endpoints; the pool of a client is gone with its last connection.
import type { ProxiedAddresses } from '../net/proxy-protocol-v2.js'
import type { ConnectionPool } from './connection-pool.js'

/** One pool a client, the one that was used longest ago first. */
export class ClientPools {
  readonly #pools = new Map<string, ConnectionPool>()
  readonly #make: (client: ProxiedAddresses) => ConnectionPool

  constructor(make: (client: ProxiedAddresses) => ConnectionPool) {
    this.#make = make
  }

  /** The pool of a client's connection. */
  of(client: ProxiedAddresses): ConnectionPool {
    const key = keyOf(client)
    const pool = this.#pools.get(key) ?? this.#make(client)
    this.#pools.delete(key)
    this.#pools.set(key, pool)
    return pool
  }

  /** Forgets a pool that nobody uses. */
  forget(client: ProxiedAddresses): void {
    this.#pools.delete(keyOf(client))
  }

  /** All of them. */
  all(): readonly ConnectionPool[] {
    return [...this.#pools.values()]
  }

  /** Closes an unused connection; false where each is in use. */
  closeIdle(): boolean {
    for (const pool of this.#pools.values()) if (pool.closeIdle()) return true
    return false
  }
}

function keyOf({ source, destination }: ProxiedAddresses): string {
  return `${source.address} ${source.port} ${destination.address} ${destination.port}`
}
