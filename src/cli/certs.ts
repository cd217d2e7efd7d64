// hostward certs: every certificate with its sites, how long it lasts and what is wrong with it, the most urgent first;
// and what a running server really serves.
import { parseBind } from '../net/address.js'
import { clockDoubt } from '../server/clock.js'
import { type ListedCertificate, listCertificates, needsHand } from './certificate-list.js'
import { certificateReport, servedReport } from './certificate-report.js'
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
  textOption,
  toJson,
  UsageError,
} from './command.js'
import { findingsOf } from './findings.js'
import { inspect } from './inspection.js'
import { compareServed, type ServedName } from './served-comparison.js'
import { tellLeftOut, tellUnusable } from './unusable.js'

/** The command. */
export const certs: Command = {
  name: 'certs',
  summary: 'list the certificates, their sites, their end and their defects, the most urgent first',
  usage: [
    configUsage,
    '--served HOST:PORT   ask a running server, this one or any other, what it serves for each name',
    jsonUsage,
  ],
  details: [
    'Levels, with L the lifetime of the certificate: `warn` with min(L/4, 30 days) left, `critical` with',
    'min(L/10, 7 days) left, `expired`, `not yet valid`, and `unusable` where the files cannot be served.',
    'It reads what is on disk. With --served it makes one TLS handshake for each configured name (a wildcard is',
    'asked by one name below it, addresses cannot be asked), believes nothing and compares fingerprints.',
    'Exit codes: 0 all are well, 1 a hand is needed (a level, a defect, a site with mistakes, or something else',
    'is served than what is on disk), 2 usage.',
  ],
  options: { ...configOption, ...jsonOption, served: { type: 'string' } },
  run: runCerts,
}

async function runCerts(values: OptionValues, terminal: Terminal): Promise<number> {
  const address = servedAddress(values)
  const inspection = await inspect(configFile(values))
  const { config } = inspection.loaded
  if (config === undefined) {
    tellUnusable(findingsOf(inspection), terminal)
    return exitCode.mistakes
  }
  const list = listCertificates(config, inspection, Date.now())
  const served = address && (await compareServed({ config, list, ...address, clock: Date.now }))
  if (values['json'] === true) terminal.out(toJson(withServed(list, served)))
  else tell({ list, served, address: textOption(values, 'served') }, terminal)
  const doubt = clockDoubt(Date.now())
  if (doubt !== undefined) terminal.err(`hostward: ${doubt}`)
  const isComplete = !tellLeftOut(inspection, terminal)
  const isWell = !list.some(needsHand) && (served ?? []).every(isAsOnDisk)
  return isComplete && isWell && doubt === undefined ? exitCode.ok : exitCode.mistakes
}

function servedAddress(values: OptionValues): { readonly host: string; readonly port: number } | undefined {
  const text = textOption(values, 'served')
  if (text === undefined) return undefined
  const parsed = parseBind(text)
  const hint = 'for example --served 127.0.0.1:443'
  if ('mistake' in parsed) throw new UsageError(`--served "${text}" ${parsed.mistake}`, hint)
  const { host, port } = parsed.value
  if (host === undefined || port === 0) throw new UsageError(`--served "${text}" is no address of a server`, hint)
  return { host, port }
}

interface Found {
  readonly list: readonly ListedCertificate[]
  readonly served: readonly ServedName[] | undefined
  readonly address: string | undefined
}

function tell({ list, served, address }: Found, terminal: Terminal): void {
  terminal.out(certificateReport(list, process.cwd()))
  if (served !== undefined) terminal.out(`\n${servedReport(served, String(address))}`)
}

/** Each certificate with what is served for its names; null where nobody was asked. */
function withServed(list: readonly ListedCertificate[], served: readonly ServedName[] | undefined): readonly object[] {
  const names = new Map<string, ServedName[]>()
  for (const each of served ?? []) names.set(each.certificate, [...(names.get(each.certificate) ?? []), each])
  return list.map((listed) => {
    return { ...listed, served: served === undefined ? null : (names.get(listed.certificate) ?? []) }
  })
}

function isAsOnDisk({ verdict, level }: ServedName): boolean {
  return verdict === 'same' && level === 'ok'
}
