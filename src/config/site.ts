// One site of any file: what is wrong with it, and what becomes of it when nothing is. Used by load.ts.

import { dirname, resolve } from 'node:path'
import { normalizeSitePattern } from '../net/hostname.js'
import { toAddresses } from './address-sets.js'
import { toAnswer, toRoutes } from './answer.js'
import { servingListeners } from './check.js'
import { checkSite, type SiteSurrounding } from './check-site.js'
import { toClientCertificate } from './client-certificate.js'
import type { AddressSetConfig, CertificateFiles, VhostConfig } from './config.js'
import type { ConfigError } from './config-error.js'
import { readErrorPages } from './error-pages.js'
import { toHeaders } from './header-policy.js'
import type { Claimant, HostClaim } from './host-conflicts.js'
import { isWithin, locate, rebase } from './mistake.js'
import type { Source } from './parse.js'
import type { MainInput } from './schema.js'
import { type VhostInput, vhostSchema } from './schema-vhost.js'
import type { Texts } from './texts.js'
import type { UpstreamDirectory } from './upstream-directory.js'
import { validate } from './validate.js'
import { listAt, type Path, valueAt } from './value.js'

/** A site that is not sound, or a file of sites that cannot be used as a whole. */
export interface BrokenSite {
  readonly file: string
  /** Which of the file's sites, from 0; undefined is the whole file. */
  readonly index: number | undefined
  /** Its normalised patterns, as far as they can be read. */
  readonly hosts: readonly string[]
  readonly errors: readonly ConfigError[]
}

/** Where a site stands. */
export interface SitePosition {
  readonly source: Source
  readonly path: Path
  readonly index: number
}

/** A site as read: the names it claims, sound or not, and either its value or its mistakes. */
export interface ReadSite extends Claimant {
  readonly file: string
  readonly index: number | undefined
  readonly errors: readonly ConfigError[]
  /** None where it has mistakes. */
  readonly certificates: readonly CertificateFiles[]
  readonly build: ((main: SiteDefaults) => VhostConfig) | undefined
}

/** What a site inherits from the main file. */
export type SiteDefaults = Pick<MainInput, 'via' | 'log' | 'timeouts' | 'limits'> & {
  readonly upstreams: UpstreamDirectory
  readonly addressSets: ReadonlyMap<string, AddressSetConfig>
}

/** What a site may refer to. */
export type SiteContext = Omit<SiteSurrounding, 'file'>

/** Reads the site at a position. */
export function readSite(position: SitePosition, around: SiteContext): ReadSite {
  const { source, path, index } = position
  const { listeners, texts } = around
  const value = valueAt(source.value, path)
  const unreadable = source.mistakes.filter((mistake) => isWithin(mistake.path, path))
  const { output, mistakes } = validate(vhostSchema, value, 'a site')
  const found = rebase(path, [...mistakes, ...checkSite(value, { ...around, file: source.file })])
  const others = found.filter((mistake) => !unreadable.some((cause) => isWithin(mistake.path, cause.path)))
  const serving = servingListeners(value, listeners)
  const certificates = output === undefined ? [] : certificatesOf(output, source, path)
  const surroundings = { ...position, listeners: serving, certificates, texts }
  const build = output && ((main: SiteDefaults) => toVhost(output, { ...surroundings, main }))
  return {
    file: source.file,
    index,
    claims: readClaims(position),
    listeners: serving,
    errors: [...unreadable, ...others].map((mistake) => locate(mistake, source)),
    certificates,
    build,
  }
}

/** The names that a site claims, as far as they can be read. */
export function readClaims({ source, path }: Pick<SitePosition, 'source' | 'path'>): readonly HostClaim[] {
  return listAt(valueAt(source.value, path), 'hosts').flatMap((raw, index) => {
    const parsed = typeof raw === 'string' ? normalizeSitePattern(raw) : undefined
    if (parsed === undefined || 'mistake' in parsed) return []
    return [{ host: parsed.value, place: source.place([...path, 'hosts', index], 'value') }]
  })
}

interface Surroundings extends SitePosition {
  readonly listeners: readonly string[]
  readonly certificates: readonly CertificateFiles[]
  readonly texts: Texts
  readonly main: SiteDefaults
}

function toVhost(input: VhostInput, around: Surroundings): VhostConfig {
  const { source, path, listeners, certificates, texts, main } = around
  const answering = { source, main, timeouts: input.timeouts }
  const { requestBodyBytes = main.limits.requestBodyBytes } = input.limits
  return {
    id: input.hosts[0] ?? '',
    place: source.place(path, 'value'),
    hosts: input.hosts,
    listeners,
    certificates,
    minVersion: input.tls.minVersion,
    clientCertificate: toClientCertificate(input.clientCertificate, { source, path, texts }),
    answer: toAnswer(input, { ...answering, path }),
    routes: toRoutes(input.routes, { ...answering, path: [...path, 'routes'] }),
    headers: toHeaders(input.headers),
    errorPages: readErrorPages(input.errors, { file: source.file, texts }),
    limits: { requestBodyBytes: requestBodyBytes ?? Number.POSITIVE_INFINITY },
    allow: input.allow && {
      of: input.allow.of,
      from: toAddresses(input.allow.from, main.addressSets),
      place: source.place([...path, 'allow'], 'key'),
    },
    via: input.via ?? main.via,
    log: { access: input.log.access ?? main.log.access },
  }
}

function certificatesOf({ certificate }: VhostInput, source: Source, path: Path): readonly CertificateFiles[] {
  if (certificate === undefined) return []
  if (!Array.isArray(certificate)) return [toCertificateFiles(certificate, source, [...path, 'certificate'])]
  return certificate.map((pair, index) => toCertificateFiles(pair, source, [...path, 'certificate', index]))
}

/** A pair with absolute paths and its place. */
export function toCertificateFiles(
  pair: { readonly cert: string; readonly key: string },
  source: Source,
  path: Path,
): CertificateFiles {
  const directory = dirname(source.file)
  const place = source.place(path, 'value')
  return { cert: resolve(directory, pair.cert), key: resolve(directory, pair.key), place }
}
