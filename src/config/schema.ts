// The configuration as people write it: every key, its bounds, its default and its meaning. The one source of
// validation, of the JSON Schema and of the README's reference. Sense across keys is the work of the check files.

import { z } from 'zod'
import { addressSetsSchema } from './schema-addresses.js'
import { limitsSchema } from './schema-limits.js'
import { listenerSchema } from './schema-listener.js'
import { toSchemaNode } from './schema-node.js'
import { headerName, list, path, wait, whole } from './schema-parts.js'
import { upstreamsSchema } from './schema-upstream.js'
import { certificateSchema, vhostSchema } from './schema-vhost.js'

const reloadSchema = z.strictObject({
  watch: z
    .boolean()
    .default(true)
    .describe('Whether changed files are applied by themselves; false leaves SIGHUP alone.'),
  debounceMs: whole(0, 60_000).default(200).describe('Milliseconds of quiet after a change before files are read.'),
  pollMs: whole(10, 3_600_000)
    .default(2000)
    .describe(
      'Milliseconds between looks at the files, where events are missed; each look is at 2,000 files, the next ones in turn.',
    ),
  renewalGraceMs: whole(0, 3_600_000)
    .default(30_000)
    .describe(
      'Milliseconds that a pair being renewed may be useless on disk before that is told of and its sites are degraded.',
    ),
})

const timeoutsSchema = z.strictObject({
  handshakeMs: wait(10_000).describe('Milliseconds for everything before the first request byte: preamble and TLS.'),
  headersMs: wait(15_000).describe('Milliseconds for the head of a request.'),
  bodyIdleMs: wait(60_000).describe('Milliseconds in which no byte of a body moved, either way.'),
  idleMs: wait(920_000).describe('Milliseconds between requests of a client; longer than any CDN keeps connections.'),
  upstreamConnectMs: wait(5000).describe('Milliseconds to connect to an upstream.'),
  upstreamResponseMs: wait(95_000).describe(
    "Milliseconds to the first byte of an upstream's response; shorter than a CDN waits.",
  ),
  upstreamIdleMs: wait(4000).describe(
    'Milliseconds an upstream connection is kept unused; below the 5 s of common servers, a shorter Keep-Alive hint wins.',
  ),
  tunnelIdleMs: wait(3_600_000).describe(
    'Milliseconds in which no byte of a WebSocket or other tunnel moved, either way.',
  ),
  heldBodyMs: wait(1000).describe(
    'Milliseconds that a request body without a length is held; then `limits.heldBodyBytes` or not, it passes as it comes.',
  ),
  shutdownMs: wait(30_000).describe(
    'Milliseconds that requests in flight are given at shutdown, and tunnels that would be refused now.',
  ),
})

const logSchema = z.strictObject({
  level: z
    .enum(['debug', 'info', 'warn', 'error'])
    .default('info')
    .describe('Least level of a line; requests are governed by `access` alone.'),
  access: z.boolean().default(true).describe('Whether every request writes a line.'),
  file: path().nullable().default(null).describe('File to write to, reopened on SIGUSR2; null is stdout.'),
  query: z.boolean().default(true).describe('Whether the logged target keeps its query.'),
  requestHeaders: list(headerName().toLowerCase(), 0, 32)
    .default([])
    .describe('Request headers that the request line repeats under `headers`.'),
})

/** The main file. */
export const mainSchema = z.strictObject({
  listeners: list(listenerSchema, 1, 100).describe('Addresses to accept connections on.'),
  addressSets: addressSetsSchema
    .prefault({})
    .describe('Files of addresses by name, for `from` to refer to; none may be empty, and changes are followed.'),
  fallbackCertificate: certificateSchema
    .optional()
    .describe(
      'Certificate for an unknown or missing server name, so that 421 can be said; left out, such handshakes end in an alert.',
    ),
  upstreams: upstreamsSchema.prefault({}).describe('Services by name, for sites to refer to.'),
  vhosts: z.array(vhostSchema).prefault([]).describe('The sites.'),
  include: list(path(), 0, 1000)
    .default([])
    .describe(
      'More files, each with one site or a list under `vhosts`, and `upstreams` for its own sites; a star in the last segment only, relative to this file.',
    ),
  via: z
    .boolean()
    .default(true)
    .describe('Whether `Via` is appended; a backend nginx stops compressing when it sees one.'),
  reload: reloadSchema.prefault({}).describe('How changes of files are noticed.'),
  timeouts: timeoutsSchema.prefault({}).describe('How long things may take; 0 is not "for ever" and not allowed.'),
  limits: limitsSchema.prefault({}).describe('How much there may be.'),
  log: logSchema.prefault({}).describe('What is logged, and where.'),
})

/** The JSON Schema (draft 2020-12) of the main file, for editors. */
export function jsonSchema(): Record<string, unknown> {
  return { title: 'Hostward', ...toSchemaNode(mainSchema) }
}

/** The main file as validated, paths not yet resolved. */
export type MainInput = z.output<typeof mainSchema>
