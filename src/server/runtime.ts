// Knows which lines of the runtime have public, unfixed holes in TLS, which Hostward leaves to the runtime. Pure but for its table.

/** The first release of each line with the fixes of November 2026 to TLS. */
const fixedReleases: Readonly<Record<number, readonly [minor: number, patch: number]>> = {
  22: [23, 5],
  24: [22, 3],
  26: [13, 1],
}

/** Why this version of Node should be replaced, undefined where nothing is known against it. */
export function runtimeAdvice(version: string): string | undefined {
  const [major = 0, minor = 0, patch = 0] = version.split('.').map(Number)
  const newest = Math.max(...Object.keys(fixedReleases).map(Number))
  if (major > newest) return undefined
  const fixed = fixedReleases[major]
  if (fixed === undefined) return `Node ${major} gets no security fixes any more; holes in its TLS are public`
  const isFixed = minor > fixed[0] || (minor === fixed[0] && patch >= fixed[1])
  return isFixed ? undefined : `Node ${version} has public holes in its TLS; ${major}.${fixed.join('.')} mends them`
}
