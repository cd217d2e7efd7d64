// Chromium without a window, which of the whole network sees one port of ours.
import { createHash, X509Certificate } from 'node:crypto'
import type { CertificatePair } from '../support/certificates.js'

const alone = [
  ...['--headless', '--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', '--disable-quic', '--no-first-run'],
  ...['--disable-background-networking', '--disable-component-update', '--disable-sync'],
]

/** Whom it visits, and what it keeps. */
export interface Visit {
  readonly url: string
  /** Where all names below `.pair.test` lead to. */
  readonly port: number
  /** The one certificate that it trusts. */
  readonly pair: CertificatePair
  /** A folder of its own. */
  readonly profile: string
}

/** The arguments of a visit; `more` stand before the address. */
export function visitArgs({ url, port, pair, profile }: Visit, more: readonly string[] = []): readonly string[] {
  const key = new X509Certificate(pair.cert).publicKey.export({ type: 'spki', format: 'der' })
  return [
    ...alone,
    `--user-data-dir=${profile}`,
    `--host-resolver-rules=MAP *.pair.test 127.0.0.1:${port}, MAP * ~NOTFOUND`,
    `--ignore-certificate-errors-spki-list=${createHash('sha256').update(key).digest('base64')}`,
    ...more,
    url,
  ]
}
