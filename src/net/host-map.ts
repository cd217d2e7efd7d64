// From a host name to what it means: the one kind of map that SNI and Host are both looked up in, so that TLS and HTTP
// cannot disagree. It has no catch-all: what nobody claimed is undefined.

/** An immutable map of host names; a look-up costs at most two hash look-ups. */
export interface HostMap<T> {
  /** What a name in the spelling of `normalizeHostname` means: exact beats wildcard, undefined where nobody claims it. */
  get(name: string): T | undefined
}

/** Builds a map from one pattern after the other, which may take a while for thousands. */
export class HostMapBuilder<T> {
  readonly #exact = new Map<string, T>()
  readonly #byParent = new Map<string, T>()

  /**
   * Takes a pattern in the spelling of `normalizeSitePattern`. `*.a.example` matches exactly one label before `.a.example`. Of
   * equal patterns the first one counts.
   */
  add(pattern: string, value: T): void {
    const isWildcard = pattern.startsWith('*.')
    const names = isWildcard ? this.#byParent : this.#exact
    const name = isWildcard ? pattern.slice(2) : pattern
    if (!names.has(name)) names.set(name, value)
  }

  /** The map of what was taken; the builder is used no more. */
  build(): HostMap<T> {
    const [exact, byParent] = [this.#exact, this.#byParent]
    return { get: (name) => exact.get(name) ?? byParent.get(parentOf(name)) }
  }
}

/** The map of all these patterns. */
export function createHostMap<T>(entries: Iterable<readonly [pattern: string, value: T]>): HostMap<T> {
  const builder = new HostMapBuilder<T>()
  for (const [pattern, value] of entries) builder.add(pattern, value)
  return builder.build()
}

// Without a dot this is the name itself; no name is its own parent, so it must find nothing.
function parentOf(name: string): string {
  const firstDot = name.indexOf('.')
  return firstDot === -1 ? '' : name.slice(firstDot + 1)
}
