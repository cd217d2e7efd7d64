// Compares the certificates in service with the clock and says in the log what comes to its end, with the sites that hang on it.
// Used by the server, which tells it of each snapshot.
import type { Log } from '../telemetry/log.js'
import type { Certificate } from '../tls/certificate.js'
import type { ExpiryState } from '../tls/expiry.js'
import { type ExpiryReport, ExpiryWatch, type WatchedCertificate } from '../tls/expiry-watch.js'
import type { Snapshot } from './snapshot.js'

const longestDelayMs = 2 ** 31 - 1

/** The expiry of everything that serves. */
export class CertificateWatch {
  readonly #watch: ExpiryWatch

  constructor(log: () => Log) {
    this.#watch = new ExpiryWatch({
      onReport: (report) => tell(log(), report),
      clock: Date.now,
      schedule: (work, delayMs) => {
        const timer = setTimeout(work, Math.min(delayMs, longestDelayMs)).unref()
        return () => clearTimeout(timer)
      },
    })
  }

  /** Watches what `snapshot` serves from now on. */
  follow(snapshot: Snapshot): void {
    this.#watch.setCertificates(watchedCertificates(snapshot))
  }

  close(): void {
    this.#watch.close()
  }
}

/** Each certificate in service once, with its sites. */
export function watchedCertificates({ sites, fallback }: Snapshot): WatchedCertificate[] {
  const users = new Map<Certificate, string[]>()
  if (fallback !== undefined) users.set(fallback, [])
  for (const { vhost, certificates } of sites) {
    for (const certificate of certificates) {
      const known = users.get(certificate)
      if (known === undefined) users.set(certificate, [vhost.id])
      else known.push(vhost.id)
    }
  }
  return [...users].map(([certificate, vhosts]) => ({ name: certificate.certFile, certificate, vhosts }))
}

const tellings: Record<ExpiryState, { level: 'info' | 'warn' | 'error'; message: string }> = {
  ok: { level: 'info', message: 'the certificate is well again' },
  warn: { level: 'warn', message: 'the certificate should have been renewed by now' },
  critical: { level: 'error', message: 'the certificate expires soon, and its sites will fail' },
  expired: { level: 'error', message: 'the certificate has expired: CDNs refuse its sites' },
  not_yet_valid: { level: 'error', message: 'the certificate is not valid yet; is the clock right?' },
}

function tell(log: Log, report: ExpiryReport): void {
  const { level, message } = tellings[report.state]
  log[level]('certificate_expiry', message, { ...report })
}
