// The nearest of the words that would have been right.

/** `did you mean "http2"?`, or undefined where no word is near. */
export function didYouMean(written: string, words: readonly string[]): string | undefined {
  const nearest = words
    .map((word) => ({ word, distance: editDistance(written.slice(0, 64).toLowerCase(), word.toLowerCase()) }))
    .filter(({ word, distance }) => distance <= Math.max(1, Math.floor(word.length / 3)))
    .sort((left, right) => left.distance - right.distance)[0]
  return nearest === undefined ? undefined : `did you mean "${nearest.word}"?`
}

// Optimal string alignment: insertions, deletions, replacements, and two neighbours swapped ("shpo"), one each.
function editDistance(left: string, right: string): number {
  const rows = [Array.from({ length: right.length + 1 }, (_, column) => column)]
  for (let row = 1; row <= left.length; row++) {
    const current = [row]
    for (let column = 1; column <= right.length; column++) {
      const [above, beside, diagonal] = [rows[row - 1][column], current[column - 1], rows[row - 1][column - 1]]
      const isSame = left[row - 1] === right[column - 1]
      const isSwapped = left[row - 1] === right[column - 2] && left[row - 2] === right[column - 1]
      current[column] = Math.min(above + 1, beside + 1, diagonal + (isSame ? 0 : 1))
      if (isSwapped && row > 1 && column > 1) current[column] = Math.min(current[column], rows[row - 2][column - 2] + 1)
    }
    rows.push(current)
  }
  return rows[left.length][right.length]
}
