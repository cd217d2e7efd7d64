// The house rules that a machine can check, over src/ as text: imports point down, nothing is too long, nothing is dead.
// Every rule is a pure function from files to complaints, and is shown a sample that breaks it.
import assert from 'node:assert/strict'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { posix } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'

/** Path from the root of the repository, and text. */
type Files = ReadonlyMap<string, string>
type Rule = (files: Files) => string[]

const levels: readonly (readonly string[])[] = [
  ['net', 'wire', 'files', 'telemetry'],
  ['config', 'tls', 'http1', 'http2', 'listener'],
  ['upstream'],
  ['http', 'edge', 'admin'],
  ['server'],
  ['cli'],
]
const entryPoint = 'src/cli/main.ts'
const fileLinesMax = 320
const functionLinesMax = 60
const headerLinesMax = 3

function importsPointDown(files: Files): string[] {
  return importPairs(files).flatMap(({ from, to }) => {
    const folder = folderOf(from)
    const target = folderOf(to)
    if (folder === target || levelOf(target) < levelOf(folder)) return []
    return [`${from} imports ${to}: ${target} does not stand below ${folder}`]
  })
}

function everyFolderHasALevel(files: Files): string[] {
  return [...files.keys()]
    .filter((path) => levelOf(folderOf(path)) === -1)
    .map((path) => `${path} is in no known folder`)
}

function configStopsAtTheServer(files: Files): string[] {
  return importPairs(files)
    .filter(({ from, to }) => folderOf(to) === 'config' && !['config', 'server', 'cli'].includes(folderOf(from)))
    .map(({ from, to }) => `${from} imports ${to}: the configuration's words stop at the server`)
}

