// Every certificate that the configuration names, with the pair that serves and what is wrong with its files.
// Outlives reloads: a pair that does not fit yet keeps the one before it. Used by the reload alone.
import type { CertificateFiles } from '../config/config.js'
import { forEachBounded } from '../files/bounded.js'
import type { FileVersion } from '../files/file-content.js'
import { Certificate } from '../tls/certificate.js'
import type { LeafOnDisk } from '../tls/certificate-parse.js'
import {
  type PairHashes,
  type PairReading,
  type PairVersions,
  type PendingReading,
  type PendingReason,
  quickRetries,
  readPair,
  retryDelayMs,
} from '../tls/certificate-source.js'
import type { CertificateDefect } from '../tls/defects.js'
import type { Validity } from '../tls/expiry.js'

const readingsAtOnce = 32

/** One configured pair. */
export interface ShelvedPair {
  readonly files: CertificateFiles
  /** What serves; undefined where no good pair has been read yet. */
  readonly certificate: Certificate | undefined
  /** What is wrong with what serves and with its files, beyond what keeps them from serving. */
  readonly warnings: readonly CertificateDefect[]
  /** Why the files cannot be used as they are; undefined where they are what serves. */
  readonly pending: PendingPair | undefined
}

/** Files that cannot be used as they are. */
export interface PendingPair {
  readonly reason: PendingReason
  readonly defects: readonly CertificateDefect[]
  /** The certificate of the file, where it can be read. */
  readonly onDisk: LeafOnDisk | undefined
  /** Milliseconds since the epoch. */
  readonly sinceMs: number
  /** Nobody is just writing them: the quick retries are through, or the pair is whole and will not do. */
  readonly isOverdue: boolean
}

interface Slot extends ShelvedPair {
  /** Of the files that `certificate` came from. */
  readonly hashes: PairHashes | undefined
  readonly versions: PairVersions
  /** How often a pending pair has been read again. */
  readonly retries: number
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
  readonly #clock: () => number
  #slots = new Map<string, Slot>()

  /** `clock`: milliseconds since the epoch. */
  constructor(clock: () => number = Date.now) {
    this.#clock = clock
  }

  /** Reads the pairs that are new, pending, or named in `changed`, and forgets those no longer wanted. */
  async refresh(wanted: readonly CertificateFiles[], changed: ReadonlySet<string> | 'all'): Promise<RefreshOutcome> {
    const before = this.#slots
    const slots = new Map<string, Slot>()
    const outcome = { accepted: [] as ShelvedPair[], pending: [] as ShelvedPair[] }
    const unique = new Map(wanted.map((files) => [pairKey(files), files]))
    await forEachBounded([...unique], readingsAtOnce, async ([key, files]) => {
      const slot = before.get(key)
      const next = slot !== undefined && isCurrent(slot, changed) ? { ...slot, files } : await this.#read(files, slot)
      slots.set(key, next)
      if (next.certificate !== slot?.certificate && next.certificate !== undefined) outcome.accepted.push(next)
      if (next.pending !== undefined && next.pending.reason !== slot?.pending?.reason) outcome.pending.push(next)
    })
    this.#slots = slots
    return outcome
  }

  /** Forgets all pairs but these. */
  retain(wanted: readonly CertificateFiles[]): void {
    const keys = new Set(wanted.map(pairKey))
    for (const key of this.#slots.keys()) if (!keys.has(key)) this.#slots.delete(key)
  }

  /** All pairs. */
  pairs(): readonly ShelvedPair[] {
    return [...this.#slots.values()]
  }

  get(files: CertificateFiles): ShelvedPair | undefined {
    return this.#slots.get(pairKey(files))
  }

  /** How soon a pending pair should be read again; undefined where none is pending. */
  retryDelayMs(pollMs: number): number | undefined {
    const delaysMs = this.#pending().map(([, { retries }]) => retryDelayMs(retries, pollMs))
    return delaysMs.length === 0 ? undefined : Math.min(...delaysMs)
  }

  /** Reads pending pairs again; whether one is no longer what it was. */
  async hasNews(): Promise<boolean> {
    let hasNews = false
    for (const [key, slot] of this.#pending()) {
      const next = await this.#read(slot.files, { ...slot, retries: slot.retries + 1 })
      if (next.pending?.reason !== slot.pending?.reason || next.pending?.isOverdue !== slot.pending?.isOverdue) {
        hasNews = true
      }
      this.#slots.set(key, { ...slot, retries: slot.retries + 1 })
    }
    return hasNews
  }

  async #read(files: CertificateFiles, slot: Slot | undefined): Promise<Slot> {
    const nowMs = this.#clock()
    const served = slot?.certificate && slot.hashes && { ...slot.hashes, ...validityOf(slot.certificate) }
    return slotAfter({ files, slot, reading: await readPair({ files, served, nowMs }), nowMs })
  }

  #pending(): [string, Slot][] {
    return [...this.#slots].filter(([, { pending }]) => pending !== undefined)
  }

  /** The versions of all files, for the watch. */
  *versions(): Iterable<[string, FileVersion]> {
    for (const { versions } of this.#slots.values()) yield* versions
  }
}

/** What makes two configured pairs the same. */
export function pairKey({ cert, key }: Pick<CertificateFiles, 'cert' | 'key'>): string {
  return `${cert}\0${key}`
}

function isCurrent(slot: Slot, changed: ReadonlySet<string> | 'all'): boolean {
  if (slot.pending !== undefined || changed === 'all') return false
  return !changed.has(slot.files.cert) && !changed.has(slot.files.key)
}

function validityOf({ notBeforeMs, notAfterMs }: Certificate): Validity {
  return { notBeforeMs, notAfterMs }
}

interface SlotReading<Reading = PairReading> {
  readonly files: CertificateFiles
  readonly slot: Slot | undefined
  readonly reading: Reading
  readonly nowMs: number
}

function slotAfter({ files, slot, reading, nowMs }: SlotReading): Slot {
  if (reading.kind === 'pending') return pendingSlot({ files, slot, reading, nowMs })
  const { versions } = reading
  const isNew = reading.kind === 'proved'
  const certificate = isNew ? new Certificate(reading.pair) : slot?.certificate
  const hashes = isNew ? reading.hashes : slot?.hashes
  const warnings = [...(certificate?.warnings ?? []), ...reading.warnings]
  return { files, certificate, hashes, warnings, pending: undefined, versions, retries: 0 }
}

function pendingSlot({ files, slot, reading, nowMs }: SlotReading<PendingReading>): Slot {
  const { reason, defects, onDisk, versions } = reading
  const retries = slot?.pending === undefined ? 0 : slot.retries
  // A pair whose time is still to come waits for it; nothing is wrong with the site meanwhile.
  const isOverdue = reason === 'refused' || (reason !== 'dates' && retries >= quickRetries)
  const pending = { reason, defects, onDisk, sinceMs: slot?.pending?.sinceMs ?? nowMs, isOverdue }
  return {
    files,
    certificate: slot?.certificate,
    hashes: slot?.hashes,
    warnings: slot?.warnings ?? [],
    pending,
    versions,
    retries,
  }
}
