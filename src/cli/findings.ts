// Everything that is wrong with a configuration, and everything worth a warning, in the order of its files.
// Pure; used by check, and by the other commands where sites are missing.
import type { CertificateFiles, Config } from '../config/config.js'
import type { ConfigError } from '../config/config-error.js'
import type { BrokenSite } from '../config/site.js'
import type { ShelvedPair } from '../server/certificate-shelf.js'
import { pairErrors } from '../server/sites.js'
import type { Certificate, CertificateDefect } from '../tls/certificate.js'
import { coverageWarnings } from '../tls/name-coverage.js'
import type { Inspection } from './inspection.js'

/** A mistake or a warning, and the site that it is about where it is about one. */
export interface Finding extends ConfigError {
  readonly vhost?: string
}

/** Mistakes keep something from serving, warnings do not. */
export interface Findings {
  readonly errors: readonly Finding[]
  readonly warnings: readonly Finding[]
}

/** What there is to say of a configuration and its certificates; a certificate's end is not among it. */
export function findingsOf(inspection: Inspection): Findings {
  const { loaded } = inspection
  const uses = loaded.config === undefined ? [] : usedPairs(loaded.config, inspection)
  const errors = [...loaded.errors, ...brokenSiteFindings(loaded.brokenSites), ...uses.flatMap(useErrors)]
  const order = byPlace(loaded.files)
  return { errors: errors.sort(order), warnings: warningsOf(uses).sort(order) }
}

/** The mistakes of sites that are not sound. */
export function brokenSiteFindings(brokenSites: readonly BrokenSite[]): Finding[] {
  return brokenSites.flatMap(({ hosts: [vhost], errors }) => errors.map((error) => withVhost(error, vhost)))
}

/** What keeps a pair from serving: its files, or this runtime. */
export function unusableErrors(pair: ShelvedPair): readonly ConfigError[] {
  const { certificate, files } = pair
  if (certificate === undefined) return pairErrors(pair)
  certificate.secureContext()
  const { contextDefect } = certificate
  return contextDefect === undefined ? [] : [atPair(contextDefect, files)]
}

/** A pair where it is named; without a site it is the fallback's. */
interface PairUse {
  readonly pair: ShelvedPair
  readonly vhost: string | undefined
  readonly hosts: readonly string[]
}

function usedPairs({ fallbackCertificate, vhosts }: Config, { pair }: Inspection): readonly PairUse[] {
  const named = [
    ...(fallbackCertificate === undefined ? [] : [{ files: fallbackCertificate, vhost: undefined, hosts: [] }]),
    ...vhosts.flatMap(({ id, hosts, certificates }) => certificates.map((files) => ({ files, vhost: id, hosts }))),
  ]
  return named.flatMap(({ files, ...use }) => {
    const found = pair(files)
    return found === undefined ? [] : [{ ...use, pair: found }]
  })
}

function useErrors({ pair, vhost }: PairUse): readonly Finding[] {
  return unusableErrors(pair).map((error) => withVhost(error, vhost))
}

function warningsOf(uses: readonly PairUse[]): Finding[] {
  const told = new Set<Certificate>()
  return uses.flatMap(({ pair: { certificate, files }, vhost, hosts }) => {
    if (certificate === undefined) return []
    // What is wrong with the certificate itself is told once, what it lacks for a site is told of each site.
    const own = told.has(certificate) ? [] : certificate.warnings
    told.add(certificate)
    const defects = [...own, ...coverageWarnings(certificate, hosts)]
    return defects.map((defect) => withVhost(atPair(defect, files), vhost))
  })
}

function atPair({ message, hint }: CertificateDefect, { place }: CertificateFiles): ConfigError {
  return { ...place, message, hint }
}

function withVhost(error: ConfigError, vhost: string | undefined): Finding {
  return vhost === undefined ? error : { ...error, vhost }
}

function byPlace(files: readonly string[]): (left: Finding, right: Finding) => number {
  const rank = new Map(files.map((file, index) => [file, index]))
  const rankOf = ({ file }: Finding): number => rank.get(file) ?? files.length
  return (left, right) => rankOf(left) - rankOf(right) || left.line - right.line || left.column - right.column
}
