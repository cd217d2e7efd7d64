// The command line of the benchmark.
import { execFileSync } from 'node:child_process'
import { parseArgs } from 'node:util'
import type { Payload } from './heads.js'
import type { Wire } from './servers/server.js'

/** What to measure. */
export interface Options {
  /** How long one run lasts, about. */
  readonly seconds: number
  readonly rounds: number
  /** Servers whose name starts with one of these; all where empty. */
  readonly only: readonly string[]
  readonly wires: readonly Wire[]
  readonly payloads: readonly Payload[]
  /** Node binaries for the servers that run on Node, with their versions. */
  readonly nodes: readonly { readonly path: string; readonly version: string }[]
}

/** How to call it. */
export const usage = `npm run bench -- [--seconds 3] [--rounds 5] [--only hostward,nginx] [--wire h1,h2] [--bodies] [--node PATH]...
  --bodies   responses of 64 KiB and 1 MiB instead of a page
  --node     another Node binary for the servers that run on Node; repeat it for more`

/** Reads the command line; throws where it says what is not known. */
export function readOptions(words: readonly string[]): Options {
  const { values } = parseArgs({
    args: [...words],
    options: {
      seconds: { type: 'string', default: '3' },
      rounds: { type: 'string', default: '5' },
      only: { type: 'string', default: '' },
      wire: { type: 'string', default: 'h1,h2' },
      bodies: { type: 'boolean', default: false },
      node: { type: 'string', multiple: true, default: [] },
    },
  })
  return {
    seconds: positive(values.seconds),
    rounds: positive(values.rounds),
    only: listOf(values.only),
    wires: listOf(values.wire).map(wireOf),
    payloads: values.bodies ? ['64KiB', '1MiB'] : ['page'],
    nodes: [process.execPath, ...values.node].map((path) => ({ path, version: versionOf(path) })),
  }
}

function positive(word: string): number {
  const value = Number(word)
  if (!(value > 0)) throw new Error(`${word} is not a positive number`)
  return value
}

function wireOf(word: string): Wire {
  if (word !== 'h1' && word !== 'h2') throw new Error(`${word} is not a wire: h1 or h2`)
  return word
}

function listOf(words: string): string[] {
  return words.split(',').filter(Boolean)
}

function versionOf(node: string): string {
  return execFileSync(node, ['--version'], { encoding: 'utf8' }).trim().slice(1)
}
