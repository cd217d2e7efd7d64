// What loads keep from one to the next, and what they give to what they make. Owned by the reload; the commands that look
// without serving make one for a single load.
import { LoadMemory } from '../config/load-memory.js'
import type { FileUse } from '../files/watched-set.js'
import type { EndpointObserver } from '../upstream/endpoint-options.js'
import { CertificateShelf } from './certificate-shelf.js'
import { ClientTrustShelf } from './client-trusts.js'
import { Disk } from './disk.js'
import { UpstreamTlsShelf } from './upstream-tls.js'

/** The stock of one configuration. */
export class Stock {
  readonly disk = new Disk()
  readonly memory = new LoadMemory()
  readonly certificates = new CertificateShelf()
  readonly upstreamTls = new UpstreamTlsShelf()
  readonly clientTrusts = new ClientTrustShelf()
  /** Hears of the health of endpoints once they serve. */
  readonly endpointObserver: EndpointObserver

  /** What the last load has read, in the versions that it has read, for the watch. */
  get uses(): readonly FileUse[] {
    return [...this.certificates.uses, ...this.disk.uses]
  }

  constructor(endpointObserver: EndpointObserver) {
    this.endpointObserver = endpointObserver
  }
}
