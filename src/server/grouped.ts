// Items by their keys, in the order in which they come. Pure; used where thousands of sites must be found by something of theirs.

/** The items of each key; an item has as many keys as `keysOf` says, each of them once. */
export function grouped<Item, Key>(
  items: Iterable<Item>,
  keysOf: (item: Item) => Iterable<Key>,
): ReadonlyMap<Key, readonly Item[]> {
  const groups = new Map<Key, Item[]>()
  for (const item of items) {
    for (const key of keysOf(item)) {
      const group = groups.get(key)
      if (group === undefined) groups.set(key, [item])
      else group.push(item)
    }
  }
  return groups
}
