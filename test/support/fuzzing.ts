// How long the fuzzers run, all together ten seconds, and from which seed. HOSTWARD_FUZZ_MS makes them longer,
// HOSTWARD_FUZZ_SEED shows a failure again.
import fc from 'fast-check'

const totalMs = Number(process.env['HOSTWARD_FUZZ_MS'] ?? 10_000)
const firstSeed = Number(process.env['HOSTWARD_FUZZ_SEED'] ?? Date.now() % 1_000_000)
const runsAtOnce = 10

/** Tries a property as often as a share of the time allows; the failure that it rejects with names its seed. */
export async function fuzz<Values>(property: fc.IAsyncProperty<Values>, share: number): Promise<void> {
  console.log(`# seed ${firstSeed} (HOSTWARD_FUZZ_SEED)`)
  const endMs = performance.now() + totalMs * share
  let seed = firstSeed
  // In short rounds, because the limit of time that fast-check has leaves the last run going beside the next test.
  do await fc.assert(property, { seed: seed++, numRuns: runsAtOnce })
  while (performance.now() < endMs)
  console.log(`# ${(seed - firstSeed) * runsAtOnce} runs`)
}
