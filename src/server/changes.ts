// What a reload changed, in numbers of sites. Pure; for the log.
import type { ServingSite } from './sites.js'
import type { Snapshot } from './snapshot.js'

/** Sites that came, went, or mean something else than before. */
export interface Changes {
  readonly added: number
  readonly removed: number
  readonly changed: number
}

/** Compares what two snapshots serve. */
export function changesBetween(before: Snapshot, after: Snapshot): Changes {
  const earlier = new Map(before.sites.map((site) => [site.vhost.id, signatureOf(site)]))
  const later = new Map(after.sites.map((site) => [site.vhost.id, signatureOf(site)]))
  const added = [...later.keys()].filter((id) => !earlier.has(id)).length
  const removed = [...earlier.keys()].filter((id) => !later.has(id)).length
  const changed = [...later].filter(([id, signature]) => earlier.has(id) && earlier.get(id) !== signature).length
  return { added, removed, changed }
}

/** Whether the same configuration shows other certificates. */
export function hasOtherCertificates(before: Snapshot, after: Snapshot): boolean {
  return changesBetween(before, after).changed > 0 || before.fallback !== after.fallback
}

// Where a site stands in its file is no part of what it means, and the text of a file that it takes in has a hash.
function signatureOf({ vhost, certificates }: ServingSite): string {
  const fingerprints = certificates.map(({ fingerprint256 }) => fingerprint256)
  return JSON.stringify([vhost, fingerprints], (key, value) => (key === 'place' || key === 'text' ? undefined : value))
}
