// The public HPACK vectors beside the repository, decoded one after another with one state a file.
import assert from 'node:assert/strict'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import type { SectionKind } from '../../src/http2/field-section.js'
import { HpackDecoder } from '../../src/http2/hpack-decoder.js'
import { decode, type Pair, pairsOf } from './hpack-support.js'

interface Case {
  readonly header_table_size?: number
  readonly wire: string
  readonly headers: readonly Record<string, string>[]
}

const folder = join('..', 'shared', 'vectors', 'hpack')
const files = existsSync(folder) ? readdirSync(folder).filter((name) => name.endsWith('.json')) : []

test('the public HPACK vectors decode to their header lists', { skip: files.length === 0 && `no ${folder}` }, () => {
  let cases = 0
  for (const file of files) cases += decodeFile(file)
  assert.ok(cases > 100, `only ${cases} cases`)
})

function decodeFile(file: string): number {
  const story: { cases: readonly Case[] } = JSON.parse(readFileSync(join(folder, file), 'utf8'))
  const decoder = new HpackDecoder()
  for (const [index, one] of story.cases.entries()) {
    if (one.header_table_size !== undefined) decoder.announce(one.header_table_size)
    const section = decode(decoder, Buffer.from(one.wire, 'hex'), kindOf(one))
    assert.ok(section, `${file} #${index}: a coding error`)
    // Some stories carry `connection`, which is a malformed message and sound HPACK.
    assert.match(section.fault ?? '', /^(a connection-specific header)?$/, `${file} #${index}`)
    assert.deepEqual(pairsOf(section).sort(), pairsOfCase(one).sort(), `${file} #${index}`)
  }
  return story.cases.length
}

function kindOf(one: Case): SectionKind {
  return one.headers.some((field) => ':status' in field) ? 'response' : 'request'
}

function pairsOfCase(one: Case): Pair[] {
  return one.headers.flatMap((field) => Object.entries(field))
}
