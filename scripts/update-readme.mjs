// `npm run readme`: rewrites the README's tables from the code.
import { readFileSync, writeFileSync } from 'node:fs'
import { withTables } from '../dist/test/support/readme.js'

writeFileSync('README.md', withTables(readFileSync('README.md', 'utf8')))
