// Where everything stands in a file, without the parser's own tree, which would weigh more than the rest of a site.
// Used by parse.ts.

import { isAlias, isMap, isScalar, isSeq, type ParsedNode } from 'yaml'
import type { Aim } from './mistake.js'
import type { Path } from './value.js'

/** The offset of a value, and of what lies below it; a number alone where nothing does. */
export type Outline = number | { readonly at: number; readonly below: ReadonlyMap<string, OutlineEntry> }

interface OutlineEntry {
  /** Undefined in lists. */
  readonly keyAt: number | undefined
  readonly value: Outline | undefined
}

/** The outline of a document's root. Ends at aliases: what is wrong behind one is mended where it is used. */
export function outlineOf(node: ParsedNode): Outline {
  const at = node.range[0]
  if (isAlias(node)) return at
  if (isSeq(node)) return below(at, (node.items as ParsedNode[]).map(listEntry))
  if (isMap(node)) return below(at, node.items.flatMap(mapEntry))
  return at
}

function below(at: number, entries: readonly (readonly [string, OutlineEntry])[]): Outline {
  if (entries.length === 0) return at
  // The first of equal keys counts.
  return { at, below: new Map([...entries].reverse()) }
}

function listEntry(item: ParsedNode | null, index: number): [string, OutlineEntry] {
  return [String(index), { keyAt: undefined, value: item === null ? undefined : outlineOf(item) }]
}

function mapEntry({ key, value }: { key: unknown; value: unknown }): [string, OutlineEntry][] {
  if (!isScalar(key)) return []
  const keyAt = key.range?.[0]
  return [[String(key.value), { keyAt, value: value === null ? keyAt : outlineOf(value as ParsedNode) }]]
}

/** The offset of what a path leads to, or of the nearest parent that is there. */
export function offsetAt(root: Outline, path: Path, aim: Aim): number {
  let node = root
  for (const [index, segment] of path.entries()) {
    if (typeof node === 'number') return node
    const entry = node.below.get(String(segment))
    if (entry === undefined) return node.at
    if (aim === 'key' && index === path.length - 1 && entry.keyAt !== undefined) return entry.keyAt
    if (entry.value === undefined) return node.at
    node = entry.value
  }
  return typeof node === 'number' ? node : node.at
}
