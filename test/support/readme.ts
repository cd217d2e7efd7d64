// The tables of the README that the code knows better than anybody: made here, compared by a test, written by `npm run readme`.
import { defectRules } from '../../src/tls/defects.js'
import { failureRules } from '../../src/wire/failure.js'
import { reference } from './config-reference.js'

const tables: Readonly<Record<string, () => string>> = {
  configuration: configurationTable,
  reasons: reasonTable,
  defects: defectTable,
}

/** The text with each marked table made anew; throws where a marker is missing. */
export function withTables(readme: string): string {
  let text = readme
  for (const [name, table] of Object.entries(tables)) {
    const [begin, end] = [`<!-- begin: ${name} -->`, `<!-- end: ${name} -->`]
    const [start, stop] = [text.indexOf(begin), text.indexOf(end)]
    if (start === -1 || stop === -1) throw new Error(`the README has no ${begin} … ${end}`)
    text = `${text.slice(0, start + begin.length)}\n${table()}\n${text.slice(stop)}`
  }
  return text
}

function configurationTable(): string {
  const rows = reference().map(({ key, type, default: value, meaning }) => [
    `\`${key}\``,
    type,
    value === '' ? '' : `\`${value}\``,
    meaning,
  ])
  return tableOf(['key', 'takes', 'default', 'meaning'], rows)
}

function reasonTable(): string {
  const rows = Object.entries(failureRules).map(([code, { status, meaning }]) => [
    `\`${code}\``,
    String(status),
    meaning,
  ])
  return tableOf(['reason', 'status', 'meaning'], [['`ok`', '', 'the response left whole'], ...rows])
}

function defectTable(): string {
  const rows = Object.entries(defectRules).map(([code, { act, meaning }]) => [`\`${code}\``, act, meaning])
  return tableOf(['code', 'act', 'meaning'], rows)
}

function tableOf(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const lines = [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.map(escaped).join(' | ')} |`)
  return lines.join('\n')
}

function escaped(cell: string): string {
  return cell.replaceAll('|', '\\|')
}
