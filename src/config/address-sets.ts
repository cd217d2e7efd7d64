// The address sets of the main file, read, and what refers to them. A set without a single address, or one that cannot be
// read, is a mistake of the whole: it must never come to mean everybody. Used by load.ts and the checks.

import { dirname, resolve } from 'node:path'
import { type AddressSource, isSetName } from '../net/address-source.js'
import { AddressSet } from '../net/cidr.js'
import { type CidrListMistake, parseCidrList } from '../net/cidr-list.js'
import type { AddressesConfig, AddressSetConfig, ListenerConfig } from './config.js'
import type { ConfigError, Place } from './config-error.js'
import { didYouMean } from './did-you-mean.js'
import type { TextFile } from './files.js'
import type { Mistake } from './mistake.js'
import type { Source } from './parse.js'
import { printable, shown } from './printable.js'
import type { MainInput } from './schema.js'
import { unreadableFiles } from './taken-in.js'
import type { Texts } from './texts.js'
import { isMap, listAt, type Path, valueAt } from './value.js'

const mistakesToldMax = 5

/** The sets of one load. */
export interface AddressSets {
  /** The sound ones. */
  readonly byName: ReadonlyMap<string, AddressSetConfig>
  /** Those that are defined, sound or not. */
  readonly names: ReadonlySet<string>
  /** Files that cannot be read. */
  readonly mistakes: readonly Mistake[]
  /** What is wrong within the files. */
  readonly errors: readonly ConfigError[]
}

/** Reads the sets that the main file defines. */
export function readAddressSets({ file, value }: Source, texts: Texts): AddressSets {
  const written = isMap(value) && isMap(value['addressSets']) ? Object.entries(value['addressSets']) : []
  const paths = written.map(([name]) => ['addressSets', name])
  const errors: ConfigError[] = []
  const byName = new Map<string, AddressSetConfig>()
  for (const [name, path] of written) {
    if (typeof path !== 'string' || path === '' || path.includes('\0')) continue
    const read = texts.read(resolve(dirname(file), path))
    if (!('value' in read)) continue
    const result = toSet(name, read.value)
    if ('errors' in result) errors.push(...result.errors)
    else byName.set(name, result.set)
  }
  return {
    byName,
    names: new Set(written.map(([name]) => name)),
    mistakes: unreadableFiles(value, paths, { file, texts }),
    errors,
  }
}

type SetResult = { readonly set: AddressSetConfig } | { readonly errors: readonly ConfigError[] }

function toSet(name: string, { path, text, hash }: TextFile): SetResult {
  const { ranges, mistakes } = parseCidrList(text)
  if (mistakes.length > 0) return { errors: told(mistakes).map((mistake) => ({ file: path, ...mistake })) }
  if (ranges.length > 0) return { set: { name, path, hash, addresses: new AddressSet(ranges) } }
  const message = `address set ${shown(name)} is empty`
  const hint = 'put an address in it, or take it out of the configuration: it never stands for everybody'
  return { errors: [{ file: path, line: 1, column: 1, message, hint }] }
}

// A page of HTML in place of the list has thousands of wrong lines.
function told(mistakes: readonly CidrListMistake[]): readonly Omit<ConfigError, 'file'>[] {
  return mistakes.slice(0, mistakesToldMax).map(({ line, column, written, mistake, hint }, index) => {
    const more = index === mistakesToldMax - 1 ? mistakes.length - mistakesToldMax : 0
    const message = printable(`${shown(written)} ${mistake}${more > 0 ? `; ${more} more lines are wrong` : ''}`)
    return { line, column, message, ...(hint !== undefined && { hint: printable(hint) }) }
  })
}

/** Names of sets in a list of sources that are not defined; `path` leads to the list. */
export function undefinedSets(root: unknown, path: Path, names: ReadonlySet<string>): readonly Mistake[] {
  const holder = valueAt(root, path.slice(0, -1))
  return listAt(holder, String(path.at(-1))).flatMap((source, index): readonly Mistake[] => {
    if (typeof source !== 'string' || !isSetName(source) || names.has(source)) return []
    const defined = [...names]
    const known = defined.length === 0 ? 'define it under addressSets' : `there are ${defined.join(', ')}`
    const hint = didYouMean(source, defined) ?? `${known}; names of machines are not looked up`
    return [{ path: [...path, index], aim: 'value', message: `address set ${shown(source)} is not defined`, hint }]
  })
}

/** The addresses that valid sources name. */
export function toAddresses(
  sources: readonly AddressSource[],
  sets: ReadonlyMap<string, AddressSetConfig>,
): AddressesConfig {
  const ranges = sources.flatMap((source) => (source.kind === 'range' ? [source.range] : []))
  return {
    written: sources.map(({ written }) => written),
    ranges: new AddressSet(ranges),
    sets: sources.flatMap(({ kind, written }) => (kind === 'set' ? [sets.get(written)] : [])).filter(isDefined),
  }
}

function isDefined<Value>(value: Value | undefined): value is Value {
  return value !== undefined
}

/** What the addresses of a listener are read with. */
interface ListenerSurroundings {
  readonly sets: ReadonlyMap<string, AddressSetConfig>
  /** Where one of its keys stands. */
  placeOf(key: 'proxyProtocol' | 'allow'): Place
}

/** What a valid listener says about addresses. */
export function toListenerAddresses(
  { proxyProtocol, clientAddress = [], allow }: MainInput['listeners'][number],
  { sets, placeOf }: ListenerSurroundings,
): Pick<ListenerConfig, 'proxyProtocol' | 'clientAddress' | 'allow'> {
  const sources = Array.isArray(clientAddress) ? clientAddress : [clientAddress]
  return {
    proxyProtocol: proxyProtocol && {
      ...proxyProtocol,
      from: toAddresses(proxyProtocol.from, sets),
      place: placeOf('proxyProtocol'),
    },
    clientAddress: sources.map((source) => ({ ...source, from: toAddresses(source.from, sets) })),
    allow: allow && { of: allow.of, from: toAddresses(allow.from, sets), place: placeOf('allow') },
  }
}
