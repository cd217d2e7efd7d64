// What a reload changed: which sites came, went or mean something else. Pure; for the log, and for the snapshot, which uses
// again what means the same.
import { isDeepStrictEqual } from 'node:util'
import { differenceOf } from '../files/difference.js'
import type { ServingSite } from './sites.js'

/** Sites that came, went, or mean something else than before, by their first host. */
export interface Changes {
  readonly added: readonly string[]
  readonly removed: readonly string[]
  readonly changed: readonly string[]
}

/** What of a snapshot is compared. */
type Served = { readonly sites: readonly ServingSite[] }

const sitesAStep = 100

/** Compares what two snapshots serve, in steps. Sites that are the same object cost next to nothing. */
export function* changesBetween(before: Served, after: Served): Generator<void, Changes> {
  const difference = differenceOf<ServingSite, ServingSite>(before.sites, after.sites)
  yield
  const gone = byId(difference.gone)
  yield
  const come = byId(difference.come)
  yield
  const added = [...come.keys()].filter((id) => !gone.has(id))
  const removed = [...gone.keys()].filter((id) => !come.has(id))
  const changed: string[] = []
  for (const [index, [id, site]] of [...come].entries()) {
    if (index % sitesAStep === 0) yield
    const earlier = gone.get(id)
    if (earlier !== undefined && !isSameSite(earlier, site)) changed.push(id)
  }
  return { added, removed, changed }
}

/** Whether two sites mean the same, wherever they stand; the text of a file that one takes in has a hash. */
export function isSameMeaning(left: unknown, right: unknown): boolean {
  if (left === right) return true
  if (!isComposite(left) || !isComposite(right)) return isDeepStrictEqual(left, right)
  const keys = Object.keys(left)
  if (keys.length !== Object.keys(right).length || Array.isArray(left) !== Array.isArray(right)) return false
  return keys.every((key) => isMeaningless(key, left) || isSameMeaning(left[key], right[key]))
}

function isMeaningless(key: string, { [key]: value, hash }: Readonly<Record<string, unknown>>): boolean {
  if (key === 'place') return isComposite(value)
  return key === 'text' && hash !== undefined
}

function isComposite(value: unknown): value is Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null) return false
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === Array.prototype || prototype === null
}

function isSameSite(left: ServingSite, right: ServingSite): boolean {
  return (
    left.certificates.length === right.certificates.length &&
    left.certificates.every(
      ({ fingerprint256 }, index) => fingerprint256 === right.certificates[index]?.fingerprint256,
    ) &&
    isSameMeaning(left.vhost, right.vhost)
  )
}

function byId(sites: readonly ServingSite[]): ReadonlyMap<string, ServingSite> {
  return new Map(sites.map((site) => [site.vhost.id, site]))
}
