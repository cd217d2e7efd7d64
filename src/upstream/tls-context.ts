// The TLS settings of an upstream, from the files of its configuration: whom to trust and who we are. Built once, shared by
// its endpoints. Every file is proved here: the runtime takes an empty bundle for "the public roots", and drops the rest.
import { constants, createPrivateKey, X509Certificate } from 'node:crypto'
import { createSecureContext, type SecureContext } from 'node:tls'
import { readBundle } from '../tls/pem-bundle.js'
import { readKey } from '../tls/private-key.js'

/** A PEM file as it was read. */
export interface PemText {
  readonly path: string
  readonly text: string
}

/** What the settings are made of. */
export interface TlsSettings {
  /** Undefined trusts the roots of the runtime: its own, and what NODE_EXTRA_CA_CERTS and --use-system-ca add. */
  readonly ca: PemText | undefined
  /** Shown where the endpoint asks for a certificate. */
  readonly client: { readonly cert: PemText; readonly key: PemText } | undefined
  /** False accepts every certificate. */
  readonly verify: boolean
  readonly minVersion: 'TLSv1.2' | 'TLSv1.3'
}

/** What keeps the settings from use, with the key of the configuration that names the file. */
export interface TlsMistake {
  readonly key: 'ca' | 'cert' | 'key'
  readonly path: string
  readonly message: string
  readonly hint: string
}

/** Settings that can be used. */
export interface TlsContext {
  readonly secureContext: SecureContext
  readonly isVerified: boolean
}

/** Builds the settings, or tells all that is wrong with their files. */
export function makeTlsContext(settings: TlsSettings): TlsContext | readonly TlsMistake[] {
  const { ca, client, verify, minVersion } = settings
  const trusted = ca === undefined ? [] : readCertificates('ca', ca)
  const shown = client === undefined ? [] : readCertificates('cert', client.cert)
  const key = client === undefined ? '' : readClientKey(client.key)
  const mistakes = [trusted, shown, key].filter(isMistake)
  if (isMistake(trusted) || isMistake(shown) || isMistake(key)) return mistakes
  if (client !== undefined && !isPair(shown, key)) return [mismatch(client)]
  // Where the other side may ask for a new handshake it could show another certificate, which nobody would look at.
  const options = { minVersion, secureOptions: constants.SSL_OP_NO_RENEGOTIATION }
  try {
    const secureContext = createSecureContext({
      ...options,
      ...(ca === undefined ? {} : { ca: [...trusted] }),
      ...(client === undefined ? {} : { cert: shown.join(''), key }),
    })
    return { secureContext, isVerified: verify }
  } catch (error) {
    return [unusable(settings, error as Error)]
  }
}

function isMistake(value: unknown): value is TlsMistake {
  return typeof value === 'object' && value !== null && 'message' in value
}

function readCertificates(key: 'ca' | 'cert', { path, text }: PemText): readonly string[] | TlsMistake {
  const bundle = readBundle(text)
  return 'message' in bundle ? { key, path, ...bundle } : bundle.map(({ x509 }) => x509.toString())
}

function readClientKey({ path, text }: PemText): string | TlsMistake {
  const key = readKey(path, Buffer.from(text, 'latin1'))
  return 'code' in key ? { key: 'key', path, message: key.message, hint: key.hint } : key.pem
}

function isPair([leaf = '']: readonly string[], key: string): boolean {
  return new X509Certificate(leaf).checkPrivateKey(createPrivateKey(key))
}

function mismatch({ cert, key }: { readonly cert: PemText; readonly key: PemText }): TlsMistake {
  const message = `the private key does not belong to the first certificate in ${cert.path}`
  return { key: 'key', path: key.path, message, hint: 'put the client certificate first, then its intermediates' }
}

function unusable({ client, ca }: TlsSettings, error: Error): TlsMistake {
  const [key, path] = client === undefined ? (['ca', ca?.path] as const) : (['cert', client.cert.path] as const)
  const message = `this runtime cannot use it: ${error.message}`
  return { key, path: path ?? '', message, hint: 'issue it again with a SHA-256 signature and a key on P-256' }
}
