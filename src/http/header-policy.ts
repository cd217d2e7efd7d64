// What a site wants of header lines that pass through or are ours: some are set, some go. Compiled once, used by forwarding
// and by answers after everything else has been dropped and added; a policy never touches what frames a message.
import assert from 'node:assert/strict'
import type { HeaderBlock } from '../wire/header-block.js'

/** Lines that are set and lines that go. */
export interface HeaderPolicy {
  /** Names in lower case whose lines go: those that are removed, and those that are set anew. */
  readonly dropped: readonly string[]
  /** Lines that come, as name, value, name, value, …; names in lower case. */
  readonly added: readonly string[]
}

/** Names that decide where a message ends, what connection it belongs to, or whom it is for. */
const untouchable = new Set([
  ...['connection', 'content-length', 'host', 'http2-settings', 'keep-alive', 'proxy-connection', 'te', 'trailer'],
  ...['transfer-encoding', 'upgrade', 'expect'],
])

/** Compiles a policy; undefined where there is nothing to do. */
export function headerPolicy(wanted: {
  set: readonly { readonly name: string; readonly value: string }[]
  remove: readonly string[]
}): HeaderPolicy | undefined {
  const set = wanted.set.map(({ name, value }) => ({ name: name.toLowerCase(), value }))
  const dropped = [...wanted.remove.map((name) => name.toLowerCase()), ...set.map(({ name }) => name)]
  assert.ok(!dropped.some((name) => untouchable.has(name)), 'the configuration refuses names that frame a message')
  return dropped.length === 0 ? undefined : { dropped, added: set.flatMap(({ name, value }) => [name, value]) }
}

/** Does what a policy says, to received lines and to those of our own. */
export function applyPolicy(headers: HeaderBlock, { dropped, added }: HeaderPolicy): void {
  for (let index = 0; index < headers.count; index++) if (isDropped(headers, index, dropped)) headers.drop(index)
  dropAdded(headers.added, dropped)
  for (const text of added) headers.added.push(text)
}

function isDropped(headers: HeaderBlock, index: number, dropped: readonly string[]): boolean {
  for (const name of dropped) if (headers.isNamed(index, name)) return true
  return false
}

function dropAdded(added: string[], dropped: readonly string[]): void {
  for (let at = added.length - 2; at >= 0; at -= 2) if (dropped.includes(added[at])) added.splice(at, 2)
}
