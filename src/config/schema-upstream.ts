// Upstreams as people write them. Used by schema.ts; sense across keys is check-upstreams.ts's work.

import { isIP } from 'node:net'
import { z } from 'zod'
import { type EndpointAddress, parseEndpointAddress } from '../net/endpoint-address.js'
import { normalizeHostname } from '../net/hostname.js'
import type { Parsed } from '../net/parsed.js'
import { anyWait, headerName, list, name, path, readBy, wait, whole } from './schema-parts.js'
import { parseStatusRanges } from './status-ranges.js'

const addressText = () => readBy(parseEndpointAddress)

const endpointSchema = z.strictObject({
  url: addressText().describe('Address of the endpoint: "http://host:port", "https://host:port" or "unix:/path".'),
  weight: whole(1, 1000).default(1).describe('Its share of the requests, against the weights of the others.'),
  backup: z.boolean().default(false).describe('Whether it is used only while none of the others is available.'),
})

const tlsSchema = z.strictObject({
  serverName: readBy(parseServerName)
    .optional()
    .describe("Name that is asked for (SNI) and verified, whatever the Host; left out, the endpoint's own."),
  ca: path()
    .optional()
    .describe("PEM file of the authorities to trust, relative to this file; left out, the runtime's public roots."),
  cert: path().optional().describe('PEM file of the client certificate to show, and its chain.'),
  key: path().optional().describe('PEM file of its private key.'),
  verify: z
    .boolean()
    .default(true)
    .describe("Whether the endpoint's certificate is verified; false lets anybody pose as the endpoint."),
  minVersion: z.enum(['TLSv1.2', 'TLSv1.3']).default('TLSv1.2').describe('Oldest version of TLS that is spoken.'),
})

const hashKeySchema = z.strictObject({
  header: headerName().toLowerCase().optional().describe('Header of the request whose value is hashed.'),
  cookie: headerName().optional().describe('Cookie of the request whose value is hashed.'),
})

const hashSchema = z.strictObject({
  hash: z
    .union([z.enum(['client', 'host', 'path']), hashKeySchema])
    .describe('What sticks to an endpoint: an endpoint that goes moves no keys but its own.'),
})

const healthCheckSchema = z.strictObject({
  path: z
    .string()
    .regex(/^\/[\x21\x22\x24-\x7e]{0,1023}$/, { error: 'must be a path, with or without a query' })
    .default('/')
    .describe('Target of the request.'),
  expect: readBy(parseStatusRanges)
    .prefault('200-399')
    .describe('Statuses of a healthy endpoint: "200-399", or a list such as "200,204,300-399".'),
  intervalMs: wait(5000).describe('Milliseconds between two checks of an endpoint, spread by a tenth.'),
  timeoutMs: wait(2000).describe('Milliseconds for a whole check: connection, TLS and the answer.'),
  rise: whole(1, 100).default(2).describe('Checks in a row that must succeed before an endpoint is used again.'),
  fall: whole(1, 100).default(3).describe('Checks in a row that must fail before an endpoint is used no more.'),
  host: readBy(parseAuthority)
    .optional()
    .describe("Host of the request; left out, `tls.serverName` or the endpoint's own."),
})

const passiveSchema = z.strictObject({
  failures: whole(0, 1000)
    .default(5)
    .describe('Failures in a row, of requests, after which an endpoint is left alone for a while; 0 is never.'),
  windowMs: wait(30_000).describe('Milliseconds within which they must happen.'),
  ejectMs: wait(10_000).describe('Milliseconds of the first pause; longer each time in a row, up to ten times that.'),
})

const retriesSchema = z.strictObject({
  attempts: whole(1, 10).default(2).describe('Attempts at a request, the first one included; 1 is no retry.'),
  on: list(z.literal(['connect', 'reset', 502, 503, 504]), 0, 5)
    .default(['connect', 'reset'])
    .describe('What is tried again, where safe: no connection, a lost one, or a status; never a POST that was sent.'),
})

