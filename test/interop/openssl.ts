// openssl s_client: one handshake as the arguments say, one request if any, and everything it tells about both.
import { X509Certificate } from 'node:crypto'
import { run } from './program.js'
import type { Stage } from './stage.js'

/** What s_client saw. */
export interface Handshake {
  /** Whether it had a session to resume and the server took it. */
  readonly isResumed: boolean
  /** Of the certificate that it has for its server; undefined where there is none. */
  readonly fingerprint: string | undefined
  /** Everything it wrote. */
  readonly text: string
}

/** Shakes hands; with `input`, stays until the server closes, else leaves at once. */
export async function shakeHands(stage: Stage, args: readonly string[], input = ''): Promise<Handshake> {
  const stay = input === '' ? [] : ['-ign_eof']
  const target = ['s_client', '-connect', `127.0.0.1:${stage.port}`, '-CAfile', stage.rootFile]
  const { output, errors } = await run('openssl', [...target, ...stay, ...args], input)
  const pem = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/.exec(output)?.[0]
  return {
    isResumed: /^Reused, /m.test(output),
    fingerprint: pem === undefined ? undefined : fingerprintOf(pem),
    text: output + errors,
  }
}

/** The fingerprint of the first certificate of a PEM text. */
export function fingerprintOf(pem: string | Buffer): string {
  return new X509Certificate(pem).fingerprint256
}

/** A request after which the server closes. */
export function requestFor(host: string): string {
  return `GET / HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`
}
