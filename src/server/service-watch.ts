// On disk is not in service: says in the log that files have been of no use for too long while another certificate
// serves. Owned by CertificateWatch. How bad that is, is judged by what serves.
import type { Log } from '../telemetry/log.js'
import type { Certificate } from '../tls/certificate.js'
import { LevelWatch, type WatchTime } from '../tls/level-watch.js'
import { type ServiceLag, serviceLag } from '../tls/service-lag.js'
import { type PendingPair, pairKey, type ShelvedPair } from './certificate-shelf.js'
import type { CertificateUsers } from './certificate-users.js'
import { sitesInWords, timeInWords } from './certificate-words.js'
import { namedSites } from './named-sites.js'

/** A pair of files whose last good version serves. */
interface ServedPair {
  readonly key: string
  readonly file: string
  readonly served: Certificate
  readonly pending: PendingPair | undefined
  readonly graceMs: number
  readonly vhosts: readonly string[]
}

/** What is followed: all pairs of files, who uses what serves (which is rarely asked), and how long a renewal may take. */
export interface FollowedFiles {
  readonly pairs: readonly ShelvedPair[]
  readonly users: () => CertificateUsers
  readonly graceMs: number
}

const checkIntervalMs = 10_000

/** Tells once that files do not arrive, when that becomes worse, daily, and when they have arrived. */
export class ServiceWatch {
  readonly #watch: LevelWatch<ServedPair, ServiceLag>
  /** What was pending last time; that it serves at last must be told. */
  #pending: ReadonlySet<string> = new Set()

  constructor({ log, time }: { readonly log: () => Log; readonly time: WatchTime }) {
    this.#watch = new LevelWatch({
      levelOf: ({ pending, ...pair }, nowMs) => serviceLag({ pendingSinceMs: pending?.sinceMs, ...pair }, nowMs),
      well: 'in_service',
      nameOf: ({ key }) => key,
      versionOf: ({ pending }) => pending?.defects[0]?.code ?? '',
      intervalMs: () => checkIntervalMs,
      onReport: (pair, state, nowMs) => tell(log(), { pair, state, nowMs }),
      time,
    })
  }

  /** Compares these from now on. */
  follow({ pairs, users, graceMs }: FollowedFiles): void {
    const before = this.#pending
    const followed = pairs.filter(({ files, pending }) => {
      return pending !== undefined || (before.size > 0 && before.has(pairKey(files)))
    })
    this.#pending = new Set(followed.filter(({ pending }) => pending !== undefined).map(({ files }) => pairKey(files)))
    const usersOf = followed.length === 0 ? undefined : users()
    const inService = followed.flatMap(({ files, certificate, pending }): ServedPair[] => {
      const vhosts = certificate && usersOf?.get(certificate)
      if (certificate === undefined || vhosts === undefined) return []
      return [{ key: pairKey(files), file: files.cert, served: certificate, pending, graceMs, vhosts }]
    })
    this.#watch.setThings(inService)
  }

  close(): void {
    this.#watch.close()
  }
}

interface Telling {
  readonly pair: ServedPair
  readonly state: ServiceLag
  readonly nowMs: number
}

const levels: Record<ServiceLag, 'info' | 'warn' | 'error'> = { in_service: 'info', warn: 'warn', critical: 'error' }

function tell(log: Log, { pair, state, nowMs }: Telling): void {
  const { file, served, pending, vhosts } = pair
  const [defect] = pending?.defects ?? []
  log[levels[state]]('certificate_not_in_service', messageOf(pair, nowMs), {
    certificate: file,
    ...namedSites(vhosts),
    state,
    code: defect?.code,
    file: defect?.file,
    hint: defect?.hint,
    servedNotAfter: isoTime(served.notAfterMs),
    servedFingerprint256: served.fingerprint256,
    diskNotAfter: isoTime(pending?.onDisk?.notAfterMs),
    diskFingerprint256: pending?.onDisk?.fingerprint256,
  })
}

function messageOf({ served, pending, vhosts }: ServedPair, nowMs: number): string {
  const sites = sitesInWords(vhosts)
  if (pending === undefined) return `the files of ${sites} serve as they are`
  const leftMs = served.notAfterMs - nowMs
  const end = leftMs < 0 ? `expired ${timeInWords(leftMs)} ago` : `ends in ${timeInWords(leftMs)}`
  const since = timeInWords(nowMs - pending.sinceMs)
  const why = pending.defects[0]?.message ?? 'they cannot be used'
  return `the files of ${sites} do not serve for ${since} now (${why}); the certificate that does ${end}`
}

function isoTime(timeMs: number | undefined): string | undefined {
  return timeMs === undefined ? undefined : new Date(timeMs).toISOString()
}
