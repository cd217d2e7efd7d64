// Numbers that look random and come again with their seed, so that a seed is enough to see a failure again.

/** A whole number from 0 on, below the given one. */
export type Random = (below: number) => number

/** A small generator (mulberry32). */
export function randomOf(seed: number): Random {
  let state = seed | 0
  return (below) => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below
  }
}

/** A seed of the moment or of HOSTWARD_FUZZ_SEED, told so that a failure can be seen again. */
export function fuzzSeed(): number {
  const seed = Number(process.env['HOSTWARD_FUZZ_SEED'] ?? Date.now() % 1_000_000)
  console.log(`# seed ${seed} (HOSTWARD_FUZZ_SEED)`)
  return seed
}
