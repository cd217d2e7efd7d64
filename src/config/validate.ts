// Holds a value against a schema and says in a person's words what does not fit. The words come from the schema, so
// that a bound changed there is told rightly here.

import type { z } from 'zod'
import { didYouMean } from './did-you-mean.js'
import type { Mistake } from './mistake.js'
import { shown } from './printable.js'
import { branchOf, expectation, keysOf, nodeAt, type SchemaNode, takes, toSchemaNode, wordsOf } from './schema-node.js'
import { isMap, type Path, valueAt } from './value.js'

/** What the schema makes of a value; undefined with mistakes. */
export interface Validated<Output> {
  readonly output: Output | undefined
  readonly mistakes: readonly Mistake[]
}

/** Reads `value` by `schema`; paths of mistakes begin at `value`, which messages about the whole call `label`. */
export function validate<Schema extends z.ZodType>(
  schema: Schema,
  value: unknown,
  label: string,
): Validated<z.output<Schema>> {
  const result = schema.safeParse(value)
  if (result.success) return { output: result.data, mistakes: [] }
  const context = { root: toSchemaNode(schema), value, label }
  return { output: undefined, mistakes: result.error.issues.flatMap((issue) => explain(issue, context)) }
}

interface Context {
  readonly root: SchemaNode
  readonly value: unknown
  readonly label: string
}

type Issue = z.core.$ZodIssue

function explain(issue: Issue, context: Context): readonly Mistake[] {
  const path = issue.path.map((segment) => (typeof segment === 'symbol' ? String(segment) : segment))
  const node = nodeAt(context.root, path)
  const value = valueAt(context.value, path)
  const subject = labelOf(path, context.label)
  if (issue.code === 'unrecognized_keys') return issue.keys.map((key) => unknownKey(key, path, node))
  if (issue.code === 'invalid_key') return [unfitKey(issue, path)]
  if (value === undefined) return [missingKey(path, node)]
  if (issue.code === 'invalid_union') return explainUnion(issue, context) ?? [unfit(subject, value, node, path)]
  if (issue.code === 'custom' || issue.code === 'invalid_format') return [unreadable(issue, subject, value, path)]
  const listNode = branchOf(node, 'array')
  if (Array.isArray(value) && listNode !== undefined) return [wrongLength(subject, value.length, listNode, path)]
  return [unfit(subject, value, node, path)]
}

// Of a pair or a list of pairs, the mistakes of the one that was meant: the branch that took the value's type.
function explainUnion(issue: z.core.$ZodIssueInvalidUnion, context: Context): readonly Mistake[] | undefined {
  const value = valueAt(context.value, issue.path.map(String))
  const meant = issue.errors.find((branch) => !branch.some((inner) => isTypeOfWhole(inner, value)))
  return meant?.flatMap((inner) => explain({ ...inner, path: [...issue.path, ...inner.path] }, context))
}

function isTypeOfWhole({ code, path }: Issue, value: unknown): boolean {
  if (path.length > 0) return false
  return code === 'invalid_type' || (code === 'invalid_value' && typeof value === 'object')
}

function unknownKey(key: string, parent: Path, node: SchemaNode): Mistake {
  const keys = keysOf(node)
  const hint = didYouMean(key, keys) ?? `the keys here are ${keys.join(', ')}`
  return { path: [...parent, key], aim: 'key', message: `unknown key ${shown(key)}`, hint }
}

function unfitKey(issue: z.core.$ZodIssueInvalidKey, path: Path): Mistake {
  const why = issue.issues[0]?.message ?? 'is not a key'
  return { path, aim: 'key', message: `the key ${shown(path.at(-1))} ${why}` }
}

function missingKey(path: Path, node: SchemaNode): Mistake {
  const message = `"${path.at(-1)}" is missing`
  const mistake = { path, aim: 'value', message } as const
  return node.description === undefined ? mistake : { ...mistake, hint: node.description }
}

function unreadable(issue: Issue, subject: string, value: unknown, path: Path): Mistake {
  const hint: unknown = issue.code === 'custom' ? issue.params?.['hint'] : undefined
  const mistake = { path, aim: 'value', message: `${subject} ${shown(value)} ${issue.message}` } as const
  return typeof hint === 'string' ? { ...mistake, hint } : mistake
}

function wrongLength(subject: string, length: number, node: SchemaNode, path: Path): Mistake {
  const entries = `${node.minItems ?? 0} to ${node.maxItems} entries`
  return { path, aim: 'value', message: `${subject} must have ${entries}, not ${length}` }
}

function unfit(subject: string, value: unknown, node: SchemaNode, path: Path): Mistake {
  const got = value === null ? 'empty' : shown(value)
  const mistake = { path, aim: 'value', message: `${subject} must be ${expectation(node)}, not ${got}` } as const
  const hint = unfitHint(value, node, path)
  return hint === undefined ? mistake : { ...mistake, hint }
}

function unfitHint(value: unknown, node: SchemaNode, path: Path): string | undefined {
  if (value === null) return 'give it a value, or remove the key'
  const words = wordsOf(node)
  if (words.length > 0) return wordHint(value, words)
  if (takes(node, 'string')) return textHint(value, path.at(-1) === 'bind' ? ':' : '')
  if (typeof value !== 'string') return undefined
  if (takes(node, 'boolean')) return booleanHint(value)
  if (takes(node, 'integer')) return numberHint(value, String(path.at(-1)))
  return takes(node, 'array') && node.items?.type === 'string' ? `write a list: [${shown(value)}]` : undefined
}

function wordHint(value: unknown, words: readonly unknown[]): string | undefined {
  if (typeof value !== 'string') return undefined
  if (words.includes(Number(value))) return `write ${Number(value)}, without quotes`
  return didYouMean(value, words.map(String))
}

// Clipped like every value in a message: quoting a whole map back would help nobody.
function textHint(value: unknown, prefix: string): string {
  if (Array.isArray(value)) return 'quote a text that begins with "["'
  if (isMap(value)) return 'quote a text that contains ": " or begins with "{"'
  return `quote it: "${prefix}${String(value)}"`
}

function booleanHint(value: string): string | undefined {
  if (/^(?:yes|on|true)$/i.test(value)) return 'write true'
  return /^(?:no|off|false)$/i.test(value) ? 'write false' : undefined
}

const unitMs: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 }

function numberHint(value: string, key: string): string | undefined {
  const [, digits, unit] = /^(\d{1,9})\s*(ms|s|m|h)?$/.exec(value) ?? []
  if (digits === undefined) return undefined
  if (unit === undefined) return `write ${Number(digits)}, without quotes`
  return key.endsWith('Ms') ? `write ${Number(digits) * unitMs[unit]}: the unit is milliseconds` : undefined
}

// `hosts[1]` is called "host", `timeouts.idleMs` "idleMs".
function labelOf(path: Path, label: string): string {
  const last = path.at(-1)
  if (last === undefined) return label
  return typeof last === 'string' ? last : labelOf(path.slice(0, -1), label).replace(/s$/, '')
}
