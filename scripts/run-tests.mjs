// Runs one group of tests on what tsc built: `unit` needs nothing but Node, `interop` needs Debian's programs.
// Node 20's test runner takes no globs, so the files are listed here.
import { spawnSync } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'

const [group, filter] = process.argv.slice(2)
const files = readdirSync('dist/test', { recursive: true })
  .filter((name) => name.endsWith('.test.js'))
  .filter((name) => name.startsWith('interop') === (group === 'interop'))
  .filter((name) => filter === undefined || name.includes(filter))
  .map((name) => join('dist/test', name))
  .sort()

if (files.length === 0) {
  console.error(`no ${group} tests match ${filter ?? 'at all'}`)
  process.exit(1)
}
const result = spawnSync(process.execPath, ['--test', '--test-reporter=spec', ...files], { stdio: 'inherit' })
process.exit(result.status ?? 1)
