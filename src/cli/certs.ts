// hostward certs: every certificate with its sites and how long it lasts, the most urgent first.
import { formatConfigError } from '../config/config-error.js'
import { type CertificateLevel, type ListedCertificate, listCertificates } from './certificate-list.js'
import {
  type Command,
  configFile,
  configOption,
  configUsage,
  exitCode,
  jsonOption,
  jsonUsage,
  type OptionValues,
  type Terminal,
  toJson,
} from './command.js'
import { displayPath } from './display-path.js'
import { findingsOf } from './findings.js'
import { inspect } from './inspection.js'
import { type Column, formatTable } from './table.js'
import { tellLeftOut, tellUnusable } from './unusable.js'

/** The command. */
export const certs: Command = {
  name: 'certs',
  summary: 'list the certificates, their sites and how long they last, the most urgent first',
  usage: [configUsage, jsonUsage],
  details: [
    'Levels, with L the lifetime of the certificate: `warn` with min(L/4, 30 days) left, `critical` with',
    'min(L/10, 7 days) left, `expired`, `not yet valid`, and `unusable` where the files cannot be served.',
    'Exit codes: 0 all are well, 1 one of them is warn or worse or a site has mistakes, 2 usage.',
  ],
  options: { ...configOption, ...jsonOption },
  run: runCerts,
}

async function runCerts(values: OptionValues, terminal: Terminal): Promise<number> {
  const inspection = await inspect(configFile(values))
  const { config } = inspection.loaded
  if (config === undefined) {
    tellUnusable(findingsOf(inspection), terminal)
    return exitCode.mistakes
  }
  const list = listCertificates(config, inspection, Date.now())
  terminal.out(values['json'] === true ? toJson(list) : report(list))
  const isComplete = !tellLeftOut(inspection, terminal)
  return isComplete && list.every(({ level }) => level === 'ok') ? exitCode.ok : exitCode.mistakes
}

const sitesWidthMax = 22

// Together with the gaps at most 120 columns; common ones stay below 100.
const columns: readonly Column[] = [
  { heading: 'certificate', widthMax: 36, keep: 'right' },
  { heading: 'sites', widthMax: sitesWidthMax, keep: 'left' },
  { heading: 'issuer', widthMax: 20, keep: 'left' },
  { heading: 'not after', widthMax: 10, keep: 'left' },
  { heading: 'days left', widthMax: 9, keep: 'left' },
  { heading: 'level', widthMax: 13, keep: 'left' },
]

function report(list: readonly ListedCertificate[]): string {
  if (list.length === 0) return 'no certificates are configured'
  const table = formatTable(columns, list.map(toRow))
  const mistakes = list.flatMap(({ errors }) => errors).map((error) => formatConfigError(error, process.cwd()))
  return mistakes.length === 0 ? table : [table, '', ...mistakes].join('\n')
}

function toRow(listed: ListedCertificate): readonly string[] {
  return [
    displayPath(listed.certificate, process.cwd()),
    usersOf(listed),
    shortIssuer(listed.issuer),
    listed.notAfter?.slice(0, 'YYYY-MM-DD'.length) ?? '-',
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
