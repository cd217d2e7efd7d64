// Sense of a site's header policies. Works on values that nobody has validated, as check.ts does.

import { type Mistake, rebase } from './mistake.js'
import { shown } from './printable.js'
import { parseAuthority } from './schema-upstream.js'
import { isMap, listAt, type ValueMap } from './value.js'

/** Mistakes under `headers`. */
export function checkHeaders(headers: unknown): readonly Mistake[] {
  if (!isMap(headers)) return []
  return ['request', 'response'].flatMap((side) => {
    const policy = headers[side]
    return isMap(policy) ? rebase(['headers', side], [...checkPolicy(policy), ...checkHost(policy, side)]) : []
  })
}

interface NamedLine {
  readonly name: string
  readonly path: readonly (string | number)[]
  readonly aim: 'key' | 'value'
}

function checkPolicy(policy: ValueMap): readonly Mistake[] {
  const set = setNames(policy)
  const removed = listAt(policy, 'remove').flatMap((name, index): readonly NamedLine[] =>
    typeof name === 'string' ? [{ name, path: ['remove', index], aim: 'value' }] : [],
  )
  return [...set.flatMap((line) => checkFraming(line)), ...removed.flatMap(checkFraming), ...checkTwice(set, removed)]
}

function setNames(policy: ValueMap): readonly NamedLine[] {
  const set = policy['set']
  return isMap(set) ? Object.keys(set).map((name) => ({ name, path: ['set', name], aim: 'key' })) : []
}

// RFC 9110 §7.6.1 and RFC 9113 §8.2.2. A framing line that does not fit its body is how requests are smuggled.
const framing = [
  'connection',
  'content-length',
  'expect',
  'http2-settings',
  'keep-alive',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]

/** Whether a header belongs to one connection, so that no policy may touch it. */
export function isConnectionHeader(name: string): boolean {
  return framing.includes(name.toLowerCase())
}

function checkFraming({ name, path, aim }: NamedLine): readonly Mistake[] {
  if (!isConnectionHeader(name)) return []
  const hint = 'it belongs to one connection: Hostward writes it on each'
  return [{ path, aim, message: `header ${shown(name)} is not for policies`, hint }]
}

function checkTwice(set: readonly NamedLine[], removed: readonly NamedLine[]): readonly Mistake[] {
  const seen = new Set<string>()
  const twice = set.flatMap(({ name, path, aim }): readonly Mistake[] => {
    const isSeen = seen.has(name.toLowerCase())
    seen.add(name.toLowerCase())
    return isSeen ? [{ path, aim, message: `header ${shown(name)} is set twice`, hint: 'keep one of the two' }] : []
  })
  const both = removed.flatMap(({ name, path, aim }): readonly Mistake[] => {
    if (!seen.has(name.toLowerCase())) return []
    const hint = 'what is set takes the place of what was there: remove it here'
    return [{ path, aim, message: `header ${shown(name)} is set and removed`, hint }]
  })
  return [...twice, ...both]
}

function checkHost(policy: ValueMap, side: string): readonly Mistake[] {
  if (side === 'response') return []
  const removal = listAt(policy, 'remove').flatMap((name, index): readonly Mistake[] => {
    if (typeof name !== 'string' || name.toLowerCase() !== 'host') return []
    const hint = 'set it to another name, if the service wants one'
    return [{ path: ['remove', index], aim: 'value', message: 'a request without Host is no request', hint }]
  })
  const set = isMap(policy['set']) ? Object.entries(policy['set']) : []
  const settings = set.flatMap(([name, value]): readonly Mistake[] => {
    if (name.toLowerCase() !== 'host' || typeof value !== 'string') return []
    const parsed = parseAuthority(value)
    if ('value' in parsed) return []
    return [{ path: ['set', name], aim: 'value', message: `${name} ${shown(value)} ${parsed.mistake}` }]
  })
  return [...removal, ...settings]
}
