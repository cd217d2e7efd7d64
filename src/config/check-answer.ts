// What a site or a route answers with: one thing, that exists. Works on values that nobody has validated. Used by the
// checks of sites and routes.

import { didYouMean } from './did-you-mean.js'
import type { Mistake } from './mistake.js'
import { shown } from './printable.js'
import { parseUpstreamReference } from './schema-upstream.js'
import { isMap, type ValueMap } from './value.js'

const namesShownMax = 10

/** What answers, and what it may refer to. */
export interface Answering {
  readonly kind: 'site' | 'route'
  /** The names of the upstreams that it may use. */
  readonly upstreams: ReadonlySet<string>
}

/** Mistakes of `upstream`, `respond` and `redirect`. */
export function checkAnswer(value: ValueMap, { kind, upstreams }: Answering): readonly Mistake[] {
  return [...checkOne(value, kind), ...checkReference(value['upstream'], upstreams), ...checkBody(value['respond'])]
}

function checkOne(value: ValueMap, kind: Answering['kind']): readonly Mistake[] {
  const [first, ...others] = Object.keys(value).filter((key) => ['upstream', 'respond', 'redirect'].includes(key))
  if (first === undefined) {
    const hint = 'add one of upstream, respond and redirect'
    return [{ path: [], aim: 'value', message: `the ${kind} has no answer`, hint }]
  }
  return others.map((key) => {
    const hint = `a ${kind} answers in one way: keep one of them`
    return { path: [key], aim: 'key', message: `${key} stands beside ${first}`, hint }
  })
}

function checkReference(raw: unknown, upstreams: ReadonlySet<string>): readonly Mistake[] {
  const parsed = typeof raw === 'string' ? parseUpstreamReference(raw) : undefined
  if (parsed === undefined || 'mistake' in parsed || parsed.value.kind !== 'name') return []
  const { name } = parsed.value
  if (upstreams.has(name)) return []
  const hint = didYouMean(name, [...upstreams]) ?? otherNames(name, upstreams)
  return [{ path: ['upstream'], aim: 'value', message: `upstream ${shown(name)} is not defined`, hint }]
}

function otherNames(name: string, upstreams: ReadonlySet<string>): string {
  if (upstreams.size === 0) return `define it under upstreams, or write "http://${name}" for a host of that name`
  const rest = upstreams.size > namesShownMax ? ', …' : ''
  return `there are ${[...upstreams].slice(0, namesShownMax).join(', ')}${rest}`
}

// RFC 9110 §6.4.1: these have no body.
function checkBody(respond: unknown): readonly Mistake[] {
  if (!isMap(respond) || (respond['status'] !== 204 && respond['status'] !== 304)) return []
  if (respond['body'] === undefined || respond['body'] === '') return []
  const message = `an answer with status ${respond['status']} has no body`
  return [{ path: ['respond', 'body'], aim: 'key', message, hint: 'remove the body' }]
}
