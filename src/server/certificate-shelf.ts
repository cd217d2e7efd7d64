// Every certificate that the configuration names, with the pair that serves and what is wrong with its files.
// Outlives reloads: a pair that does not fit yet keeps the one before it. Used by the reload alone.
import type { CertificateFiles } from '../config/config.js'
import { type Difference, differenceOf } from '../files/difference.js'
import { Slices } from '../files/slices.js'
import type { FileUse } from '../files/watched-set.js'
import { Certificate } from '../tls/certificate.js'
import type { LeafOnDisk } from '../tls/certificate-parse.js'
import {
  type PairHashes,
  type PairReading,
  type PairVersions,
  type PendingReading,
  type PendingReason,
  type ReadRequest,
  readPair,
  retryDelayMs,
  type ServedPair,
} from '../tls/certificate-source.js'
import type { CertificateDefect } from '../tls/defects.js'
import { PairReadings } from '../tls/pair-readers.js'

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
  /** How long they had been so when they were read last. */
  readonly ageMs: number
}

/** How pending pairs are followed. */
export interface PendingTimes {
  readonly pollMs: number
  /** How long a tool may take to write both halves. */
  readonly renewalGraceMs: number
}

interface Slot extends ShelvedPair {
  /** Of the files that `certificate` came from. */
  readonly hashes: PairHashes | undefined
  readonly uses: readonly FileUse[]
  /** How often a pending pair has been read again. */
  readonly retries: number
  /** The issuer of a pending pair has not come in time, so the pair is taken without. */
  readonly isTakenIncomplete: boolean
}

/** Which slots a refresh found new. */
export interface RefreshOutcome {
  /** Pairs that serve from now on. */
  readonly accepted: readonly ShelvedPair[]
  /** Pairs that have become pending, or are so for another reason than before. */
  readonly pending: readonly ShelvedPair[]
}

const pairsAStep = 200

/** The pairs in use. */
export class CertificateShelf {
  readonly #clock: () => number
  readonly #slots = new Map<string, Slot>()
  /** What was wanted last, for which there is a slot each. */
  #wanted: readonly CertificateFiles[] = []
  /** For the next refresh. */
  #readings = new PairReadings()

  /** `clock`: milliseconds since the epoch. */
  constructor(clock: () => number = Date.now) {
    this.#clock = clock
  }

  /** Begins with the reading of a pair that the next refresh will want, unless there is one already. */
  foresee(files: CertificateFiles): void {
    const key = pairKey(files)
    if (!this.#slots.has(key)) this.#readings.ask(key, requestFor(files, { slot: undefined, nowMs: this.#clock() }))
  }

  /** Reads the pairs that are new, pending, or named in `changed`, and forgets those no longer wanted. */
  async refresh(
    wanted: readonly CertificateFiles[],
    { changed, slices = new Slices() }: { readonly changed: ReadonlySet<string> | 'all'; readonly slices?: Slices },
  ): Promise<RefreshOutcome> {
    const { come } = this.retain(wanted)
    // Until every pair of them has a slot, none of them counts as known.
    this.#wanted = []
    const stale = await slices.run(this.#stale(come, changed))
    const outcome = { accepted: [] as ShelvedPair[], pending: [] as ShelvedPair[] }
    const nowMs = this.#clock()
    for (const [key, files] of stale) this.#readings.ask(key, requestFor(files, { slot: this.#slots.get(key), nowMs }))
    const readings = await slices.during(this.#takeReadings())
    for (const [key, files] of stale) {
      const pause = slices.next()
      if (pause !== undefined) await pause
      const slot = this.#slots.get(key)
      const next = slotAfter({ files, slot, reading: readings.get(key) as PairReading, nowMs })
      this.#slots.set(key, next)
      if (next.certificate !== slot?.certificate && next.certificate !== undefined) outcome.accepted.push(next)
      if (next.pending !== undefined && next.pending.reason !== slot?.pending?.reason) outcome.pending.push(next)
    }
    this.#wanted = wanted
    return outcome
  }

  /** Forgets all pairs but these; tells those that are not known yet. */
  retain(wanted: readonly CertificateFiles[]): Difference<CertificateFiles> {
    const difference = differenceOf(this.#wanted, wanted)
    this.#wanted = wanted
    const gone = new Set(difference.gone.map(pairKey))
    if (gone.size > 0) for (const each of wanted) gone.delete(pairKey(each))
    for (const key of gone) this.#slots.delete(key)
    return difference
  }

  *#stale(
    come: readonly CertificateFiles[],
    changed: ReadonlySet<string> | 'all',
  ): Generator<void, ReadonlyMap<string, CertificateFiles>> {
    const stale = new Map<string, CertificateFiles>()
    for (const [index, each] of come.entries()) {
      if (index % pairsAStep === 0) yield
      const key = pairKey(each)
      const slot = this.#slots.get(key)
      if (slot === undefined) stale.set(key, each)
      else this.#slots.set(key, { ...slot, files: each })
    }
    yield
    for (const [key, slot] of this.#slots) if (!isCurrent(slot, changed)) stale.set(key, slot.files)
    return stale
  }

  /** All pairs. */
  pairs(): readonly ShelvedPair[] {
    return [...this.#slots.values()]
  }

  get(files: CertificateFiles): ShelvedPair | undefined {
    return this.#slots.get(pairKey(files))
  }

  /** How soon a pending pair should be read again; undefined where none is pending. */
  retryDelayMs({ pollMs, renewalGraceMs }: PendingTimes): number | undefined {
    const delaysMs = this.#pending().map(([, { pending, retries }]) => {
      const untilOverdueMs = renewalGraceMs - pending.ageMs
      return Math.min(retryDelayMs(retries, pollMs), untilOverdueMs > 0 ? untilOverdueMs : pollMs)
    })
    return delaysMs.length === 0 ? undefined : Math.min(...delaysMs)
  }

  /** Reads pending pairs again; whether one is no longer what it was. */
  async hasNews({ renewalGraceMs }: PendingTimes): Promise<boolean> {
    let hasNews = false
    for (const [key, slot] of this.#pending()) {
      const isTakenIncomplete = this.#clock() - slot.pending.sinceMs >= renewalGraceMs
      const retried = { ...slot, retries: slot.retries + 1, isTakenIncomplete }
      const next = await this.#read(slot.files, retried)
      const wasOverdue = isOverdue(slot.pending, renewalGraceMs)
      const isSame =
        next.pending?.reason === slot.pending.reason && isOverdue(next.pending, renewalGraceMs) === wasOverdue
      hasNews ||= !isSame
      this.#slots.set(key, retried)
    }
    return hasNews
  }

  #takeReadings(): Promise<ReadonlyMap<string, PairReading>> {
    const readings = this.#readings
    this.#readings = new PairReadings()
    return readings.all()
  }

  async #read(files: CertificateFiles, slot: Slot | undefined): Promise<Slot> {
    const nowMs = this.#clock()
    return slotAfter({ files, slot, reading: await readPair(requestFor(files, { slot, nowMs })), nowMs })
  }

  #pending(): [string, Slot & { readonly pending: PendingPair }][] {
    const found: [string, Slot & { readonly pending: PendingPair }][] = []
    for (const [key, slot] of this.#slots) {
      if (slot.pending !== undefined) found.push([key, { ...slot, pending: slot.pending }])
    }
    return found
  }

