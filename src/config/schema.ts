// The configuration as people write it: every key, its bounds, its default and its meaning. The one source of
// validation, of the JSON Schema and of the README's reference. Sense across keys is check.ts's work.

import { z } from 'zod'
import { parseBind, parseOrigin, parseUpstreamUrl } from '../net/address.js'
import { normalizeSitePattern } from '../net/hostname.js'
import type { Parsed } from '../net/parsed.js'
import { toSchemaNode } from './schema-node.js'

const dayMs = 86_400_000

const listenerSchema = z
  .strictObject({
    name: name().describe('Name by which sites and the log refer to the listener.'),
    bind: readBy(parseBind).describe('Address to accept connections on: "host:port", "[v6]:port", or ":port" for all.'),
    tls: z.boolean().default(true).describe('Whether connections are TLS; false is plain HTTP/1.1.'),
    http2: z.boolean().default(true).describe('Whether HTTP/2 is offered; on TLS listeners only.'),
    redirectToHttps: z
      .boolean()
      .default(false)
      .describe(
        'Whether known hosts are sent to https with 308, all but /.well-known/acme-challenge/; plain listeners only.',
      ),
  })
  .describe('A bound, named address.')

const certificateSchema = z.strictObject({
  cert: path().describe('PEM file of the certificate and its chain, relative to this file.'),
  key: path().describe('PEM file of its private key, relative to this file.'),
})

const respondSchema = z.strictObject({
  status: whole(200, 599).default(200).describe('Status of the answer.'),
  contentType: z
    .string()
    .regex(/^[\x21-\x7e][\x20-\x7e]*$/, { error: 'must be printable ASCII' })
    .default('text/plain')
    .describe('Content-Type of the answer.'),
  body: z.string().default('').describe('Body of the answer.'),
})

const redirectSchema = z.strictObject({
  to: readBy(parseOrigin).describe('Where to: "https://host[:port]"; path and query of the request are kept.'),
  status: z.literal([301, 302, 303, 307, 308]).default(308).describe('Status of the redirect.'),
})

const siteLogSchema = z.strictObject({
  access: z.boolean().optional().describe('Whether requests of this site are logged; left out, as `log.access` says.'),
})

/** One site; exactly one of `upstream`, `respond` and `redirect` says how it answers. */
export const vhostSchema = z
  .strictObject({
    hosts: list(readBy(normalizeSitePattern), 1, 1000).describe(
      'Names or IP literals of the site; "*.name" stands for exactly one more label, and an exact name beats it.',
    ),
    certificate: z
      .union([certificateSchema, list(certificateSchema, 1, 4)])
      .optional()
      .describe('Certificate and key, or a list of pairs (RSA beside ECDSA); required on TLS listeners.'),
    listeners: list(name(), 1, 100)
      .optional()
      .describe('Listeners that serve the site; left out, every TLS listener and the plain ones that redirect.'),
    upstream: readBy(parseUpstreamUrl).optional().describe('Service that answers: "http://host:port".'),
    respond: respondSchema.optional().describe('A fixed answer instead of a service.'),
    redirect: redirectSchema.optional().describe('A redirect instead of a service.'),
    via: z
      .boolean()
      .optional()
      .describe('Whether `Via` is appended for this site; left out, as the top-level `via` says.'),
    log: siteLogSchema.prefault({}).describe('Logging of this site.'),
  })
  .meta({ oneOf: ['upstream', 'respond', 'redirect'].map((key) => ({ required: [key] })) })

const reloadSchema = z.strictObject({
  watch: z
    .boolean()
    .default(true)
    .describe('Whether changed files are applied by themselves; false leaves SIGHUP alone.'),
  debounceMs: whole(0, 60_000).default(200).describe('Milliseconds of quiet after a change before files are read.'),
  pollMs: whole(10, 3_600_000)
    .default(2000)
    .describe('Milliseconds between looks at the files, where events are missed.'),
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
  shutdownMs: wait(30_000).describe('Milliseconds that requests in flight are given at shutdown.'),
})

const perSecond = (value: number) => whole(1, 1_000_000).default(value)

