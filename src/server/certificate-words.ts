// How the log speaks of a certificate: which sites hang on it, how long is left, and what a CDN will show their
// visitors. Pure; used by the watches.

/** What CDNs answer when they verify their origin and it fails; visitors see nothing of the cause. */
export const whatVisitorsSee =
  'CDNs that verify their origin show visitors an error (Cloudflare 526, CloudFront 502, Fastly 503)'

const sitesNamed = 3

/** `a.example, b.example and 4 more`, or what a certificate without sites is for. */
export function sitesInWords(vhosts: readonly string[]): string {
  if (vhosts.length === 0) return 'unknown and missing names (the fallback)'
  const named = vhosts.slice(0, sitesNamed).join(', ')
  return vhosts.length <= sitesNamed ? named : `${named} and ${vhosts.length - sitesNamed} more`
}

/** `12 days`, near the end `5 hours` or `40 minutes`; rounded down. */
export function timeInWords(durationMs: number): string {
  const minutes = Math.floor(Math.abs(durationMs) / 60_000)
  if (minutes < 2 * 60) return `${minutes} minutes`
  const hours = Math.floor(minutes / 60)
  return hours < 2 * 24 ? `${hours} hours` : `${Math.floor(hours / 24)} days`
}
