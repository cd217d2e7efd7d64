// The configuration as the program uses it: names normalised, paths absolute, defaults filled in. Made by load.ts; only
// the server's snapshot turns it into what runs.

import type { BindAddress, Origin } from '../net/address.js'
import type { Place } from './config-error.js'
import type { MainInput } from './schema.js'

/** The whole of it; `vhosts` holds the sound sites alone. */
export interface Config {
  readonly listeners: readonly ListenerConfig[]
  readonly fallbackCertificate: CertificateFiles | undefined
  /** The main file's sites first, then those of the included files in order of path. */
  readonly vhosts: readonly VhostConfig[]
  readonly reload: Readonly<MainInput['reload']>
  readonly timeouts: Readonly<MainInput['timeouts']>
  readonly limits: Readonly<MainInput['limits']>
  readonly log: LogConfig
}

/** A listener. */
export interface ListenerConfig {
  readonly name: string
  readonly bind: BindAddress
  readonly tls: boolean
  /** Never true on a plain listener. */
  readonly http2: boolean
  readonly redirectToHttps: boolean
  readonly proxyProtocol: MainInput['listeners'][number]['proxyProtocol']
  readonly place: Place
}

/** A certificate and its key as absolute paths, and the place that names them. */
export interface CertificateFiles {
  readonly cert: string
  readonly key: string
  readonly place: Place
}

/** A site. */
export interface VhostConfig {
  /** The first host pattern; what the log calls the site. */
  readonly id: string
  readonly place: Place
  /** Patterns in the spelling of `normalizeSitePattern`. */
  readonly hosts: readonly string[]
  /** Names of the listeners that serve it; all are defined. */
  readonly listeners: readonly string[]
  /** Empty only where no listener of the site is TLS. */
  readonly certificates: readonly CertificateFiles[]
  readonly answer: Answer
  /** Whether `Via` is appended. */
  readonly via: boolean
  readonly log: { readonly access: boolean }
}

/** How a site answers. */
export type Answer =
  | { readonly kind: 'upstream'; readonly origin: Origin }
  | { readonly kind: 'respond'; readonly status: number; readonly contentType: string; readonly body: string }
  | { readonly kind: 'redirect'; readonly to: Origin; readonly status: 301 | 302 | 303 | 307 | 308 }

/** The log; `file` is absolute, null is stdout. */
export interface LogConfig {
  readonly level: MainInput['log']['level']
  readonly access: boolean
  readonly file: string | null
  readonly query: boolean
  /** In lower case. */
  readonly requestHeaders: readonly string[]
  readonly place: Place
}
