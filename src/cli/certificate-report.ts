// What certs prints for people: a table of certificates, what is wrong with them, and a table of what is served. Pure.
import { formatConfigError } from '../config/config-error.js'
import type { ExpiryState } from '../tls/expiry.js'
import type { CertificateLevel, ListedCertificate } from './certificate-list.js'
import { displayPath } from './display-path.js'
import type { ServedName, ServedVerdict } from './served-comparison.js'
import { type Column, formatTable } from './table.js'

/** The certificates and all that is wrong with them; paths are shown from `directory`. */
export function certificateReport(list: readonly ListedCertificate[], directory: string): string {
  if (list.length === 0) return 'no certificates are configured'
  const table = formatTable(
    columns,
    list.map((listed) => toRow(listed, directory)),
  )
  const mistakes = list.flatMap(({ errors }) => errors).map((error) => formatConfigError(error, directory))
  const remarks = list.flatMap((listed) => remarksOn(listed, directory))
  return [table, ...spaced(mistakes), ...spaced(remarks)].join('\n')
}

/** What a running server shows for each name; `address` is the server's. */
export function servedReport(served: readonly ServedName[], address: string): string {
  const rows = served.map(({ name, keyType, fingerprint256, notAfter, level, verdict, failure }) => [
    keyType === null ? (name ?? '(no name)') : `${name} (${keyType})`,
    fingerprint256?.slice(0, shortFingerprint) ?? '-',
    notAfter?.slice(0, dateLength) ?? '-',
    level === null ? '-' : levelWords[level],
    verdict === 'none' ? `no handshake: ${failure}` : verdictWords[verdict],
  ])
  return [`served by ${address}`, formatTable(servedColumns, rows)].join('\n')
}

const sitesWidthMax = 22
const dateLength = 'YYYY-MM-DD'.length
/** Six bytes tell certificates apart; `openssl x509 -fingerprint -sha256` begins with the same. */
const shortFingerprint = 17

// Together with the gaps at most 120 columns; common ones stay below 100.
const columns: readonly Column[] = [
  { heading: 'certificate', widthMax: 36, keep: 'right' },
  { heading: 'sites', widthMax: sitesWidthMax, keep: 'left' },
  { heading: 'issuer', widthMax: 20, keep: 'left' },
  { heading: 'not after', widthMax: dateLength, keep: 'left' },
  { heading: 'days left', widthMax: 9, keep: 'left' },
  { heading: 'level', widthMax: 13, keep: 'left' },
]

const servedColumns: readonly Column[] = [
  { heading: 'name', widthMax: 30, keep: 'right' },
  { heading: 'fingerprint', widthMax: shortFingerprint, keep: 'left' },
  { heading: 'not after', widthMax: dateLength, keep: 'left' },
  { heading: 'level', widthMax: 13, keep: 'left' },
  { heading: 'compared', widthMax: 42, keep: 'left' },
]

function toRow(listed: ListedCertificate, directory: string): readonly string[] {
  return [
    displayPath(listed.certificate, directory),
    usersOf(listed),
    shortIssuer(listed.issuer),
    listed.notAfter?.slice(0, dateLength) ?? '-',
    listed.daysLeft === null ? '-' : String(listed.daysLeft),
    levelWords[listed.level],
  ]
}

const levelWords: Record<CertificateLevel, string> = {
  ok: 'ok',
  warn: 'warn',
  critical: 'critical',
  expired: 'expired',
  not_yet_valid: 'not yet valid',
  unusable: 'unusable',
}

const verdictWords: Record<Exclude<ServedVerdict, 'none'>, string> = {
  same: 'as on disk',
  older: 'older than on disk',
  other: 'not what is on disk',
  unknown: 'the files cannot be used',
}

/** One line for each authority that is not well and for each defect, with what to do where a hand is needed. */
function remarksOn({ certificate, chain, defects }: ListedCertificate, directory: string): string[] {
  const file = displayPath(certificate, directory)
  return [
    ...chain
      .filter(({ level }) => level !== 'ok')
      .map(({ subject, level, notAfter }) => `${file}: ${authorityWords[level]} ${subject}, not after ${notAfter}`),
    ...defects.flatMap(({ file: where, act, code, message, hint }) => [
      `${displayPath(where, directory)}: ${act}: ${message} (${code})`,
      ...(act === 'info' ? [] : [`  hint: ${hint}`]),
    ]),
  ]
}

const authorityWords: Record<ExpiryState, string> = {
  ok: 'well: authority',
  warn: 'warn: authority of the chain ends soon:',
  critical: 'critical: authority of the chain ends very soon:',
  expired: 'expired: authority of the chain:',
  not_yet_valid: 'not yet valid: authority of the chain:',
}

function spaced(lines: readonly string[]): readonly string[] {
  return lines.length === 0 ? [] : ['', ...lines]
}

function usersOf({ vhosts, fallback }: ListedCertificate): string {
  const [first = '-', ...others] = fallback ? ['(fallback)', ...vhosts] : vhosts
  if (others.length === 0) return first
  const count = ` +${others.length}`
  const roomForFirst = sitesWidthMax - count.length
  return (first.length > roomForFirst ? `${first.slice(0, roomForFirst - 1)}…` : first) + count
}

/** The part of an issuer's name that people know it by: its common name, else its organisation. */
function shortIssuer(issuer: string | null): string {
  if (issuer === null) return '-'
  const parts = issuer.split(', ')
  const named = parts.find((part) => part.startsWith('CN=')) ?? parts.find((part) => part.startsWith('O='))
  return named?.slice(named.indexOf('=') + 1) ?? (issuer || '-')
}
