// Sites as people write them. Used by schema.ts; sense across keys is the work of the check files.

import { z } from 'zod'
import { normalizeSitePattern } from '../net/hostname.js'
import { parsePathPrefix, parseRedirectTarget } from '../net/path-prefix.js'
import { siteAllowSchema } from './schema-addresses.js'
import { requestBodyBytes } from './schema-limits.js'
import { headerName, list, name, path, readBy, whole } from './schema-parts.js'
import { clientCertificateSchema, siteTlsSchema } from './schema-tls.js'
import { parseUpstreamReference, upstreamTimeouts } from './schema-upstream.js'

/** A certificate and its key. */
export const certificateSchema = z.strictObject({
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
  to: readBy(parseRedirectTarget).describe(
    'Where to: "https://host[:port]" or, for a route, "/path", or both; the rest of the path and the query are kept.',
  ),
  status: z.literal([301, 302, 303, 307, 308]).default(308).describe('Status of the redirect.'),
})

const upstreamText = () =>
  readBy(parseUpstreamReference)
    .optional()
    .describe('Service that answers: a name of `upstreams`, "http://host:port", "https://host:port" or "unix:/path".')

const answers = ['upstream', 'respond', 'redirect'].map((key) => ({ required: [key] }))

const routeSchema = z
  .strictObject({
    path: readBy(parsePathPrefix).describe(
      'Prefix of the paths that it is for, in whole segments: "/api" is for "/api" and "/api/x", not for "/apis".',
    ),
    upstream: upstreamText(),
    respond: respondSchema.optional().describe('A fixed answer instead of a service.'),
    redirect: redirectSchema.optional().describe('A redirect instead of a service; it replaces the prefix.'),
    stripPrefix: z.boolean().default(false).describe('Whether the service gets the path without the prefix.'),
  })
  .meta({ oneOf: answers })

const headerPolicySchema = z.strictObject({
  set: z
    .record(
      headerName(),
      z.string().regex(/^(?!.{4097})(?:[\x21-\x7e](?:[\t\x20-\x7e]*[\x21-\x7e])?)?$/, {
        error: 'must be printable ASCII, 4096 characters at most',
      }),
    )
    .prefault({})
    .describe('Header lines to add, each in place of those of its name.'),
  remove: list(headerName().toLowerCase(), 0, 100).default([]).describe('Names of header lines to remove.'),
})

const headersSchema = z.strictObject({
  request: headerPolicySchema
    .prefault({})
    .describe('Of requests, on their way to the service; `Host` is passed on unless it is set here.'),
  response: headerPolicySchema.prefault({}).describe('Of responses, on their way to the client.'),
})

const siteLogSchema = z.strictObject({
  access: z.boolean().optional().describe('Whether requests of this site are logged; left out, as `log.access` says.'),
})

const siteLimitsSchema = z.strictObject({
  requestBodyBytes: requestBodyBytes()
    .optional()
    .describe('Bytes of a request body, above which it is answered 413; left out, as the top-level `limits` say.'),
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
    tls: siteTlsSchema.prefault({}).describe('TLS of the site.'),
    clientCertificate: clientCertificateSchema
      .optional()
      .describe('What clients must prove; where it is left out, none is asked for a certificate.'),
    listeners: list(name(), 1, 100)
      .optional()
      .describe('Listeners that serve the site; left out, every TLS listener and the plain ones that redirect.'),
    upstream: upstreamText(),
    respond: respondSchema.optional().describe('A fixed answer instead of a service.'),
    redirect: redirectSchema.optional().describe('A redirect instead of a service.'),
    routes: list(routeSchema, 0, 1000)
      .prefault([])
      .describe('Other answers for some paths; the longest prefix wins, and the answer above is for the rest.'),
    headers: headersSchema.prefault({}).describe('Header lines that are added and removed.'),
    errors: z
      .record(z.string().regex(/^[45]\d\d$/, { error: 'must be a status from 400 to 599' }), path())
      .prefault({})
      .describe(
        'Bodies for what Hostward answers itself: status to file (html, txt, json, xml, svg), relative to this file.',
      ),
    timeouts: upstreamTimeouts(() => 'as the upstream says')
      .prefault({})
      .describe("How long things may take for this site, in place of its upstreams' timeouts."),
    allow: siteAllowSchema.optional().describe('The only addresses that it serves; left out, it serves every address.'),
    limits: siteLimitsSchema.prefault({}).describe('How much there may be for this site.'),
    via: z
      .boolean()
      .optional()
      .describe('Whether `Via` is appended for this site; left out, as the top-level `via` says.'),
    log: siteLogSchema.prefault({}).describe('Logging of this site.'),
  })
  .meta({ oneOf: answers })

/** One site as validated, paths not yet resolved. */
export type VhostInput = z.output<typeof vhostSchema>
