// Everything that is wrong with a configuration, and everything worth a warning, in the order of its files.
// Pure; used by check, and by the other commands where sites are missing.
import type { CertificateFiles, Config, VhostConfig } from '../config/config.js'
import type { ConfigError } from '../config/config-error.js'
import type { BrokenSite } from '../config/site.js'
import type { ShelvedPair } from '../server/certificate-shelf.js'
import { ownDefects, siteDefects } from '../server/pair-defects.js'
import { pairErrors, type ServingSite } from '../server/sites.js'
import type { Certificate } from '../tls/certificate.js'
import type { CertificateDefect } from '../tls/defects.js'
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
  const { config } = loaded
  const uses = config === undefined ? [] : usedPairs(config, inspection)
  const sites = config?.vhosts ?? []
  const trust = sites.flatMap((vhost) => inspection.trustErrors(vhost).map((error) => withVhost(error, vhost.id)))
  const errors = [...loaded.errors, ...brokenSiteFindings(loaded.brokenSites), ...trust, ...uses.flatMap(useErrors)]
  const order = byPlace(loaded.files)
  const warnings = [...warningsOf(uses), ...(config === undefined ? [] : closedSites(config))]
  return { errors: errors.sort(order), warnings: warnings.sort(order) }
}

/** Where sites are closed because nobody can show a certificate there. */
function closedSites({ vhosts, listeners }: Config): Finding[] {
  const plain = listeners.filter(({ tls, redirectToHttps }) => !tls && !redirectToHttps).map(({ name }) => name)
  return vhosts.flatMap(({ id: vhost, clientCertificate, listeners: serving, place }) => {
    if (clientCertificate?.mode !== 'require') return []
    return serving
      .filter((name) => plain.includes(name))
      .map((name): Finding => {
        const message = `the site is closed on listener "${name}": without TLS nobody can show the certificate it demands`
        return { ...place, vhost, message, hint: 'name TLS listeners alone under listeners' }
      })
  })
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
  readonly site: ServingSite | undefined
}

function usedPairs({ fallbackCertificate, vhosts }: Config, { pair }: Inspection): readonly PairUse[] {
  const named: { files: CertificateFiles; site: ServingSite | undefined }[] = [
    ...(fallbackCertificate === undefined ? [] : [{ files: fallbackCertificate, site: undefined }]),
    ...vhosts.flatMap((vhost) => vhost.certificates.map((files) => ({ files, site: siteOf(vhost, pair) }))),
  ]
  return named.flatMap(({ files, site }) => {
    const found = pair(files)
    return found === undefined ? [] : [{ site, pair: found }]
  })
}

/** A site with those of its certificates that can be used. */
export function siteOf(vhost: VhostConfig, pair: Inspection['pair']): ServingSite {
  const certificates = vhost.certificates.map((files) => pair(files)?.certificate).filter((each) => each !== undefined)
  return { vhost, certificates }
}

function useErrors({ pair, site }: PairUse): readonly Finding[] {
  return unusableErrors(pair).map((error) => withVhost(error, site?.vhost.id))
}

function warningsOf(uses: readonly PairUse[]): Finding[] {
  const users = new Map<Certificate, PairUse[]>()
  for (const use of uses) {
    const { certificate } = use.pair
    if (certificate === undefined) continue
    const known = users.get(certificate)
    if (known === undefined) users.set(certificate, [use])
    else known.push(use)
  }
  return [...users].flatMap(([certificate, those]) => certificateWarnings(certificate, those))
}

// What is wrong with the certificate itself is told once, what it lacks for a site is told of each site.
function certificateWarnings(certificate: Certificate, uses: readonly PairUse[]): Finding[] {
  const [first] = uses
  const sites = uses.flatMap(({ site }) => site ?? [])
  const own = first === undefined ? [] : ownDefects(first.pair, sites).map((defect) => ({ defect, use: first }))
  const forSites = uses.flatMap((use) => {
    const defects = use.site === undefined ? [] : siteDefects(certificate, use.site)
    return defects.map((defect) => ({ defect, use }))
  })
  return [...own, ...forSites]
    .filter(({ defect }) => defect.act !== 'info')
    .map(({ defect, use: { pair, site } }) => withVhost(atPair(defect, pair.files), site?.vhost.id))
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
