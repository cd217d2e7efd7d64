// Runs work over many items with a bound on how much is under way, so that ten thousand files do not fill the thread
// pool's queue in front of everything else. Used in this folder.

/** Calls `work` for every item, at most `atOnce` at a time; resolves when all are done, rejects with the first
 *  error. */
export async function forEachBounded<Item>(
  items: readonly Item[],
  atOnce: number,
  work: (item: Item) => Promise<void>,
): Promise<void> {
  let next = 0
  const takeTurns = async (): Promise<void> => {
    while (next < items.length) {
      const item = items[next] as Item
      next += 1
      await work(item)
    }
  }
  await Promise.all(Array.from({ length: Math.min(atOnce, items.length) }, takeTurns))
}
