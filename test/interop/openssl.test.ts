// OpenSSL's own client: which certificate each name and each kind of client gets, what is refused, and what a session is good for.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { makeCertificate, writePair } from '../support/certificates.js'
import { until, within } from '../support/deadline.js'
import { fingerprintOf, requestFor, shakeHands } from './openssl.js'
import { greeting } from './origin.js'
import { missing, start } from './program.js'
import { openStage, type Stage } from './stage.js'

const versions = ['-tls1_2', '-tls1_3'] as const
const onlyEcdsa = {
  '-tls1_2': ['-cipher', 'ECDHE-ECDSA-AES128-GCM-SHA256'],
  '-tls1_3': ['-sigalgs', 'ecdsa_secp256r1_sha256'],
}
const onlyRsa = {
  '-tls1_2': ['-cipher', 'ECDHE-RSA-AES128-GCM-SHA256'],
  '-tls1_3': ['-sigalgs', 'rsa_pss_rsae_sha256'],
}

describe('openssl s_client', { skip: missing('openssl') }, () => {
  let stage: Stage
  let closed: Stage
  before(async () => {
    stage = await openStage()
    closed = await openStage({ fallback: 'without' })
  })
  after(async () => {
    await stage.close()
    await closed.close()
  })

  const certificateOf = (name: string): string => fingerprintOf(readFileSync(join(stage.folder, `${name}.pem`)))

  for (const version of versions) {
    test(`${version}: every name gets its own certificate, of the kind that the client can verify`, async () => {
      for (const [name, file] of [
        ['site-a.test', 'site-a.test'],
        ['www.a.test', 'site-a.test'],
        ['SITE-B.test', 'site-b.test'],
      ]) {
        for (const [kind, args] of [
          ['ec', onlyEcdsa[version]],
          ['rsa', onlyRsa[version]],
        ] as const) {
          const { fingerprint, text } = await shakeHands(stage, [version, ...args, '-servername', name])
          assert.equal(fingerprint, certificateOf(`${file}-${kind}`), `${name}, ${kind}: ${text}`)
          assert.match(text, /Verify return code: 0 \(ok\)/)
        }
      }
    })

    test(`${version}: unknown and missing names get the fallback and hear 421 for what nobody claims`, async () => {
      for (const name of [['-noservername'], ['-servername', 'unknown.test']]) {
        const { fingerprint, text } = await shakeHands(stage, [version, ...name], requestFor('unknown.test'))
        assert.equal(fingerprint, certificateOf('fallback'))
        assert.match(text, /HTTP\/1\.1 421 /)
      }
    })

    test(`${version}: without a fallback, unknown and missing names end in an alert and see no certificate`, async () => {
      for (const name of [['-noservername'], ['-servername', 'unknown.test']]) {
        const { fingerprint, text } = await shakeHands(closed, [version, ...name])
        assert.equal(fingerprint, undefined)
        assert.match(text, /alert number 112/)
      }
      const { fingerprint } = await shakeHands(closed, [version, '-servername', 'site-a.test'])
      assert.ok(fingerprint !== undefined)
    })

    test(`${version}: a session is resumed at its own site`, async () => {
      const session = join(stage.folder, `own${version}.session`)
      const at = [version, '-servername', 'site-a.test']
      const first = await shakeHands(stage, [...at, '-sess_out', session], requestFor('site-a.test'))
      const second = await shakeHands(stage, [...at, '-sess_in', session], requestFor('site-a.test'))
      assert.deepEqual([first.isResumed, second.isResumed], [false, true])
      assert.ok(second.text.includes(greeting('a', 'site-a.test')))
    })

    test(`${version}: a session of one site is worth nothing at another, which shows its own certificate`, async () => {
      const session = join(stage.folder, `foreign${version}.session`)
      const made = [version, '-servername', 'site-a.test', '-sess_out', session]
      await shakeHands(stage, made, requestFor('site-a.test'))
      const used = [version, '-servername', 'site-b.test', '-sess_in', session]
      const { isResumed, fingerprint, text } = await shakeHands(stage, used, requestFor('site-b.test'))
      assert.equal(isResumed, false)
      assert.ok([certificateOf('site-b.test-ec'), certificateOf('site-b.test-rsa')].includes(fingerprint ?? ''))
      assert.ok(text.includes(greeting('b', 'site-b.test')))
    })
  }

  test('TLS 1.1 is refused', async () => {
    const old = ['-tls1_1', '-cipher', 'DEFAULT@SECLEVEL=0', '-servername', 'site-a.test']
    const { fingerprint, text } = await shakeHands(stage, old)
    assert.equal(fingerprint, undefined)
    assert.match(text, /alert protocol version/)
  })

  test('a connection that asks for renegotiation is closed', async () => {
    const target = ['s_client', '-connect', `127.0.0.1:${stage.port}`, '-tls1_2', '-servername', 'site-a.test']
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

  test('plain HTTP on the TLS port is told what is wrong', async () => {
    const socket = connect(stage.port, '127.0.0.1').setEncoding('latin1')
    let text = ''
    socket.on('data', (piece: string) => (text += piece))
    socket.write(requestFor('site-a.test'))
    await within('the end', new Promise((resolve) => socket.on('close', resolve)))
    assert.match(text, /^HTTP\/1\.1 400 [\s\S]*speaks HTTPS/)
  })

  test('a renewed certificate is served to the next handshake, without a restart', async () => {
    const names = ['site-b.test']
    const renewed = await makeCertificate({ names, issuer: stage.authority })
    const at = ['-servername', 'site-b.test', ...onlyEcdsa['-tls1_3']]
    const before = await shakeHands(stage, at)
    writePair(stage.folder, 'site-b.test-ec', renewed)
    const { hostward } = stage
    const count = hostward.lines.length
    await hostward.logs('the reload', () =>
      hostward.lines.slice(count).some(({ event }) => event === 'config_reloaded'),
    )
    const after = await shakeHands(stage, at)
    assert.notEqual(before.fingerprint, after.fingerprint)
    assert.equal(after.fingerprint, fingerprintOf(renewed.cert))
    assert.match(after.text, /Verify return code: 0 \(ok\)/)
  })
})
