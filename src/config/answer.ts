// From what a valid site or route answers with to what the program uses. Used by site.ts.

import assert from 'node:assert/strict'
import type { Answer, ForwardAnswer, RouteConfig } from './config.js'
import type { Source } from './parse.js'
import type { UpstreamInput, UpstreamReference } from './schema-upstream.js'
import type { VhostInput } from './schema-vhost.js'
import { timeoutsOf } from './upstream.js'
import type { UpstreamDirectory } from './upstream-directory.js'
import type { Path } from './value.js'

/** Where an answer stands, and what it may refer to. */
export interface AnswerPosition {
  readonly source: Source
  readonly path: Path
  readonly main: { readonly upstreams: UpstreamDirectory }
  /** The site's own. */
  readonly timeouts: UpstreamInput['timeouts']
}

type AnswerInput = Pick<VhostInput, 'upstream' | 'respond' | 'redirect'>

/** The one answer that is there. */
export function toAnswer({ upstream, respond, redirect }: AnswerInput, position: AnswerPosition): Answer {
  if (upstream !== undefined) return toForward(upstream, position)
  if (redirect !== undefined) return { kind: 'redirect', ...redirect.to, status: redirect.status }
  // Built only where no mistake was found, so one of the three is there.
  assert(respond !== undefined, 'a sound site answers')
  return { kind: 'respond', ...respond }
}

/** The routes, those with the longest paths first. */
export function toRoutes(inputs: VhostInput['routes'], position: AnswerPosition): readonly RouteConfig[] {
  const routes = inputs.map((input, index): RouteConfig => {
    const path = [...position.path, index]
    const answer = toAnswer(input, { ...position, path })
    return { path: input.path, answer, stripPrefix: input.stripPrefix, place: position.source.place(path, 'value') }
  })
  return routes.sort((left, right) => right.path.length - left.path.length)
}

function toForward(reference: UpstreamReference, { source, path, main, timeouts }: AnswerPosition): ForwardAnswer {
  const upstream = main.upstreams.find(reference, source.place([...path, 'upstream'], 'value'))
  return { kind: 'upstream', upstream, timeouts: timeoutsOf(timeouts, upstream.timeouts) }
}
