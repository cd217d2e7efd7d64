// TLS of listeners and sites, and what a site demands of client certificates, as people write them. Used by schema.ts.

import { z } from 'zod'
import { cipherSuites } from '../net/cipher-suites.js'
import type { Parsed } from '../net/parsed.js'
import { headerName, list, path, readBy } from './schema-parts.js'

const versions = ['TLSv1.2', 'TLSv1.3'] as const

/** Settings of a listener's TLS, in place of `true`. */
export const listenerTlsSchema = z.strictObject({
  minVersion: z.enum(versions).default('TLSv1.2').describe('Oldest version of TLS that is spoken.'),
  ciphers: list(z.enum(cipherSuites), 1, cipherSuites.length)
    .default([...cipherSuites])
    .describe('Cipher suites that are spoken; their order says nothing, the client chooses.'),
})

/** Settings of a site's TLS. */
export const siteTlsSchema = z.strictObject({
  minVersion: z
    .enum(versions)
    .optional()
    .describe(
      'Oldest version of TLS that the site is served over, whatever name the connection was opened for; left out, as its listeners say.',
    ),
})

const pinsMax = 1000
const pinText = () =>
  z.string().regex(/^\S(?:.{0,1022}\S)?$/, { error: 'must be 1 to 1024 characters without blanks around them' })

/** What a site demands of client certificates. */
export const clientCertificateSchema = z.strictObject({
  mode: z
    .enum(['require', 'request'])
    .default('require')
    .describe('Whether requests without a good certificate are answered 403, or served all the same.'),
  ca: path().describe(
    'PEM file of the authorities that issue the certificates, a root at least, relative to this file.',
  ),
  allow: z
    .strictObject({
      fingerprints: list(readBy(parseFingerprint), 0, pinsMax)
        .default([])
        .describe('SHA-256 of certificates, in hexadecimal; where given, one must be it.'),
      sans: list(pinText(), 0, pinsMax)
        .default([])
        .describe('Subject alternative names: hosts, addresses, mail addresses, URIs; where given, one must be there.'),
      subjects: list(pinText(), 0, pinsMax)
        .default([])
        .describe('Whole subjects as the log shows them, "O=Example, CN=client"; where given, one must be it.'),
    })
    .prefault({})
    .describe('Certificates that are accepted of all those that the authorities issue; left out, each of them.'),
  forward: z
    .strictObject({
      header: headerName()
        .default('Client-Cert')
        .describe('Header that tells services the good certificate (RFC 9440); what clients send under it is removed.'),
      chainHeader: headerName()
        .optional()
        .describe('Header for the rest of its chain, usually Client-Cert-Chain; left out, none.'),
    })
    .optional()
    .describe('Tells the services of the site who the client is; left out, they are not told.'),
})

/** 64 hexadecimal digits, with or without colons, to the spelling without them in lower case. */
function parseFingerprint(raw: string): Parsed<string> {
  const digits = raw.replaceAll(':', '').toLowerCase()
  if (/^[0-9a-f]{64}$/.test(digits)) return { value: digits }
  return { mistake: 'is no SHA-256 fingerprint', hint: 'openssl x509 -noout -fingerprint -sha256 -in FILE' }
}
