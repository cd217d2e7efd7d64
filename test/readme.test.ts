import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { withTables } from './support/readme.js'

const readme = readFileSync('README.md', 'utf8')

test('the tables of the README are what the code says (npm run readme)', () => {
  assert.equal(readme, withTables(readme))
})

test('every event of the log is in the README', () => {
  const sources = readdirSync('src', { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ts'))
  const text = sources.map((name) => readFileSync(join('src', name), 'utf8')).join('\n')
  const events = [...text.matchAll(/\.(?:info|warn|error|debug)\(\s*'([a-z_]+)'/g)].map((match) => match[1])
  assert.ok(events.length > 10)
  assert.deepEqual(
    events.filter((event) => !readme.includes(`| \`${event}\` |`)),
    [],
  )
})

test('the links of the README lead somewhere', () => {
  const links = [...readme.matchAll(/\]\((?!https?:)([^)#]+)\)/g)].map((match) => match[1] as string)
  for (const link of links) assert.doesNotThrow(() => readdirOrFile(link), `${link} is not there`)
})

function readdirOrFile(path: string): void {
  try {
    readFileSync(path)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EISDIR') throw error
  }
}
