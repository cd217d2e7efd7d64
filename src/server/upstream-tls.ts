// The TLS settings of upstreams, built once for equal files and kept across reloads. Used where sites are judged, for a
// site whose upstream cannot be trusted is as broken as one whose certificate cannot be used, and by the snapshot.
import type { Answer, VhostConfig } from '../config/config.js'
import type { ConfigError } from '../config/config-error.js'
import type { PemFile, UpstreamTlsConfig } from '../config/upstream-config.js'
import { makeTlsContext, type TlsContext, type TlsMistake } from '../upstream/tls-context.js'

type Built = TlsContext | readonly TlsMistake[]

/** Built settings by what they are made of. */
export class UpstreamTlsShelf {
  #built = new Map<string, Built>()

  /** What is wrong with the files of the upstreams that a site uses, at the places that name them. */
  errorsOf(vhost: VhostConfig): readonly ConfigError[] {
    return answersOf(vhost).flatMap((answer) => {
      const tls = answer.kind === 'upstream' ? answer.upstream.tls : undefined
      if (tls === undefined) return []
      const built = this.#build(tls)
      return 'secureContext' in built ? [] : built.map((mistake) => placed(mistake, tls))
    })
  }

  /** The settings to dial with; undefined where they are broken, so that nothing is dialled without them. */
  get(tls: UpstreamTlsConfig): TlsContext | undefined {
    const built = this.#build(tls)
    return 'secureContext' in built ? built : undefined
  }

  /** Forgets what none of these uses. */
  retain(inUse: Iterable<UpstreamTlsConfig>): void {
    if (this.#built.size === 0) return
    const kept = new Map<string, Built>()
    for (const tls of inUse) {
      const key = tlsKey(tls)
      const built = this.#built.get(key)
      if (built !== undefined) kept.set(key, built)
    }
    this.#built = kept
  }

  #build(tls: UpstreamTlsConfig): Built {
    const key = tlsKey(tls)
    const known = this.#built.get(key)
    if (known !== undefined) return known
    const built = makeTlsContext(tls)
    this.#built.set(key, built)
    return built
  }
}

/** Equal for settings that cannot be told apart on the wire. */
export function tlsKey({ ca, client, verify, minVersion }: UpstreamTlsConfig): string {
  return JSON.stringify([ca?.hash, client?.cert.hash, client?.key.hash, verify, minVersion])
}

/** Every answer that a site may give. */
export function answersOf({ answer, routes }: VhostConfig): readonly Answer[] {
  return routes.length === 0 ? [answer] : [answer, ...routes.map((route) => route.answer)]
}

function placed({ key, path, message, hint }: TlsMistake, { ca, client }: UpstreamTlsConfig): ConfigError {
  const files: Readonly<Record<TlsMistake['key'], PemFile | undefined>> = { ca, cert: client?.cert, key: client?.key }
  const { file = path, line = 1, column = 1 } = files[key]?.place ?? {}
  return { file, line, column, message: `${path}: ${message}`, hint }
}
