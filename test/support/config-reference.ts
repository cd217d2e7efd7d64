// The reference of the configuration as rows, read off the JSON Schema. Used by the README's table and its test.

import { mainSchema } from '../../src/config/schema.js'
import { branches, namedNode, type SchemaNode, toSchemaNode } from '../../src/config/schema-node.js'

/** One key of the configuration: `vhosts[].respond.status`, what it takes, its default as written in YAML, its meaning. */
export interface ReferenceRow {
  readonly key: string
  readonly type: string
  /** The empty string where there is no default; `required` where the key must be there. */
  readonly default: string
  readonly meaning: string
}

/** Every key of the configuration, parents before children, in the order of the schema. */
export function reference(): readonly ReferenceRow[] {
  return rowsOf(toSchemaNode(mainSchema), '')
}

function rowsOf(parent: SchemaNode, prefix: string): readonly ReferenceRow[] {
  return Object.entries(parent.properties ?? {}).flatMap(([name, node]) => {
    const key = prefix + name
    const isRequired = parent.required?.includes(name) ?? false
    const row = { key, type: typeOf(node), default: defaultOf(node, isRequired), meaning: node.description ?? '' }
    return [row, ...childRows(node, key)]
  })
}

function childRows(node: SchemaNode, key: string): readonly ReferenceRow[] {
  for (const branch of branches(node)) {
    const named = namedNode(branch)
    if (named !== undefined) return childRows(named, `${key}.<name>`)
    if (branch.items !== undefined) return childRows(branch.items, `${key}[]`)
    if (branch.properties !== undefined) return rowsOf(branch, `${key}.`)
  }
  return []
}

function defaultOf(node: SchemaNode, isRequired: boolean): string {
  if (isRequired) return 'required'
  if (node.default === undefined || node.type === 'object') return ''
  return node.default === '' ? '""' : yamlWord(node.default)
}

function yamlWord(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}

function typeOf(node: SchemaNode): string {
  if (node.anyOf !== undefined) return node.anyOf.map(typeOf).join(' or ')
  if (node.enum !== undefined) return node.enum.map(yamlWord).join(', ')
  if (node.items !== undefined) return `list of ${pluralOf(node.items)}`
  if (node.type === 'integer') return `${node.minimum} to ${node.maximum}`
  const named = namedNode(node)
  if (named !== undefined) return `map of ${pluralOf(named)}`
  return node.type === 'object' ? 'map' : (node.type ?? '')
}

function pluralOf(node: SchemaNode): string {
  return branches(node)
    .map((branch) => (branch.enum === undefined ? `${typeOf(branch)}s` : typeOf(branch)))
    .join(' or ')
}
