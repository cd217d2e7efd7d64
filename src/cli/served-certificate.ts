// Asks any TLS server which certificate it shows for a name: one handshake, nothing verified, nothing requested.
// Used by certs --served; never throws for what the server does.
import { isIP } from 'node:net'
import { type ConnectionOptions, connect } from 'node:tls'
import type { KeyType } from '../tls/certificate.js'

/** Which server is asked, and as what client. */
export interface Question {
  readonly host: string
  readonly port: number
  /** Undefined sends no name. */
  readonly serverName: string | undefined
  /** The only kind of certificate that the client accepts; undefined accepts all. */
  readonly keyType: KeyType | undefined
}

/** What was shown, or why nothing was. */
export type ShownCertificate =
  | { readonly fingerprint256: string; readonly notBeforeMs: number; readonly notAfterMs: number }
  | { readonly failure: string }

const handshakeMs = 5_000

/** Makes the handshake and leaves. */
export function askForCertificate(question: Question): Promise<ShownCertificate> {
  return new Promise((resolve) => {
    const socket = connect(clientOptions(question))
    const timer = setTimeout(() => settle({ failure: `none within ${handshakeMs / 1_000} s` }), handshakeMs)
    const settle = (shown: ShownCertificate): void => {
      clearTimeout(timer)
      resolve(shown)
      socket.end(() => socket.destroy())
    }
    socket.on('error', (error: NodeJS.ErrnoException) => {
      settle({ failure: reasonOf(error) })
      socket.destroy()
    })
    socket.on('close', () => settle({ failure: 'closed within the handshake' }))
    socket.on('secureConnect', () => {
      const certificate = socket.getPeerX509Certificate()
      if (certificate === undefined) return settle({ failure: 'no certificate was shown' })
      const { fingerprint256, validFrom, validTo } = certificate
      settle({ fingerprint256, notBeforeMs: Date.parse(validFrom), notAfterMs: Date.parse(validTo) })
    })
  })
}

const signatures: Record<KeyType, string> = {
  ec: 'ecdsa_secp256r1_sha256:ecdsa_secp384r1_sha384:ecdsa_secp521r1_sha512',
  rsa: 'rsa_pss_rsae_sha256:rsa_pss_rsae_sha384:rsa_pss_rsae_sha512:RSA+SHA256:RSA+SHA384:RSA+SHA512',
  ed25519: 'ed25519',
}

function clientOptions({ host, port, serverName, keyType }: Question): ConnectionOptions {
  return {
    host,
    port,
    ...(serverName === undefined || isIP(serverName) !== 0 ? { servername: '' } : { servername: serverName }),
    ...(keyType === undefined ? {} : { sigalgs: signatures[keyType] }),
    ALPNProtocols: ['h2', 'http/1.1'],
    // The question is what is shown, not whether to believe it.
    rejectUnauthorized: false,
  }
}

// The code of an alert differs by runtime: ERR_SSL_SSLV3_ALERT_…, ERR_SSL_TLSV1_ALERT_…, ERR_SSL_SSL/TLS_ALERT_….
function reasonOf({ code, message }: NodeJS.ErrnoException): string {
  if (code === undefined) return message
  return code
    .replace(/^ERR_SSL_((SSLV3|TLSV1|TLSV13|SSL\/TLS)_(ALERT_)?)?/, '')
    .toLowerCase()
    .replaceAll('_', ' ')
}
