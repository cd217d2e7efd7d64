// Which hosts a connection is told that it serves (ORIGIN, RFC 8336): a client that knows sends their requests over it, and
// asks for no others. Used by the snapshot; made for a certificate when its first connection comes, and kept.
import { formatOrigin } from '../net/origin.js'
import type { Certificate } from '../tls/certificate.js'

/** The least that every peer takes in one frame (RFC 9113 §4.2); hosts that do not fit get connections of their own. */
const payloadBytesMax = 16_384

/** What one listener announces. */
export class AnnouncedOrigins {
  readonly #hosts: readonly string[]
  readonly #certificates: (serverName: string) => readonly Certificate[] | undefined
  readonly #payloads = new Map<readonly Certificate[], Buffer>()

  /** `hosts` are the patterns of all sites of the listener; what a wildcard stands for cannot be announced. */
  constructor(options: {
    readonly hosts: readonly string[]
    readonly certificates: (serverName: string) => readonly Certificate[] | undefined
  }) {
    this.#hosts = options.hosts.filter((host) => !host.startsWith('*.'))
    this.#certificates = options.certificates
  }

  /** The payload of the frame on a connection for this server name; undefined where there is nothing to tell. */
  payloadFor(serverName: string | null): Buffer | undefined {
    const certificates = serverName === null ? undefined : this.#certificates(serverName)
    if (certificates === undefined || certificates.length === 0) return undefined
    let payload = this.#payloads.get(certificates)
    if (payload === undefined) {
      payload = originPayload(this.#hosts.filter((host) => certificates.every((each) => each.covers(host))))
      this.#payloads.set(certificates, payload)
    }
    return payload.length === 0 ? undefined : payload
  }
}

/** The origins of hosts as RFC 8336 §2.1 lists them, as many as fit; visitors reach https on its own port. */
export function originPayload(hosts: readonly string[]): Buffer {
  const entries: Buffer[] = []
  let bytes = 0
  for (const host of hosts) {
    const origin = Buffer.from(formatOrigin({ scheme: 'https', host, port: 443 }), 'latin1')
    bytes += 2 + origin.length
    if (bytes > payloadBytesMax) break
    entries.push(Buffer.from([origin.length >> 8, origin.length & 0xff]), origin)
  }
  return Buffer.concat(entries)
}
