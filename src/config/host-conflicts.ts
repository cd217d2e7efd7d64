// One name, one site, on every listener. Used by load.ts once all files are read, because the rule spans them all.

import { type Difference, differenceOf } from '../files/difference.js'
import type { ConfigError, Place } from './config-error.js'
import { shown } from './printable.js'

/** A name that a site wants on its listeners. */
export interface HostClaim {
  readonly host: string
  readonly place: Place
}

/** A site as far as it claims names. */
export interface Claimant {
  readonly file: string
  readonly claims: readonly HostClaim[]
  readonly listeners: readonly string[]
}

/** A site that serves. */
export interface HostHolder {
  readonly file: string
  /** Its first host. */
  readonly id: string
}

/** Who serves a host on a listener. */
export type HostHolders = (listener: string, host: string) => HostHolder | undefined

interface Claiming<Site> {
  readonly site: Site
  readonly claim: HostClaim
}

interface Loss<Site> extends Claiming<Site> {
  readonly listener: string
  readonly key: string
}

/**
 * Who gets a name that several sites claim on one listener: the one that serves it, or else the first. A broken site
 * keeps its names: its last good version may still serve them. Made once, asked at each load.
 */
export class HostConflicts<Site extends Claimant> {
  #sites: readonly Site[] = []
  /** Who has each name, as long as nobody has lost one. */
  #owners = new Map<string, Claiming<Site>>();

  /** The claims that each of all sites has lost, one for each host; first come is first served where nobody serves yet. */
  *errorsAmong(
    sites: readonly Site[],
    holders: HostHolders = () => undefined,
  ): Generator<void, ReadonlyMap<Site, readonly ConfigError[]>> {
    const isFree = yield* this.#replace(differenceOf(this.#sites, sites))
    this.#sites = sites
    if (isFree) return new Map()
    const count = new ClaimCount<Site>(holders)
    for (const [index, site] of sites.entries()) {
      if (index % sitesAStep === 0) yield
      count.add(site)
    }
    this.#owners = count.owners
    const errors = count.errors()
    if (errors.size > 0) this.#forget()
    return errors
  }

  /** Whether the names of all sites are free where they were without those that have gone. Otherwise all must be counted. */
  *#replace({ gone, come }: Difference<Site>): Generator<void, boolean> {
    for (const site of gone) for (const key of keysOf(site)) this.#owners.delete(key)
    for (const [index, site] of come.entries()) {
      if (index % sitesAStep === 0) yield
      if (!this.#take(site)) return false
    }
    return true
  }

  #take(site: Site): boolean {
    for (const claim of site.claims) {
      for (const listener of site.listeners) {
        const key = keyOf(listener, claim)
        const owner = this.#owners.get(key)
        if (owner !== undefined && owner.site !== site) return false
        this.#owners.set(key, { site, claim })
      }
    }
    return true
  }

  #forget(): void {
    this.#sites = []
    this.#owners = new Map()
  }
}

const sitesAStep = 500

/** One count of all claims. */
class ClaimCount<Site extends Claimant> {
  readonly owners = new Map<string, Claiming<Site>>()
  readonly #holders: HostHolders
  readonly #losses: Loss<Site>[] = []

  constructor(holders: HostHolders) {
    this.#holders = holders
  }

  add(site: Site): void {
    for (const claim of site.claims) for (const listener of site.listeners) this.#claim({ site, claim }, listener)
  }

  #claim(claiming: Claiming<Site>, listener: string): void {
    const key = keyOf(listener, claiming.claim)
    const owner = this.owners.get(key)
    if (owner === undefined) this.owners.set(key, claiming)
    else if (owner.site !== claiming.site) {
      const holder = this.#holders(listener, claiming.claim.host)
      const isTheirs = holder !== undefined && likeness(claiming.site, holder) > likeness(owner.site, holder)
      if (isTheirs) this.owners.set(key, claiming)
      this.#losses.push({ ...(isTheirs ? owner : claiming), listener, key })
    }
  }

  errors(): ReadonlyMap<Site, readonly ConfigError[]> {
    const lost = new Map<Site, Map<HostClaim, ConfigError>>()
    for (const { site, claim, listener, key } of this.#losses) {
      const owner = this.owners.get(key)
      const own = lost.get(site) ?? new Map<HostClaim, ConfigError>()
      if (owner !== undefined && !own.has(claim)) own.set(claim, conflict(claim, listener, owner.claim.place))
      lost.set(site, own)
    }
    return new Map([...lost].map(([site, errors]) => [site, [...errors.values()]]))
  }
}

function keyOf(listener: string, { host }: HostClaim): string {
  return `${listener} ${host}`
}

function keysOf({ claims, listeners }: Claimant): readonly string[] {
  return claims.flatMap((claim) => listeners.map((listener) => keyOf(listener, claim)))
}

/** How much a site looks like the one that serves: one file may have several. */
function likeness({ file, claims }: Claimant, holder: HostHolder): number {
  if (file !== holder.file) return 0
  return claims[0]?.host === holder.id ? 2 : 1
}

function conflict({ host, place }: HostClaim, listener: string, taken: Place): ConfigError {
  const owner = `${taken.file}:${taken.line}:${taken.column}`
  const message = `host "${host}" is taken on listener ${shown(listener)} by ${owner}`
  return { ...place, message, hint: 'remove one of the two, or serve them on different listeners' }
}
