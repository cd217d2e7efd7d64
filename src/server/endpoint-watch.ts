// Says in the log when an endpoint is used no more, and when it is again; keeps the certificates that endpoints have shown, so
// that their end is watched for like that of our own. Used by the server, which tells it of each snapshot.
import type { Log } from '../telemetry/log.js'
import type { DatedThing } from '../tls/expiry-watch.js'
import type { Endpoint } from '../upstream/endpoint.js'
import type { EndpointObserver, HealthChange } from '../upstream/endpoint-options.js'
import type { PeerCertificate } from '../upstream/tls-peer.js'
import type { UpstreamUser } from './upstreams.js'

/** Whom it tells. */
export interface EndpointWatchOptions {
  readonly log: () => Log
  /** Takes everything with a date that endpoints have shown. */
  readonly onCertificates: (things: readonly DatedThing[]) => void
}

/** What all endpoints are seen to do. */
export class EndpointWatch implements EndpointObserver {
  readonly #options: EndpointWatchOptions
  /** By the address that showed it: the copies of a service need not have the same. */
  readonly #shown = new Map<Endpoint, Map<string, PeerCertificate>>()
  #sites: readonly UpstreamUser[] = []

  constructor(options: EndpointWatchOptions) {
    this.#options = options
  }

  /** The endpoints of these sites serve from now on; what others have shown is forgotten. */
  follow(sites: readonly UpstreamUser[]): void {
    this.#sites = sites
    if (this.#shown.size === 0) return
    const users = endpointUsers(sites)
    for (const endpoint of this.#shown.keys()) if (!users.has(endpoint)) this.#shown.delete(endpoint)
    this.#tellCertificates(users)
  }

  onDown({ label }: Endpoint, { by, detail }: HealthChange): void {
    this.#options.log().warn('endpoint_down', `${label} gets no more requests`, { endpoint: label, by, detail })
  }

  onUp({ label }: Endpoint, { by, detail }: HealthChange): void {
    this.#options.log().info('endpoint_up', `${label} gets requests again`, { endpoint: label, by, detail })
  }

  onPeerCertificate(endpoint: Endpoint, certificate: PeerCertificate, address: string): void {
    const shown = this.#shown.get(endpoint) ?? new Map<string, PeerCertificate>()
    shown.set(address, certificate)
    this.#shown.set(endpoint, shown)
    this.#tellCertificates(endpointUsers(this.#sites))
  }

  #tellCertificates(users: EndpointUsers): void {
    const things = [...this.#shown].flatMap(([endpoint, shown]) => {
      const vhosts = users.get(endpoint)
      if (vhosts === undefined) return []
      return [...shown].map(([address, certificate]) => thingOf(certificate, nameOf(endpoint, address), [...vhosts]))
    })
    this.#options.onCertificates(things)
  }
}

/** The sites that forward to each endpoint. */
type EndpointUsers = ReadonlyMap<Endpoint, ReadonlySet<string>>

function endpointUsers(sites: readonly UpstreamUser[]): EndpointUsers {
  const users = new Map<Endpoint, Set<string>>()
  for (const { vhost, upstreams } of sites) {
    for (const { upstream } of upstreams) {
      for (const endpoint of upstream.endpoints) users.set(endpoint, (users.get(endpoint) ?? new Set()).add(vhost.id))
    }
  }
  return users
}

function nameOf({ label }: Endpoint, address: string): string {
  return label.includes(address) ? label : `${label} at ${address}`
}

function thingOf(certificate: PeerCertificate, name: string, vhosts: readonly string[]): DatedThing {
  const { notBeforeMs, notAfterMs, serial, fingerprint256 } = certificate
  return { kind: 'upstream', name, file: '', vhosts, notBeforeMs, notAfterMs, serial, fingerprint256 }
}