const endpointLimitsSchema = z.strictObject({
  connections: whole(1, 1_000_000).default(10_000).describe('Open connections to one endpoint.'),
  queued: whole(0, 1_000_000).default(1000).describe('Requests that wait for a connection to one endpoint.'),
  queueMs: wait(5000).describe('Milliseconds that a request waits for one before 503.'),
})

/** How long an upstream is given; `general` says where a bound comes from that is left out. */
export function upstreamTimeouts(general: (key: string) => string) {
  const bound = (meaning: string, key: string) =>
    anyWait()
      .optional()
      .describe(`Milliseconds ${meaning}; left out, ${general(key)}.`)
  return z.strictObject({
    connectMs: bound('to connect, TLS included', 'upstreamConnectMs'),
    responseMs: bound('from the end of a request to the head of its response', 'upstreamResponseMs'),
    idleMs: bound('a connection is kept unused', 'upstreamIdleMs'),
    tunnelIdleMs: bound('in which no byte of a WebSocket or other tunnel moved', 'tunnelIdleMs'),
  })
}

/** A named group of endpoints. */
export const upstreamSchema = z.strictObject({
  endpoints: list(z.union([addressText(), endpointSchema]), 1, 1000).describe(
    'Addresses that answer the same: "http://host:port", "https://host:port", "unix:/path", or a map.',
  ),
  protocol: z
    .enum(['http1', 'h2', 'auto'])
    .default('http1')
    .describe(
      'HTTP/1.1, HTTP/2 (on http:// and unix: with prior knowledge), or what https:// endpoints choose (ALPN).',
    ),
  tls: tlsSchema.prefault({}).describe('TLS to https:// endpoints.'),
  balance: z
    .union([z.enum(['round-robin', 'least-requests', 'random-two']), hashSchema])
    .default('round-robin')
    .describe('How an endpoint is chosen for a request.'),
  healthCheck: healthCheckSchema.optional().describe('Requests of our own that tell whether an endpoint is well.'),
  passive: passiveSchema.prefault({}).describe('What the failures of requests tell of an endpoint.'),
  retries: retriesSchema
    .prefault({})
    .describe('When a request is tried again, on another endpoint where there is one.'),
  limits: endpointLimitsSchema.prefault({}).describe('How much there may be for one endpoint.'),
  timeouts: upstreamTimeouts((key) => `as \`timeouts.${key}\` says`)
    .prefault({})
    .describe('How long things may take.'),
  proxyProtocol: z
    .enum(['v2'])
    .optional()
    .describe("PROXY protocol header that tells the endpoint the client's addresses, one a connection."),
})

/** The upstreams of one file by name. */
export const upstreamsSchema = z.record(name(), upstreamSchema)

/** An upstream as validated, paths not yet resolved. */
export type UpstreamInput = z.output<typeof upstreamSchema>

/** What a vhost or a route names as its upstream. */
export type UpstreamReference =
  | { readonly kind: 'name'; readonly name: string }
  | { readonly kind: 'address'; readonly address: EndpointAddress }

/** Reads what a site answers with: the name of an upstream, or the address of a single endpoint. */
export function parseUpstreamReference(raw: string): Parsed<UpstreamReference> {
  if (/^[^:/\s]+$/.test(raw)) return { value: { kind: 'name', name: raw } }
  const parsed = parseEndpointAddress(raw)
  return 'mistake' in parsed ? parsed : { value: { kind: 'address', address: parsed.value } }
}

// RFC 6066 §3: no address is a server name. What has none is verified by its address.
function parseServerName(raw: string): Parsed<string> {
  const host = normalizeHostname(raw)
  if (host !== undefined && isIP(host) === 0 && !raw.includes(':')) return { value: host }
  return { mistake: 'is not a host name', hint: 'write the name that stands in the certificate, without a port' }
}

/** Reads a Host as requests carry it, port and all. */
export function parseAuthority(raw: string): Parsed<string> {
  return normalizeHostname(raw) === undefined
    ? { mistake: 'is not a host name, with or without a port' }
    : { value: raw }
}
