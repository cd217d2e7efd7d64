// Which files an `include` list means. Used by load.ts alone; reads directories, never files.

import { basename, dirname, resolve } from 'node:path'
import { type DiskResult, type Files, listNames } from './files.js'
import type { Mistake } from './mistake.js'
import { shown } from './printable.js'
import { listAt } from './value.js'

/** The files that an `include` list means, and where to look for new ones. */
export interface Included {
  /** In order of path, each once; the index is of the entry in `include` that named it first. */
  readonly files: readonly { readonly path: string; readonly index: number }[]
  readonly directories: readonly string[]
  readonly mistakes: readonly Mistake[]
}

/** Resolves the `include` list of the main file; a star stands for any characters but a leading dot, as in a shell. */
export function findIncluded(main: unknown, mainFile: string, files: Files): Included {
  const byPath = new Map<string, number>()
  const directories = new Set<string>()
  const mistakes: Mistake[] = []
  for (const [index, pattern] of listAt(main, 'include').entries()) {
    if (typeof pattern !== 'string' || pattern === '' || pattern.includes('\0')) continue
    const path = resolve(dirname(mainFile), pattern)
    if (pattern.includes('*')) directories.add(dirname(path))
    const found = expand(path, files)
    if ('reason' in found) mistakes.push(unlistable(index, pattern, found.reason))
    else for (const each of found.value) if (!byPath.has(each)) byPath.set(each, index)
  }
  const own = byPath.get(mainFile)
  if (own !== undefined) mistakes.push(selfInclude(own))
  byPath.delete(mainFile)
  const sorted = [...byPath].sort(([left], [right]) => (left < right ? -1 : 1))
  return { files: sorted.map(([path, index]) => ({ path, index })), directories: [...directories], mistakes }
}

// A star in a directory's name is a mistake that check.ts reports; here it means nothing.
function expand(path: string, files: Files): DiskResult<readonly string[]> {
  const directory = dirname(path)
  const last = basename(path)
  if (directory.includes('*')) return { value: [] }
  if (!last.includes('*')) return { value: [path] }
  const listed = listNames(directory, files)
  if ('reason' in listed) return listed
  return { value: listed.value.filter((name) => matches(name, last)).map((name) => resolve(directory, name)) }
}

// Splits at the stars instead of building a regular expression, which a pattern of many stars would make very slow.
function matches(name: string, pattern: string): boolean {
  const [head = '', ...rest] = pattern.split('*')
  const tail = rest.pop() ?? ''
  if (!name.startsWith(head) || !name.endsWith(tail) || name.length < head.length + tail.length) return false
  if (name.startsWith('.') && head === '') return false
  let position = head.length
  const end = name.length - tail.length
  for (const part of rest) {
    const found = name.indexOf(part, position)
    if (found === -1 || found + part.length > end) return false
    position = found + part.length
  }
  return true
}

function unlistable(index: number, pattern: string, reason: string): Mistake {
  return { path: ['include', index], aim: 'value', message: `include ${shown(pattern)} cannot be listed: ${reason}` }
}

function selfInclude(index: number): Mistake {
  const hint = 'put the sites into a directory of their own'
  return { path: ['include', index], aim: 'value', message: 'this entry includes the file that it stands in', hint }
}
