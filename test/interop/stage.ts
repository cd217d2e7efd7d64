// What most interop tests need: a folder, an authority, two origins and a Hostward with a site for each of them.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { makeAuthority, makeCertificate, type TestAuthority, writePair } from '../support/certificates.js'
import { Hostward } from './hostward.js'
import { Origin } from './origin.js'

/** What a test may change about its stage. */
export interface StageOptions {
  /** More sites; each gets certificates for its hosts. */
  readonly sites?: readonly { readonly hosts: readonly string[]; readonly [key: string]: unknown }[]
  /** More top-level keys of the configuration. */
  readonly config?: Readonly<Record<string, unknown>>
  /** Whether unknown names get a certificate; `without` is an alert for them. */
  readonly fallback?: 'with' | 'without'
}

/** Everything at its place; close it at the end. */
export interface Stage {
  readonly folder: string
  readonly authority: TestAuthority
  /** The authority's certificate as a file, for clients to trust. */
  readonly rootFile: string
  readonly originA: Origin
  readonly originB: Origin
  readonly hostward: Hostward
  /** Of the TLS listener. */
  readonly port: number
  /** Of the listener that sends to https. */
  readonly plainPort: number
  close(): Promise<void>
}

/** Opens site-a.test and *.a.test before origin `a`, and site-b.test before origin `b`, each with an ECDSA and an RSA pair. */
export async function openStage(options: StageOptions = {}): Promise<Stage> {
  const folder = mkdtempSync(join(tmpdir(), 'hostward-interop-'))
  const authority = await makeAuthority()
  const rootFile = join(folder, 'root.pem')
  writeFileSync(rootFile, authority.cert)
  const [originA, originB] = await Promise.all([Origin.open('a'), Origin.open('b')])
  const sites = [
    { hosts: ['site-a.test', '*.a.test'], upstream: originA.url },
    { hosts: ['site-b.test'], upstream: originB.url },
    ...(options.sites ?? []),
  ]
  const config = {
    listeners: [
      { name: 'public', bind: '127.0.0.1:0' },
      { name: 'plain', bind: '127.0.0.1:0', tls: false, redirectToHttps: true },
    ],
    ...(options.fallback === 'without' ? {} : { fallbackCertificate: await fallbackPair(folder, authority) }),
    vhosts: await Promise.all(sites.map((site) => ({ site, folder, authority })).map(withCertificates)),
    ...options.config,
  }
  const hostward = await Hostward.start(folder, config)
  const close = async (): Promise<void> => {
    try {
      await hostward.stop()
    } finally {
      await Promise.all([originA.close(), originB.close()])
      rmSync(folder, { recursive: true })
    }
  }
  const [port, plainPort] = [hostward.port('public'), hostward.port('plain')]
  return { folder, authority, rootFile, originA, originB, hostward, port, plainPort, close }
}

async function fallbackPair(folder: string, issuer: TestAuthority): Promise<object> {
  return writePair(folder, 'fallback', await makeCertificate({ names: ['fallback.invalid'], issuer }))
}

async function withCertificates(made: {
  site: NonNullable<StageOptions['sites']>[number]
  folder: string
  authority: TestAuthority
}): Promise<object> {
  const { site, folder, authority } = made
  if ('certificate' in site) return site
  const names = site.hosts
  const [ec, rsa] = await Promise.all([
    makeCertificate({ names, issuer: authority }),
    makeCertificate({ names, keyType: 'rsa', issuer: authority }),
  ])
  return { ...site, certificate: [writePair(folder, `${names[0]}-ec`, ec), writePair(folder, `${names[0]}-rsa`, rsa)] }
}