const http2LimitsSchema = z.strictObject({
  concurrentStreams: whole(1, 10_000)
    .default(250)
    .describe('Requests open at once, as announced; one more is refused.'),
  sectionBytes: whole(16_384, 16_777_216).default(262_144).describe('Compressed bytes of one header block.'),
  continuationFrames: whole(1, 10_000).default(32).describe('CONTINUATION frames of one header block.'),
  resetBurst: whole(1, 1_000_000)
    .default(250)
    .describe('Requests that a client may cancel at once before they are answered.'),
  resetsPerSecond: perSecond(50).describe('How fast `resetBurst` refills.'),
  faultBurst: whole(1, 1_000_000).default(100).describe('Streams that a client may make us reset or refuse at once.'),
  faultsPerSecond: perSecond(10).describe('How fast `faultBurst` refills.'),
  controlBurst: whole(1, 1_000_000)
    .default(1000)
    .describe('Frames that carry nothing (PING, SETTINGS, empty DATA, …) at once.'),
  controlPerSecond: perSecond(100).describe('How fast `controlBurst` refills.'),
  streamWindowBytes: whole(1024, 16_777_216)
    .default(65_535)
    .describe('Bytes of a request body that nobody has read yet.'),
  streamWindowBytesMax: whole(65_535, 16_777_216)
    .default(1_048_576)
    .describe('What that grows to while the body is taken as fast as it comes.'),
  windowPoolBytes: whole(0, 1_073_741_824)
    .default(16_777_216)
    .describe('What the windows of one connection may grow by, all together.'),
  connectionWindowBytes: whole(65_535, 1_073_741_824)
    .default(4_194_304)
    .describe('Bytes of request bodies on the way on one connection.'),
  streamBufferBytes: whole(16_384, 16_777_216)
    .default(131_072)
    .describe('Bytes of a response that wait for a client before its upstream is told to stop.'),
  connectionBufferBytes: whole(16_384, 1_073_741_824)
    .default(2_097_152)
    .describe('Bytes of all responses of one connection that wait before each is held to one frame.'),
  closeMs: whole(1, 60_000).default(1000).describe('Milliseconds that a goodbye may take.'),
})

const limitsSchema = z.strictObject({
  connections: whole(1, 1_000_000).default(20_000).describe('Open client connections, all listeners together.'),
  headerBytes: whole(1024, 1_048_576).default(65_536).describe('Bytes of one header block.'),
  headerCount: whole(8, 10_000).default(256).describe('Header lines of one header block.'),
  targetBytes: whole(256, 1_048_576).default(16_384).describe('Bytes of a request target.'),
  pipelined: whole(1, 1000).default(16).describe('Requests of one HTTP/1.1 connection that wait for their turn.'),
  bodyBytesPerSecondMin: whole(0, 1_000_000_000)
    .default(100)
    .describe(
      'Bytes a second, averaged over `timeouts.bodyIdleMs`, that a client takes of an answer, or gives of a request that is not answered yet, while it alone is waited for.',
    ),
  http2: http2LimitsSchema.prefault({}).describe('Bounds of one HTTP/2 connection; budgets refill with time.'),
})

const logSchema = z.strictObject({
  level: z
    .enum(['debug', 'info', 'warn', 'error'])
    .default('info')
    .describe('Least level of a line; requests are governed by `access` alone.'),
  access: z.boolean().default(true).describe('Whether every request writes a line.'),
  file: path().nullable().default(null).describe('File to write to, reopened on SIGUSR2; null is stdout.'),
  query: z.boolean().default(true).describe('Whether the logged target keeps its query.'),
  requestHeaders: list(headerName(), 0, 32)
    .default([])
    .describe('Request headers that the request line repeats under `headers`.'),
})

/** The main file. */
export const mainSchema = z.strictObject({
  listeners: list(listenerSchema, 1, 100).describe('Addresses to accept connections on.'),
  fallbackCertificate: certificateSchema
    .optional()
    .describe(
      'Certificate for an unknown or missing server name, so that 421 can be said; left out, such handshakes end in an alert.',
    ),
  vhosts: z.array(vhostSchema).prefault([]).describe('The sites.'),
  include: list(path(), 0, 1000)
    .default([])
    .describe(
      'More files, each with one site or a list under `vhosts`; a star in the last segment only, relative to this file.',
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

/** One site as validated, paths not yet resolved. */
export type VhostInput = z.output<typeof vhostSchema>

/** The main file as validated, paths not yet resolved. */
export type MainInput = z.output<typeof mainSchema>

function name() {
  return z
    .string()
    .regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/, { error: 'must be 1 to 64 letters, digits, ".", "_" or "-"' })
}

function path() {
  // A file name cannot hold NUL; Node throws on one.
  return z.string().regex(/^[^\0]+$/, { error: 'must be a path' })
}

function headerName() {
  return z
    .string()
    .regex(/^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,128}$/, { error: 'must be a header name' })
    .toLowerCase()
}

function whole(min: number, max: number) {
  return z.int().min(min).max(max)
}

function wait(defaultMs: number) {
  return whole(1, dayMs).default(defaultMs)
}

function list<Item extends z.ZodType>(item: Item, min: number, max: number) {
  return z.array(item).min(min).max(max)
}

function readBy<Value>(read: (raw: string) => Parsed<Value>) {
  return z.string().transform((raw, context): Value => {
    const parsed = read(raw)
    if ('value' in parsed) return parsed.value
    context.issues.push({ code: 'custom', message: parsed.mistake, params: { hint: parsed.hint }, input: raw })
    return z.NEVER
  })
}