function theDataPathIsOurs(files: Files): string[] {
  return linesMatching(
    files,
    /\b(from|import|require|getBuiltinModule)[ (]*['"](node:)?_?(http|https|http2)\b.*['"]/,
  ).map((place) => `${place}: the runtime's HTTP belongs in tests`)
}

function filesAreShort(files: Files): string[] {
  return [...files]
    .filter(([, text]) => lineCount(text) > fileLinesMax)
    .map(([path, text]) => `${path} has ${lineCount(text)} lines`)
}

function functionsAreShort(files: Files): string[] {
  return [...files].flatMap(([path, text]) =>
    functionSpans(text.split('\n'))
      .filter(({ start, end }) => end - start + 1 > functionLinesMax)
      .map(({ start, end }) => `${path}:${start + 1}: a function of ${end - start + 1} lines`),
  )
}

function everyFileIsReached(files: Files): string[] {
  const reached = new Set<string>()
  const waiting = [entryPoint]
  for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
    const text = files.get(path)
    if (text === undefined || reached.has(path)) continue
    reached.add(path)
    waiting.push(...importedFiles(path, text))
  }
  return [...files.keys()]
    .filter((path) => !reached.has(path) && !path.endsWith('.d.ts'))
    .map((path) => `${path} is not reached from ${entryPoint}`)
}

function everyImportExists(files: Files): string[] {
  return importPairs(files)
    .filter(({ to }) => !files.has(to))
    .map(({ from, to }) => `${from} imports ${to}, which is not there`)
}

function nothingIsDefault(files: Files): string[] {
  return linesMatching(files, /^export default\b|\bas default\b/).map((place) => `${place}: a default export`)
}

function nothingIsLeftToDo(files: Files): string[] {
  return linesMatching(files, /\b(TODO|FIXME|XXX|HACK)\b/).map((place) => `${place}: an unfinished thought`)
}

function everyFileSaysWhatItIsFor(files: Files): string[] {
  return [...files].flatMap(([path, text]) => {
    const lines = text.split('\n').slice(text.startsWith('#!') ? 1 : 0)
    const end = lines.findIndex((line) => !line.startsWith('// '))
    if (end === 0) return [`${path} opens without a word on what it is for`]
    return end > headerLinesMax ? [`${path} opens with ${end} lines of comment`] : []
  })
}

function importPairs(files: Files): { from: string; to: string }[] {
  return [...files].flatMap(([from, text]) => importedFiles(from, text).map((to) => ({ from, to })))
}

function importedFiles(path: string, text: string): string[] {
  const statement = /^(?:import|export)\b[^'"`;]*?\bfrom\s+'([^']+)'|^import\s+'([^']+)'|\bimport\(\s*'([^']+)'/gm
  return [...text.matchAll(statement)]
    .map(([, from, bare, dynamic]) => from ?? bare ?? dynamic)
    .filter((name) => name.startsWith('.'))
    .map((name) => posix.join(posix.dirname(path), name).replace(/\.js$/, '.ts'))
}

function folderOf(path: string): string {
  const [, folder, ...rest] = path.split('/')
  return rest.length === 0 ? '' : folder
}

function levelOf(folder: string): number {
  return levels.findIndex((level) => level.includes(folder))
}

function lineCount(text: string): number {
  return text.split('\n').length - 1
}

function linesMatching(files: Files, pattern: RegExp): string[] {
  return [...files].flatMap(([path, text]) =>
    text.split('\n').flatMap((line, index) => (pattern.test(line) ? [`${path}:${index + 1}`] : [])),
  )
}

// The formatter's indentation tells where a function ends: at the first brace as deep as the line that opened it.
function functionSpans(lines: readonly string[]): { start: number; end: number }[] {
  return lines.flatMap((line, start) => {
    if (!opensFunction(line)) return []
    const closing = `${indentationOf(line)}}`
    const end = lines.findIndex((other, index) => index > start && other.startsWith(closing))
    return [{ start, end: end === -1 ? lines.length : end }]
  })
}

function opensFunction(line: string): boolean {
  if (!line.endsWith('{') || /^\s*(\} )?(if|else|for|while|switch|catch|try|do)\b/.test(line)) return false
  if (/\bfunction\b|=> \{$/.test(line)) return true
  const isMethod = /^\s+(\w+ )*(\*)?[#\w]+(<.*>)?\(.*\)(: .*)? \{$/.test(line)
  const endsSignature = /^\s*\)(: .*)? \{$/.test(line)
  return isMethod || endsSignature
}

function indentationOf(line: string): string {
  return line.slice(0, line.length - line.trimStart().length)
}

function readSource(): Files {
  const root = fileURLToPath(new URL('../../', import.meta.url))
  const names = readdirSync(`${root}src`, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ts'))
  return new Map(names.map((name) => [`src/${name.replaceAll('\\', '/')}`, readFileSync(`${root}src/${name}`, 'utf8')]))
}

const source = readSource()

interface Sample {
  readonly name: string
  readonly rule: Rule
  /** Breaks the rule, each file in its own way; `fine` comes as close to that as is allowed. */
  readonly broken: Readonly<Record<string, string>>
  readonly fine: Readonly<Record<string, string>>
}

function body(lineTotal: number, opening: string, closing = '}'): string {
  return `${opening}\n${'  step()\n'.repeat(lineTotal - 2)}${closing}\n`
}

const samples: readonly Sample[] = [
  {
    name: 'imports point down, never up and never sideways',
    rule: importsPointDown,
    broken: {
      'src/net/a.ts': "import { b } from '../tls/b.js'\n",
      'src/tls/b.ts': "import {\n  type C,\n} from '../http1/c.js'\n",
      'src/http1/c.ts': "export type { D } from '../server/d.js'\n",
      'src/wire/e.ts': "const d = await import('../server/d.js')\n",
      'src/http2/f.ts': "import '../listener/g.js'\n",
    },
    fine: { 'src/tls/b.ts': "import { a } from '../net/a.js'\nimport { c } from './c.js'\nimport 'node:tls'\n" },
  },
  {
    name: 'every file is in a folder that has a level',
    rule: everyFolderHasALevel,
    broken: { 'src/utils/a.ts': '', 'src/main.ts': '' },
    fine: { 'src/net/a.ts': '', 'src/cli/deep/b.ts': '' },
  },
  {
    name: 'the types of the configuration stop at the server',
    rule: configStopsAtTheServer,
    broken: { 'src/upstream/a.ts': "import type { Config } from '../config/schema.js'\n" },
    fine: { 'src/server/a.ts': "import type { Config } from '../config/schema.js'\n" },
  },
  {
    name: "the runtime's HTTP modules are not used",
    rule: theDataPathIsOurs,
    broken: { 'src/net/a.ts': "import { request } from 'node:http'\n", 'src/net/b.ts': "const h = import('http2')\n" },
    fine: {
      'src/net/a.ts': "import { connect } from 'node:net'\nimport { c } from '../http/c.js'\nconst d = ['http', 1]\n",
    },
  },
  {
    name: `no file is longer than ${fileLinesMax} lines`,
    rule: filesAreShort,
    broken: { 'src/net/a.ts': '\n'.repeat(fileLinesMax + 1) },
    fine: { 'src/net/a.ts': '\n'.repeat(fileLinesMax) },
  },
  {
    name: `no function is longer than ${functionLinesMax} lines`,
    rule: functionsAreShort,
    broken: {
      'src/net/a.ts': body(functionLinesMax + 1, 'export async function a(): Promise<void> {'),
      'src/net/b.ts': body(functionLinesMax + 1, '  #b(options: B): void {', '  }'),
      'src/net/c.ts': body(functionLinesMax + 1, 'const c = (): void => {'),
      'src/net/d.ts': body(functionLinesMax + 1, '): number {'),
      'src/net/e.ts': body(functionLinesMax + 1, '  constructor({ e }: E) {', '  }'),
    },
    fine: {
      'src/net/a.ts': body(functionLinesMax, 'export function a(): void {'),
      'src/net/b.ts': body(functionLinesMax + 1, 'export class B {'),
      'src/net/c.ts': body(functionLinesMax + 1, 'const table = {'),
    },
  },
  {
    name: 'every file is reached from the entry point',
    rule: everyFileIsReached,
    broken: { [entryPoint]: "// import './dead.js'\n", 'src/cli/dead.ts': '', 'src/net/dead.ts': '' },
    fine: {
      [entryPoint]: "import { a } from './a.js'\n",
      'src/cli/a.ts': "await import('../net/b.js')\n",
      'src/net/b.ts': '',
      'src/net/c.d.ts': '',
    },
  },
  {
    name: 'every relative import names a file',
    rule: everyImportExists,
    broken: { 'src/net/a.ts': "import { b } from './b.js'\n" },
    fine: { 'src/net/a.ts': "import { b } from './b.js'\n", 'src/net/b.ts': '' },
  },
  {
    name: 'nothing is exported by default',
    rule: nothingIsDefault,
    broken: { 'src/net/a.ts': 'export default class {}\n', 'src/net/b.ts': 'export { b as default }\n' },
    fine: { 'src/net/a.ts': 'export const fallback = 1 // by default\n' },
  },
  {
    name: 'no unfinished thought is left in a comment',
    rule: nothingIsLeftToDo,
    broken: { 'src/net/a.ts': `// ${'TO'}DO: more\n` },
    fine: { 'src/net/a.ts': '// What is to do here is done.\n' },
  },
  {
    name: `every file opens with one to ${headerLinesMax} lines on what it is for`,
    rule: everyFileSaysWhatItIsFor,
    broken: { 'src/net/a.ts': "import 'node:net'\n", 'src/net/b.ts': '// a\n// b\n// c\n// d\n' },
    fine: { 'src/net/a.ts': '// a\n// b\n// c\nimport 1\n', [entryPoint]: '#!/usr/bin/env node\n// a\n' },
  },
]

for (const { name, rule, broken, fine } of samples) {
  const isBeforeTheProgram = rule === everyFileIsReached && !existsSync(new URL(`../../${entryPoint}`, import.meta.url))
  test(name, { skip: isBeforeTheProgram ? `${entryPoint} is not there yet` : false }, () => {
    assert.deepEqual(rule(source), [])
  })

  test(`the rule "${name}" can fail`, () => {
    assert.deepEqual(rule(new Map(Object.entries(fine))), [])
    const complaints = rule(new Map(Object.entries(broken)))
    for (const path of Object.keys(broken).filter((name) => name !== entryPoint)) {
      assert.ok(
        complaints.some((complaint) => complaint.startsWith(path)),
        `${path} passes`,
      )
    }
  })
}
