// The JSON Schema seen as a tree of nodes: what a key takes, in words. Used by the explanations of mistakes and by the
// reference, so that both say what the schema says.

import { z } from 'zod'
import type { Path } from './value.js'

/** The part of JSON Schema that our schemas use. */
export interface SchemaNode {
  readonly type?: string
  readonly description?: string
  readonly default?: unknown
  readonly enum?: readonly unknown[]
  readonly minimum?: number
  readonly maximum?: number
  readonly minItems?: number
  readonly maxItems?: number
  readonly anyOf?: readonly SchemaNode[]
  readonly items?: SchemaNode
  readonly properties?: Readonly<Record<string, SchemaNode>>
  /** What the values of a map with names of the person's own are; false where there are only `properties`. */
  readonly additionalProperties?: SchemaNode | false
  readonly required?: readonly string[]
}

// Conversion costs milliseconds, and every mistaken site asks for it again.
const converted = new WeakMap<z.ZodType, SchemaNode>()

/** What people write, as a tree. */
export function toSchemaNode(schema: z.ZodType): SchemaNode {
  const known = converted.get(schema)
  if (known !== undefined) return known
  const node = z.toJSONSchema(schema, { io: 'input' }) as SchemaNode
  converted.set(schema, node)
  return node
}

/** The node that a path leads to; an empty one where the schema knows nothing of it. */
export function nodeAt(root: SchemaNode, path: Path): SchemaNode {
  let node = root
  for (const segment of path) node = childOf(node, segment)
  return node
}

/** The keys of a map's node, none for all else. */
export function keysOf(node: SchemaNode): readonly string[] {
  const withKeys = branches(node).find(({ properties }) => properties !== undefined)
  return Object.keys(withKeys?.properties ?? {})
}

/** What the values of a map with names of the person's own are; undefined for all else. */
export function namedNode(node: SchemaNode): SchemaNode | undefined {
  const named = branches(node).find(({ additionalProperties }) => typeof additionalProperties === 'object')
  return named?.additionalProperties || undefined
}

/** What a node takes, as the end of "must be …". */
export function expectation(node: SchemaNode): string {
  if (node.anyOf !== undefined) return node.anyOf.map(expectation).join(', or ')
  if (node.enum !== undefined) return `one of ${node.enum.join(', ')}`
  switch (node.type) {
    case 'integer':
      return `a whole number from ${node.minimum} to ${node.maximum}`
    case 'boolean':
      return 'true or false'
    case 'array':
      return node.items?.type === 'object' ? 'a list of maps' : 'a list'
    case 'object':
      return namedNode(node) === undefined ? `a map of ${keysOf(node).join(', ')}` : 'a map'
    case 'null':
      return 'null'
    default:
      return 'text'
  }
}

/** The words that a node takes, none for all else. */
export function wordsOf(node: SchemaNode): readonly unknown[] {
  return branches(node).flatMap((branch) => branch.enum ?? [])
}

/** What a node says of values of a JSON type; undefined where it takes none. */
export function branchOf(node: SchemaNode, type: string): SchemaNode | undefined {
  return branches(node).find((branch) => branch.type === type)
}

/** Whether a node takes values of a JSON type. */
export function takes(node: SchemaNode, type: string): boolean {
  return branchOf(node, type) !== undefined
}

/** The forms that a node may have, itself where there is one. */
export function branches(node: SchemaNode): readonly SchemaNode[] {
  return node.anyOf ?? [node]
}

function childOf(node: SchemaNode, segment: string | number): SchemaNode {
  for (const branch of branches(node)) {
    const child = typeof segment === 'number' ? branch.items : (own(branch.properties, segment) ?? namedNode(branch))
    if (child !== undefined) return child
  }
  return {}
}

function own<Value>(record: Readonly<Record<string, Value>> | undefined, key: string): Value | undefined {
  return record !== undefined && Object.hasOwn(record, key) ? record[key] : undefined
}
