// Rows of text in aligned columns, for people. Pure.

/** A column: its heading, how wide it may become, and which end of a longer text matters. */
export interface Column {
  readonly heading: string
  readonly widthMax: number
  /** `left` keeps the beginning of a text that is too long, `right` its end, as with paths. */
  readonly keep: 'left' | 'right'
}

const gap = '  '

/** A heading and one line for each row; a row has a text for each column. */
export function formatTable(columns: readonly Column[], rows: readonly (readonly string[])[]): string {
  const cells = [columns.map(({ heading }) => heading), ...rows].map((row) =>
    columns.map((column, index) => shorten(row[index] ?? '', column)),
  )
  const widths = columns.map((_, index) => Math.max(...cells.map((row) => row[index].length)))
  return cells
    .map((row) =>
      row
        .map((text, index) => text.padEnd(widths[index]))
        .join(gap)
        .trimEnd(),
    )
    .join('\n')
}

function shorten(text: string, { widthMax, keep }: Column): string {
  if (text.length <= widthMax) return text
  return keep === 'left' ? `${text.slice(0, widthMax - 1)}…` : `…${text.slice(1 - widthMax)}`
}
