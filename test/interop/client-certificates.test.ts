// The attacker's own tool, openssl s_client, at sites that demand client certificates: what it is asked for, and what a
// session that was made with a good certificate is worth later. The story is that of CVE-2025-23419 and its family.
import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { makeAuthority, makeCertificate, writePair } from '../support/certificates.js'
import { until, within } from '../support/deadline.js'
import { fingerprintOf, requestFor, shakeHands } from './openssl.js'
import { missing, start } from './program.js'
import { openStage, type Stage } from './stage.js'

const versions = ['-tls1_2', '-tls1_3'] as const

describe('openssl s_client at sites that demand certificates', { skip: missing('openssl') }, () => {
  const folder = mkdtempSync(join(tmpdir(), 'hostward-clients-'))
  let stage: Stage
  let shown: readonly string[]

  before(async () => {
    const one = await makeAuthority({ commonName: 'clients of one' })
    const two = await makeAuthority({ commonName: 'clients of two' })
    const files = writePair(folder, 'client', await makeCertificate({ commonName: 'client of one', issuer: one }))
    shown = ['-cert', files.cert, '-key', files.key]
    const demand = (name: string, ca: string): object => {
      writeFileSync(join(folder, name), ca)
      return { clientCertificate: { ca: join(folder, name) }, respond: { body: 'secret' } }
    }
    stage = await openStage({
      sites: [
        { hosts: ['one.test'], ...demand('one.pem', one.cert) },
        { hosts: ['equal.test'], ...demand('equal.pem', `# the same\n${one.cert}`) },
        { hosts: ['two.test'], ...demand('two.pem', two.cert) },
      ],
    })
  })

  after(async () => {
    await stage.close()
    rmSync(folder, { recursive: true })
  })

  const statusOf = (text: string): string => /HTTP\/1\.1 (\d+) /.exec(text)?.[1] ?? text

  for (const version of versions) {
    test(`${version}: a certificate is asked for where a site demands it, with its authorities, and nowhere else`, async () => {
      const asked = async (name: readonly string[]): Promise<readonly string[]> => {
        const { text } = await shakeHands(stage, [version, ...name])
        return [...text.matchAll(/CN = (clients of \w+)$/gm)].map(([, authority = '']) => authority)
      }
      assert.deepEqual(await asked(['-servername', 'one.test']), ['clients of one'])
      assert.deepEqual(await asked(['-servername', 'TWO.test']), ['clients of two'])
      for (const name of [['-noservername'], ['-servername', 'site-a.test'], ['-servername', 'unknown.test']]) {
        const { text } = await shakeHands(stage, [version, ...name])
        assert.match(text, /No client certificate CA names sent/)
      }
    })

    test(`${version}: a good certificate opens its own site and its equal, no other`, async () => {
      for (const [host, status] of [
        ['one.test', '200'],
        ['equal.test', '200'],
        ['two.test', '421'],
        ['site-a.test', '200'],
      ] as const) {
        const { text } = await shakeHands(stage, [version, '-servername', 'one.test', ...shown], requestFor(host))
        assert.equal(statusOf(text), status, host)
      }
      const { text } = await shakeHands(stage, [version, '-servername', 'two.test', ...shown], requestFor('two.test'))
      assert.equal(statusOf(text), '403')
    })

    test(`${version}: a session made with a good certificate is worth nothing, at whatever name`, async () => {
      const session = join(folder, `good${version}.session`)
      const made = [version, '-servername', 'one.test', ...shown, '-sess_out', session]
      const { text, isResumed } = await shakeHands(stage, made, requestFor('one.test'))
      assert.deepEqual([statusOf(text), isResumed], ['200', false])
      for (const [name, host, status] of [
        ['one.test', 'one.test', '403'],
        ['equal.test', 'one.test', '403'],
        ['two.test', 'one.test', '421'],
        ['two.test', 'two.test', '403'],
        ['site-a.test', 'one.test', '421'],
        ['unknown.test', 'one.test', '421'],
      ] as const) {
        const used = [version, '-servername', name, '-sess_in', session]
        const later = await shakeHands(stage, used, requestFor(host))
        assert.deepEqual([statusOf(later.text), later.isResumed], [status, false], `${host} at ${name}`)
      }
    })

    test(`${version}: a session of a site that asks nobody is no way into one that does`, async () => {
      const session = join(folder, `open${version}.session`)
      const open = [version, '-servername', 'site-a.test']
      await shakeHands(stage, [...open, '-sess_out', session], requestFor('site-a.test'))
      const again = await shakeHands(stage, [...open, '-sess_in', session], requestFor('one.test'))
      assert.deepEqual([statusOf(again.text), again.isResumed], ['421', true])
      const used = [version, '-servername', 'one.test', '-sess_in', session]
      const later = await shakeHands(stage, used, requestFor('one.test'))
      assert.deepEqual([statusOf(later.text), later.isResumed], ['403', false])
    })

    test(`${version}: each client gets the pair it can use, also where it is asked for one of its own`, async () => {
      const only =
        version === '-tls1_2'
          ? { ec: ['-cipher', 'ECDHE-ECDSA-AES128-GCM-SHA256'], rsa: ['-cipher', 'ECDHE-RSA-AES128-GCM-SHA256'] }
          : { ec: ['-sigalgs', 'ecdsa_secp256r1_sha256'], rsa: ['-sigalgs', 'rsa_pss_rsae_sha256'] }
      for (const name of ['one.test', 'two.test']) {
        for (const kind of ['ec', 'rsa'] as const) {
          const { fingerprint } = await shakeHands(stage, [version, ...only[kind], '-servername', name])
          assert.equal(fingerprint, fingerprintOf(readFileSync(join(stage.folder, `${name}-${kind}.pem`))))
        }
      }
    })
  }

  test('nobody brings a certificate later, by renegotiation', async () => {
    const target = ['s_client', '-connect', `127.0.0.1:${stage.port}`, '-tls1_2', '-servername', 'one.test', ...shown]
    const client = start('openssl', target)
    let text = ''
    for (const stream of [client.stdout, client.stderr]) {
      stream.setEncoding('latin1').on('data', (piece: string) => (text += piece))
    }
    const isClosed = new Promise((resolve) => client.on('close', resolve))
    await until('the handshake', () => text.includes('Verify return code'))
    client.stdin.write('R\n')
    await within(`the connection is closed: ${text}`, isClosed)
    assert.match(text, /RENEGOTIATING/)
    assert.doesNotMatch(text.slice(text.indexOf('RENEGOTIATING')), /Verify return code/)
  })

  test('all that time the sites answer whom they should', async () => {
    const { text } = await shakeHands(stage, ['-servername', 'one.test', ...shown], requestFor('one.test'))
    assert.match(text, /HTTP\/1\.1 200 [\s\S]*secret/)
  })
})
