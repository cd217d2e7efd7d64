// From YAML nodes to plain values. Aliases share what they stand for, and how much they stand for is bounded: a few
// lines of aliases to aliases would otherwise stand for more than memory holds.

import { isAlias, isMap, isScalar, isSeq, type ParsedNode } from 'yaml'
import type { Mistake } from './mistake.js'
import { shown } from './printable.js'
import type { Path } from './value.js'

/** A document as plain values: maps have no prototype, mistaken parts are undefined. */
export interface NodeValue {
  readonly value: unknown
  readonly mistakes: readonly Mistake[]
  /** The aliases stand for too much; the last mistake says so and nothing else counts. */
  readonly isExcessive: boolean
}

const aliasedNodesMax = 100_000

/** Reads a document's root. */
export function toValue(root: ParsedNode | null): NodeValue {
  const reading: Reading = { anchors: new Map(), mistakes: [], nodes: 0, aliasedNodes: 0 }
  const value = readNode(root, [], reading)
  return { value, mistakes: reading.mistakes, isExcessive: reading.aliasedNodes > aliasedNodesMax }
}

interface Reading {
  readonly anchors: Map<string, Anchored>
  readonly mistakes: Mistake[]
  /** Nodes read so far, those behind aliases included. */
  nodes: number
  aliasedNodes: number
}

interface Anchored {
  readonly value: unknown
  readonly nodes: number
}

function readNode(node: ParsedNode | null, path: Path, reading: Reading): unknown {
  if (reading.aliasedNodes > aliasedNodesMax) return undefined
  if (isAlias(node)) return readAlias(node.source, path, reading)
  const nodesBefore = reading.nodes
  reading.nodes++
  const value = readPlainNode(node, path, reading)
  // Known only once it is complete, so that no alias can stand for something that contains it.
  if (node?.anchor !== undefined) reading.anchors.set(node.anchor, { value, nodes: reading.nodes - nodesBefore })
  return value
}

function readPlainNode(node: ParsedNode | null, path: Path, reading: Reading): unknown {
  if (isSeq(node)) return node.items.map((item, index) => readNode(item as ParsedNode, [...path, index], reading))
  if (isMap(node)) return readMap(node, path, reading)
  return isScalar(node) ? node.value : null
}

type MapNode = Extract<ParsedNode, { items: { key: unknown }[] }>

function readMap(node: MapNode, path: Path, reading: Reading): unknown {
  const map: Record<string, unknown> = Object.create(null)
  for (const { key, value } of node.items) {
    if (isScalar(key)) map[String(key.value)] = readNode(value, [...path, String(key.value)], reading)
    else reading.mistakes.push({ path, aim: 'value', message: 'a key of this map is not plain text' })
  }
  return map
}

function readAlias(name: string, path: Path, reading: Reading): unknown {
  const anchored = reading.anchors.get(name)
  if (anchored === undefined) {
    reading.mistakes.push(unknownAlias(name, path))
    return undefined
  }
  reading.nodes += anchored.nodes
  reading.aliasedNodes += anchored.nodes
  if (reading.aliasedNodes > aliasedNodesMax) reading.mistakes.push(excessiveAlias(path))
  return anchored.value
}

function unknownAlias(name: string, path: Path): Mistake {
  const written = shown(`*${name}`).slice(1, -1)
  if (name.startsWith('.')) {
    return { path, aim: 'value', message: `an unquoted ${written} is an alias in YAML`, hint: `quote it: "${written}"` }
  }
  const hint = `put &${written.slice(1)} before the value that it stands for, or quote it: "${written}"`
  return { path, aim: 'value', message: `the alias ${written} stands for nothing above it`, hint }
}

function excessiveAlias(path: Path): Mistake {
  const message = `the aliases of this file stand for more than ${aliasedNodesMax} values`
  return { path, aim: 'value', message, hint: 'write the values out' }
}
