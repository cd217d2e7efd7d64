import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { describe, test } from 'node:test'
import { loadConfig } from '../../src/config/load.js'
import { directory, filesOf, outcomeOf, readCase } from './case.js'

// Each file holds the files of a configuration and, last, what is to be said of them. To add a case, add a file.
const cases = new URL('../../../test/config/cases/', import.meta.url)

describe('a configuration is answered with', () => {
  for (const name of readdirSync(cases).sort()) {
    test(`the mistakes in cases/${name}`, () => {
      const { sections, outcome } = readCase(readFileSync(new URL(name, cases), 'utf8'))
      assert.equal(outcomeOf(loadConfig(`${directory}/hostward.yaml`, filesOf(sections))), outcome)
    })
  }
})
