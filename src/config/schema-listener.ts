// A listener as people write it. Used by the schema of the main file.

import { z } from 'zod'
import { parseBind } from '../net/address.js'
import { addressSources, clientAddress, listenerAllowSchema } from './schema-addresses.js'
import { list, name, readBy } from './schema-parts.js'
import { listenerTlsSchema } from './schema-tls.js'

const proxyProtocolSchema = z.strictObject({
  from: addressSources().describe(
    'Addresses, CIDR ranges and names of `addressSets` whose headers are believed, held against the measured peer.',
  ),
  mode: z
    .enum(['require', 'optional', 'off'])
    .default('require')
    .describe(
      'Whether those must send a header; `optional` is for the time of a migration, `off` looks for none. From others a header is refused.',
    ),
  versions: list(z.literal([1, 2]), 1, 2)
    .default([1, 2])
    .describe('Versions of the header that are taken.'),
})

/** A listener. */
export const listenerSchema = z
  .strictObject({
    name: name().describe('Name by which sites and the log refer to the listener.'),
    bind: readBy(parseBind).describe('Address to accept connections on: "host:port", "[v6]:port", or ":port" for all.'),
    tls: z
      .union([z.boolean(), listenerTlsSchema])
      .default(true)
      .describe('Whether connections are TLS, or on what terms they are; false is plain HTTP/1.1.'),
    http2: z.boolean().default(true).describe('Whether HTTP/2 is offered; on TLS listeners only.'),
    announceOrigins: z
      .boolean()
      .default(false)
      .describe(
        'Whether clients of HTTP/2 are told which other hosts the connection serves (ORIGIN): all that its certificate covers and that are no wildcards, on port 443. They then ask it for no others.',
      ),
    redirectToHttps: z
      .boolean()
      .default(false)
      .describe(
        'Whether known hosts are sent to https with 308, all but /.well-known/acme-challenge/ and what `trustProto` knows to be https; plain listeners only.',
      ),
    proxyProtocol: proxyProtocolSchema
      .optional()
      .describe('PROXY headers of forwarders in front, before TLS; left out, none is looked for.'),
    clientAddress: clientAddress()
      .optional()
      .describe('The request header in which a CDN names the client, or a list: the first whose `from` fits counts.'),
    trustProto: z
      .boolean()
      .default(false)
      .describe('Whether X-Forwarded-Proto is believed of the sources of `clientAddress`.'),
    allow: listenerAllowSchema
      .optional()
      .describe('The only addresses that may connect, TLS or not; left out, every address may.'),
  })
  .describe('A bound, named address.')
