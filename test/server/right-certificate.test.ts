// Whoever asks for whatever name with whatever abilities never gets another site's certificate.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { after, before, describe, test } from 'node:test'
import { type ConnectionOptions, connect } from 'node:tls'
import { within } from '../support/deadline.js'
import { RunningServer } from '../support/running-server.js'
import { filesOf, type PairOnDisk, Workspace } from '../support/workspace.js'

type SiteName = 'rsa.example' | 'ec.example' | 'both.example' | 'plain.example'

const clients: readonly { name: string; tls: ConnectionOptions; keyTypes: readonly ('rsa' | 'ec')[] }[] = [
  { name: 'any TLS 1.3', tls: { minVersion: 'TLSv1.3' }, keyTypes: ['ec', 'rsa'] },
  { name: 'an RSA-only TLS 1.3', tls: { minVersion: 'TLSv1.3', sigalgs: 'rsa_pss_rsae_sha256' }, keyTypes: ['rsa'] },
  {
    name: 'an ECDSA-only TLS 1.3',
    tls: { minVersion: 'TLSv1.3', sigalgs: 'ecdsa_secp256r1_sha256' },
    keyTypes: ['ec'],
  },
  { name: 'any TLS 1.2', tls: { maxVersion: 'TLSv1.2' }, keyTypes: ['ec', 'rsa'] },
  {
    name: 'an RSA-only TLS 1.2',
    tls: { maxVersion: 'TLSv1.2', ciphers: 'ECDHE-RSA-AES128-GCM-SHA256' },
    keyTypes: ['rsa'],
  },
  {
    name: 'an ECDSA-only TLS 1.2',
    tls: { maxVersion: 'TLSv1.2', ciphers: 'ECDHE-ECDSA-AES128-GCM-SHA256' },
    keyTypes: ['ec'],
  },
]

for (const withFallback of [true, false]) {
  describe(`${withFallback ? 'with' : 'without'} a fallback certificate`, () => {
    const workspace = new Workspace()
    const pairs = new Map<string, Partial<Record<'rsa' | 'ec', PairOnDisk>>>()
    let fallback: PairOnDisk
    let running: RunningServer

    before(async () => {
      const rsa = (name: string) => workspace.pair(`${name}-rsa`, { names: [name], keyType: 'rsa' })
      const ec = (name: string) => workspace.pair(`${name}-ec`, { names: [name] })
      pairs.set('rsa.example', { rsa: await rsa('rsa.example') })
      pairs.set('ec.example', { ec: await ec('ec.example') })
      pairs.set('both.example', { rsa: await rsa('both.example'), ec: await ec('both.example') })
      // RSA, so that an EC site's client would be able to use it, were it offered.
      fallback = await workspace.pair('fallback', { names: ['fallback.example'], keyType: 'rsa' })
      const vhosts = [...pairs].map(([host, own]) => ({
        hosts: [host],
        certificate: Object.values(own).map(filesOf),
        respond: { body: host },
      }))
      const main = withFallback ? { fallbackCertificate: filesOf(fallback), vhosts } : { vhosts }
      running = await RunningServer.start(main, workspace)
    })

    after(() => running.close())

    for (const { name, tls, keyTypes } of clients) {
      for (const host of ['rsa.example', 'ec.example', 'both.example'] satisfies SiteName[]) {
        test(`${name} client that asks for ${host} gets its certificate or none`, async () => {
          const own = pairs.get(host)
          const usable = keyTypes.map((keyType) => own?.[keyType]).find((pair) => pair !== undefined)
          const met = await handshake(running.port(), { servername: host, ...tls })
          assert.deepEqual('fingerprint256' in met ? met.fingerprint256 : 'failed', usable?.fingerprint256 ?? 'failed')
        })
      }
    }

    for (const servername of ['nobody.example', 'sub.ec.example', 'fallback.example', undefined]) {
      test(`a client that asks for ${servername ?? 'no name'} gets ${withFallback ? 'the fallback' : 'an alert'}`, async () => {
        const met = await handshake(running.port(), servername === undefined ? {} : { servername })
        if (withFallback) assert.deepEqual(met, { fingerprint256: fallback.fingerprint256 })
        else assert.deepEqual(met, { failure: 'ERR_SSL_TLSV1_UNRECOGNIZED_NAME' })
      })
    }

    test('a refused handshake is told with the name that was asked for', async () => {
      if (withFallback) return
      await handshake(running.port(), { servername: 'told.example' })
      const { listener, level } = await running.log.line({ event: 'handshake_failed', reason: 'unrecognized_name' })
      assert.deepEqual({ listener, level }, { listener: 'public', level: 'info' })
    })
  })
}

async function handshake(
  port: number,
  options: ConnectionOptions,
): Promise<{ fingerprint256: string } | { failure: string }> {
  const socket = connect({ host: '127.0.0.1', port, rejectUnauthorized: false, ...options })
  try {
    await within('a handshake or its failure', once(socket, 'secureConnect'))
    return { fingerprint256: socket.getPeerCertificate().fingerprint256 }
  } catch (error) {
    return { failure: String((error as NodeJS.ErrnoException).code) }
  } finally {
    socket.destroy()
  }
}
