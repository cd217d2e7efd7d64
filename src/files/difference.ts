// What tells two lists apart that are the same but for a few places, as those of two loads are. Pure; used wherever a
// reload of thousands of sites must cost no more than what it changes.

/** What only one of two lists has. */
export interface Difference<Before, After = Before> {
  readonly gone: readonly Before[]
  readonly come: readonly After[]
}

/** Compares by identity. Where items stand says nothing; where most stand as before, it costs a comparison each. */
export function differenceOf<Before extends After, After>(
  before: readonly Before[],
  after: readonly After[],
): Difference<Before, After> {
  const length = Math.min(before.length, after.length)
  let start = 0
  while (start < length && before[start] === after[start]) start += 1
  let equal = 0
  while (equal < length - start && before[before.length - 1 - equal] === after[after.length - 1 - equal]) equal += 1
  const common = length - equal
  const left = before.slice(common, before.length - equal)
  const right = after.slice(common, after.length - equal)
  for (let index = start; index < common; index += 1) {
    if (before[index] === after[index]) continue
    left.push(before[index] as Before)
    right.push(after[index] as After)
  }
  return exclude(left, right)
}

function exclude<Before extends After, After>(
  left: readonly Before[],
  right: readonly After[],
): Difference<Before, After> {
  const before = new Set<After>(left)
  const after = new Set(right)
  return { gone: left.filter((item) => !after.has(item)), come: right.filter((item) => !before.has(item)) }
}
