// Every certificate that the configuration names, with the pair that serves and what is wrong with its files.
// Outlives reloads: a pair that does not fit yet keeps the one before it. Used by the reload alone.
import type { CertificateFiles } from '../config/config.js'
import { forEachBounded } from '../files/bounded.js'
import type { FileVersion } from '../files/file-content.js'
import type { Certificate, CertificateDefect } from '../tls/certificate.js'
import {
  type LoadedPair,
  type PairReading,
  type PairVersions,
  type PendingReason,
  readPair,
} from '../tls/certificate-source.js'

const readingsAtOnce = 32

/** One configured pair. */
export interface ShelvedPair {
  readonly files: CertificateFiles
  /** What serves; undefined where no good pair has been read yet. */
  readonly certificate: Certificate | undefined
  /** Why the files cannot be used as they are; undefined where they are what serves. */
  readonly pending: { readonly reason: PendingReason; readonly defects: readonly CertificateDefect[] } | undefined
}

interface Slot extends ShelvedPair {
  readonly loaded: LoadedPair | undefined
  readonly versions: PairVersions
}

/** Which slots a refresh found new. */
export interface RefreshOutcome {
  /** Pairs that serve from now on. */
  readonly accepted: readonly ShelvedPair[]
  /** Pairs that have become pending, or are so for another reason than before. */
  readonly pending: readonly ShelvedPair[]
}

/** The pairs in use. */
export class CertificateShelf {
  #slots = new Map<string, Slot>()

  /** Reads the pairs that are new, pending, or named in `changed`, and forgets those no longer wanted. */
  async refresh(wanted: readonly CertificateFiles[], changed: ReadonlySet<string> | 'all'): Promise<RefreshOutcome> {
    const before = this.#slots
    const slots = new Map<string, Slot>()
    const outcome = { accepted: [] as ShelvedPair[], pending: [] as ShelvedPair[] }
    const unique = new Map(wanted.map((files) => [keyOf(files), files]))
    await forEachBounded([...unique], readingsAtOnce, async ([key, files]) => {
      const slot = before.get(key)
      const next = slot !== undefined && isCurrent(slot, changed) ? { ...slot, files } : await readSlot(files, slot)
      slots.set(key, next)
      if (next.certificate !== slot?.certificate && next.certificate !== undefined) outcome.accepted.push(next)
      if (next.pending !== undefined && next.pending.reason !== slot?.pending?.reason) outcome.pending.push(next)
    })
    this.#slots = slots
    return outcome
  }

  get(files: CertificateFiles): ShelvedPair | undefined {
    return this.#slots.get(keyOf(files))
  }

  /** Whether some pair waits for its other half. */
  get hasPending(): boolean {
    return [...this.#slots.values()].some(({ pending }) => pending !== undefined)
  }

  /** Whether reading a pending pair again gives something else than before. */
  async hasNews(): Promise<boolean> {
    for (const slot of this.#slots.values()) {
      if (slot.pending === undefined) continue
      const reading = await readPair(slot.files, slot.loaded)
      if (reading.kind !== 'pending' || reading.reason !== slot.pending.reason) return true
    }
    return false
  }

  /** The versions of all files, for the watch. */
  *versions(): Iterable<[string, FileVersion]> {
    for (const { versions } of this.#slots.values()) yield* versions
  }
}

function keyOf(files: CertificateFiles): string {
  return `${files.cert}\0${files.key}`
}

function isCurrent(slot: Slot, changed: ReadonlySet<string> | 'all'): boolean {
  if (slot.pending !== undefined || changed === 'all') return false
  return !changed.has(slot.files.cert) && !changed.has(slot.files.key)
}

async function readSlot(files: CertificateFiles, slot: Slot | undefined): Promise<Slot> {
  return slotOf(files, await readPair(files, slot?.loaded))
}

function slotOf(files: CertificateFiles, reading: PairReading): Slot {
  const { versions } = reading
  if (reading.kind !== 'pending') {
    const { pair } = reading
    return { files, certificate: pair.certificate, pending: undefined, loaded: pair, versions }
  }
  const { reason, defects, served } = reading
  return { files, certificate: served?.certificate, pending: { reason, defects }, loaded: served, versions }
}