  /** All files in the versions that were read, for the watch. */
  get uses(): readonly FileUse[] {
    const uses: FileUse[] = []
    for (const slot of this.#slots.values()) for (const use of slot.uses) uses.push(use)
    return uses
  }
}

/**
 * Whether nobody is just writing the files any more: they have been useless for too long, or the pair is whole and will not do.
 * A pair whose time is still to come waits for it, one without its issuer is taken in the end; nothing is wrong with the site.
 */
export function isOverdue(pending: PendingPair | undefined, renewalGraceMs: number): boolean {
  if (pending === undefined || pending.reason === 'dates' || pending.reason === 'incomplete') return false
  return pending.reason === 'refused' || pending.ageMs >= renewalGraceMs
}

const keys = new WeakMap<object, string>()

/** What makes two configured pairs the same. */
export function pairKey(files: Pick<CertificateFiles, 'cert' | 'key'>): string {
  const known = keys.get(files)
  if (known !== undefined) return known
  const key = `${files.cert}\0${files.key}`
  keys.set(files, key)
  return key
}

function isCurrent(slot: Slot, changed: ReadonlySet<string> | 'all'): boolean {
  if (slot.pending !== undefined || changed === 'all') return false
  return !changed.has(slot.files.cert) && !changed.has(slot.files.key)
}

// Nothing but what a reading needs: it may be sent to another thread.
function requestFor(
  { cert, key }: CertificateFiles,
  { slot, nowMs }: { readonly slot: Slot | undefined; readonly nowMs: number },
): ReadRequest {
  return { files: { cert, key }, served: servedOf(slot), nowMs }
}

function servedOf(slot: Slot | undefined): ServedPair | undefined {
  if (slot === undefined) return undefined
  const { certificate, hashes, isTakenIncomplete } = slot
  if (certificate === undefined || hashes === undefined) return undefined
  const { notBeforeMs, notAfterMs, chain, warnings } = certificate
  const isComplete = chain.length > 1 && !warnings.some(({ code }) => code === 'chain_incomplete')
  return { ...hashes, notBeforeMs, notAfterMs, hasIssuer: isComplete && !isTakenIncomplete }
}

interface SlotReading<Reading = PairReading> {
  readonly files: CertificateFiles
  readonly slot: Slot | undefined
  readonly reading: Reading
  readonly nowMs: number
}

function slotAfter({ files, slot, reading, nowMs }: SlotReading): Slot {
  if (reading.kind === 'pending') return pendingSlot({ files, slot, reading, nowMs })
  const uses = usesOf(reading.versions)
  const isNew = reading.kind === 'proved'
  const certificate = isNew ? new Certificate(reading.pair) : slot?.certificate
  const hashes = isNew ? reading.hashes : slot?.hashes
  const warnings = [...(certificate?.warnings ?? []), ...reading.warnings]
  return { files, certificate, hashes, warnings, pending: undefined, uses, retries: 0, isTakenIncomplete: false }
}

function pendingSlot({ files, slot, reading, nowMs }: SlotReading<PendingReading>): Slot {
  const { reason, defects, onDisk, versions } = reading
  const retries = slot?.pending === undefined ? 0 : slot.retries
  const sinceMs = slot?.pending?.sinceMs ?? nowMs
  const pending = { reason, defects, onDisk, sinceMs, ageMs: nowMs - sinceMs }
  return {
    files,
    certificate: slot?.certificate,
    hashes: slot?.hashes,
    warnings: slot?.warnings ?? [],
    pending,
    uses: usesOf(versions),
    retries,
    isTakenIncomplete: slot?.isTakenIncomplete ?? false,
  }
}

function usesOf(versions: PairVersions): readonly FileUse[] {
  return [...versions].map(([path, version]) => ({ path, version }))
}
