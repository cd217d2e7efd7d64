// The configuration as the program uses it: names normalised, paths absolute, defaults filled in. Made by load.ts; only
// the server's snapshot turns it into what runs.

import type { BindAddress, Origin } from '../net/address.js'
import type { AddressTest } from '../net/cidr.js'
import type { CipherSuite } from '../net/cipher-suites.js'
import type { Place } from './config-error.js'
import type { TextFile } from './files.js'
import type { MainInput } from './schema.js'
import type { PemFile, UpstreamConfig, UpstreamTimeouts } from './upstream-config.js'

/** The whole of it; `vhosts` holds the sound sites alone. */
export interface Config {
  readonly listeners: readonly ListenerConfig[]
  /** By name, used or not. */
  readonly addressSets: ReadonlyMap<string, AddressSetConfig>
  readonly fallbackCertificate: CertificateFiles | undefined
  /** By name: those that have one, used or not. A site may have an earlier version. */
  readonly upstreams: ReadonlyMap<string, UpstreamConfig>
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
  /** The defaults on a plain listener, where they mean nothing. */
  readonly tlsSettings: { readonly minVersion: MinVersion; readonly ciphers: readonly CipherSuite[] }
  /** Never true on a plain listener. */
  readonly http2: boolean
  /** Never true without HTTP/2. */
  readonly announceOrigins: boolean
  readonly redirectToHttps: boolean
  readonly proxyProtocol: ProxyProtocolConfig | undefined
  /** Whose request headers name the client; empty where nobody's do. */
  readonly clientAddress: readonly ClaimSourceConfig[]
  /** Never true without `clientAddress`. */
  readonly trustProto: boolean
  /** Undefined takes everybody. */
  readonly allow: AllowConfig<'peer' | 'claimed'> | undefined
  readonly place: Place
}

/** Addresses, as ranges of their own and as sets. */
export interface AddressesConfig {
  /** As people wrote them: what differs differs here, or in the hash of a set. */
  readonly written: readonly string[]
  readonly ranges: AddressTest
  /** As they stood when this was read; `Config.addressSets` has the current ones of the same names. */
  readonly sets: readonly AddressSetConfig[]
}

/** A set of addresses: a file that a load follows, and what it holds; never nothing. */
export interface AddressSetConfig {
  readonly name: string
  /** Absolute. */
  readonly path: string
  readonly hash: string
  readonly addresses: AddressTest
}

/** Which PROXY headers are believed. */
export interface ProxyProtocolConfig {
  readonly from: AddressesConfig
  readonly mode: 'require' | 'optional' | 'off'
  readonly versions: readonly (1 | 2)[]
  readonly place: Place
}

/** Whose word is taken for who the client is. */
export interface ClaimSourceConfig {
  readonly from: AddressesConfig
  readonly header: string
  readonly hopsMax: number
}

/** The only addresses that are taken. */
export interface AllowConfig<Kind> {
  readonly from: AddressesConfig
  readonly of: Kind
  readonly place: Place
}

/** A version of TLS. */
export type MinVersion = 'TLSv1.2' | 'TLSv1.3'

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
  /** Undefined is as the listeners say. */
  readonly minVersion: MinVersion | undefined
  /** What clients must prove; undefined asks for nothing. */
  readonly clientCertificate: ClientCertificateConfig | undefined
  /** For paths that no route is for. */
  readonly answer: Answer
  /** The longest paths first, so that the first that fits is the right one. */
  readonly routes: readonly RouteConfig[]
  readonly headers: {
    readonly request: RequestHeaderPolicyConfig
    readonly response: HeaderPolicyConfig
  }
  /** At most one a status, in order of status. */
  readonly errorPages: readonly ErrorPageConfig[]
  readonly limits: {
    /** Infinity where there is no bound. */
    readonly requestBodyBytes: number
  }
  /** Undefined serves everybody. */
  readonly allow: AllowConfig<'peer' | 'claimed' | 'client'> | undefined
  /** Whether `Via` is appended. */
  readonly via: boolean
  readonly log: { readonly access: boolean }
}

/** What a site demands of client certificates. */
export interface ClientCertificateConfig {
  readonly mode: 'require' | 'request'
  /** Not yet proved to hold authorities. */
  readonly ca: PemFile
  /** One of each kind that is given; fingerprints in lower case without colons. */
  readonly allow: {
    readonly fingerprints: readonly string[]
    readonly sans: readonly string[]
    readonly subjects: readonly string[]
  }
  /** Undefined tells services nothing. */
  readonly forward: { readonly header: string; readonly chainHeader: string | undefined } | undefined
}

/** How a site or a route answers. */
export type Answer = ForwardAnswer | RespondAnswer | RedirectAnswer

/** Passes requests on. */
export interface ForwardAnswer {
  readonly kind: 'upstream'
  /** As it stood when this site was read. */
  readonly upstream: UpstreamConfig
  /** The site's own, the rest as the upstream says. */
  readonly timeouts: UpstreamTimeouts
}

/** Answers with a fixed body. */
export interface RespondAnswer {
  readonly kind: 'respond'
  readonly status: number
  readonly contentType: string
  readonly body: string
}

/** Sends the client to `origin` + `path` + the rest of the request's path, with its query. */
export interface RedirectAnswer {
  readonly kind: 'redirect'
  /** Undefined stays on the host of the request; never so for a whole site. */
  readonly origin: Origin | undefined
  /** Begins with a slash and does not end with one; or empty. */
  readonly path: string
  readonly status: 301 | 302 | 303 | 307 | 308
}

/** Another answer for some paths of a site. */
export interface RouteConfig {
  /** Begins with a slash and does not end with one, but for `/` itself; it is for itself and what follows a slash after it. */
  readonly path: string
  readonly answer: Answer
  /** Whether the service gets the path without the prefix; true only where the answer is an upstream. */
  readonly stripPrefix: boolean
  readonly place: Place
}

/** What becomes of header lines on their way through; never a name that has to do with framing or the connection. */
export interface HeaderPolicyConfig {
  /** Names as written, no two the same but for case; each replaces all lines of its name. */
  readonly set: readonly HeaderLineConfig[]
  /** In lower case; none of them is set. */
  readonly remove: readonly string[]
}

/** The same for requests. */
export interface RequestHeaderPolicyConfig extends HeaderPolicyConfig {
  /** What the service gets as Host or `:authority`, as written; undefined passes on that of the client. Not in `set`. */
  readonly host: string | undefined
}

/** One header line. */
export interface HeaderLineConfig {
  readonly name: string
  readonly value: string
}

/** The body of an answer that Hostward makes itself. */
export interface ErrorPageConfig {
  /** 400 to 599. */
  readonly status: number
  readonly contentType: string
  /** The same object for all pages of one load that are the same file. */
  readonly page: TextFile
}

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
