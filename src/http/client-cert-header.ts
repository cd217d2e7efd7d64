// Tells an endpoint which certificate the client has proved to have (RFC 9440), and lets nobody else tell it. Used by
// forwarding, behind the rule of who is admitted.
import type { ClientVerdict } from '../tls/client-judgement.js'
import type { HeaderBlock } from '../wire/header-block.js'
import type { ForwardedCertificate } from './routing.js'

/** Takes away what the client sent under these names, and says what is true where the certificate is good. */
export function writeClientCertificate(
  headers: HeaderBlock,
  { header, chainHeader }: ForwardedCertificate,
  verdict: ClientVerdict | undefined,
): void {
  dropNamesakes(headers, header)
  if (chainHeader !== undefined) dropNamesakes(headers, chainHeader)
  if (verdict?.reason !== 'good' || verdict.certificate === undefined) return
  const { leaf, sent } = verdict.certificate
  headers.add(header.toLowerCase(), byteSequence(leaf.x509.raw))
  if (chainHeader === undefined || sent.length === 0) return
  headers.add(chainHeader.toLowerCase(), sent.map(({ x509 }) => byteSequence(x509.raw)).join(', '))
}

function dropNamesakes(headers: HeaderBlock, name: string): void {
  const folded = foldMarks(name.toLowerCase())
  for (let index = 0; index < headers.count; index++) {
    if (foldMarks(headers.nameOf(index)) === folded) headers.drop(index)
  }
}

// CGI programs and their like read every mark as the same.
function foldMarks(name: string): string {
  return name.replace(/[^a-z0-9]/g, '-')
}

/** RFC 8941 §3.3.5. */
function byteSequence(der: Buffer): string {
  return `:${der.toString('base64')}:`
}
