// The real senders of PROXY headers in front of Hostward: what they claim is what the log and the origin are told, and
// what they send to see whether somebody is there tells nobody anything.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { connect as connectTls } from 'node:tls'
import { addressSet, makeSite, openRig, until } from '../listener/rig.js'
import { type CertificatePair, makeCertificate } from '../support/certificates.js'
import { within } from '../support/deadline.js'
import { Http1Client } from '../support/wires.js'
import { curlOnce } from './curl.js'
import { startHaproxy } from './haproxy.js'
import type { LogLine } from './hostward.js'
import { missingNginxStream, startNginxStream } from './nginx.js'
import { missing, type RunningServer, run } from './program.js'
import { openStage, type Stage } from './stage.js'

const proxyProtocol = { from: ['127.0.0.1'], mode: 'optional' }
/** An address of this machine that is not the forwarders' own. */
const clientAddress = '127.0.0.9'

describe('behind a forwarder that sends PROXY headers', () => {
  let stage: Stage
  before(async () => {
    const listeners = [
      { name: 'public', bind: '127.0.0.1:0', proxyProtocol },
      { name: 'plain', bind: '127.0.0.1:0', tls: false, redirectToHttps: true, proxyProtocol },
    ]
    stage = await openStage({ config: { listeners } })
  })
  after(() => stage.close())

  /** Asks through a front, which is stopped then; gives the line of the request. */
  async function lineThrough(front: RunningServer, askFront: (port: number) => Promise<unknown>): Promise<LogLine> {
    const { hostward } = stage
    const seen = hostward.requests.length
    try {
      await askFront(front.port)
      await hostward.logs('the request', () => hostward.requests.length > seen)
    } finally {
      await front.stop()
    }
    return hostward.requests[seen] ?? {}
  }

  function assertClaimed(line: LogLine, claimedBy: string): void {
    assert.deepEqual([line['status'], line['claimedBy']], [200, claimedBy])
    assert.match(String(line['claimed']), /^127\.0\.0\.9:\d+$/)
    assert.match(String(line['peer']), /^127\.0\.0\.1:\d+$/)
    const headers = stage.originA.requests.at(-1)?.headers
    assert.equal(headers?.['x-forwarded-for'], clientAddress)
    assert.match(String(headers?.forwarded), /^for=127\.0\.0\.9;/)
  }

  const version1 = 'send-proxy'
  for (const [words, claimedBy] of [
    [version1, 'proxy-v1'],
    ['send-proxy-v2', 'proxy-v2'],
    ['send-proxy-v2 proxy-v2-options crc32c', 'proxy-v2'],
  ] as const) {
    test(`HAProxy with ${words} names the client`, { skip: missing('haproxy') }, async () => {
      const front = await startHaproxy(forwarder(`server one 127.0.0.1:${stage.port} ${words}`))
      assertClaimed(await lineThrough(front, (port) => askTls(port)), claimedBy)
    })
  }

  test('HAProxy with every option names the client, with a client certificate and without', {
    skip: missing('haproxy'),
  }, async () => {
    const certificate = await makeCertificate({ names: ['client.test'], issuer: stage.authority })
    for (const pair of [undefined, certificate]) {
      const front = await startHaproxy(terminator(stage))
      assertClaimed(await lineThrough(front, (port) => askTls(port, pair)), 'proxy-v2')
    }
  })

  test('HAProxy with a client on a Unix socket claims nobody, and the request is logged', {
    skip: missing('haproxy', 'curl'),
  }, async () => {
    for (const words of [version1, 'send-proxy-v2']) {
      const path = join(stage.folder, `${words}.sock`)
      const front = await startHaproxy(forwarder(`server one 127.0.0.1:${stage.port} ${words}`, `bind unix@${path}`))
      const ask = ['--cacert', stage.rootFile, '--unix-socket', path, 'https://site-a.test/']
      const line = await lineThrough(front, () => run('curl', ['--disable', '--silent', '--max-time', '60', ...ask]))
      assert.deepEqual([line['status'], line['claimed'], line['claimedBy']], [200, null, null], words)
    }
  })

  test('nginx names the client', { skip: missingNginxStream() }, async () => {
    const front = await startNginxStream(
      `server { listen 127.0.0.1:PORT; proxy_pass 127.0.0.1:${stage.port}; proxy_protocol on; }`,
    )
    assertClaimed(await lineThrough(front, (port) => askTls(port)), 'proxy-v1')
  })

  test('nginx between two hops of other families names the IPv6 client', { skip: missingNginxStream() }, async () => {
    const front = await startNginxStream(`server {
    listen 127.0.0.1:PORT proxy_protocol;
    set_real_ip_from 127.0.0.0/8;
    proxy_pass 127.0.0.1:${stage.port};
    proxy_protocol on;
  }`)
    const header = 'PROXY TCP6 2001:db8::1 2001:db8::2 54321 443\r\n'
    const line = await lineThrough(front, (port) => askTls(port, undefined, header))
    assert.deepEqual([line['claimed'], line['claimedBy']], ['[2001:db8::1]:54321', 'proxy-v1'])
  })

  test('curl names itself, on both wires and in plain HTTP', { skip: missing('curl') }, async () => {
    const asks = [['--http1.1', 'https://site-a.test/'], ['--http2', 'https://site-a.test/'], ['http://site-a.test/']]
    for (const words of asks) {
      const { hostward } = stage
      const seen = hostward.requests.length
      const { code, errors } = await curlOnce(stage, ['--haproxy-protocol', ...words])
      assert.equal(code, 0, errors)
      await hostward.logs('the request', () => hostward.requests.length > seen)
      const line = hostward.requests[seen] ?? {}
      assert.deepEqual([line['claimed'], line['claimedBy']], [line['peer'], 'proxy-v1'], words.join(' '))
    }
  })
})

describe('the health checks of HAProxy', () => {
  for (const words of [
    'check',
    'check check-send-proxy send-proxy',
    'check check-send-proxy send-proxy-v2',
    'check check-send-proxy send-proxy-v2 proxy-v2-options crc32c,unique-id',
    'check check-send-proxy send-proxy-v2 ssl verify none check-sni site-a.test',
  ]) {
    test(`by "${words}" are no failures`, { skip: missing('haproxy') }, async (t) => {
      const proxyHeader = { from: addressSet('127.0.0.1'), mode: 'optional', versions: [1, 2] } as const
      const rig = await openRig(t, {
        sites: { 'site-a.test': await makeSite('site-a.test') },
        settings: { proxyHeader },
      })
      const { counters } = rig.listener
      const front = await startHaproxy(forwarder(`server one 127.0.0.1:${rig.port} ${words} inter ${checkMs}`))
      // A check that opens, says its header and resets may be gone before it is seen; a handshake takes its time.
      const seen = (): number => (words.includes(' ssl ') ? counters.proxyLocal : counters.withoutRequest)
      try {
        await until(() => words === 'check' || seen() >= 5, 'five checks have come')
      } finally {
        await front.stop()
      }
      await until(() => counters.open === 0, 'all are closed')
      // HAProxy passes on the look whether it is ready, which has a client; a check has none.
      const failures = rig.failures.filter(({ connection }) => connection.claimed === null)
      assert.deepEqual([failures, counters.proxyMalformed], [[], 0])
    })
  }
})

// Also how long HAProxy lets a check's handshake take before it gives up, and that is a failure.
const checkMs = 400

/** HAProxy as a layer-4 forwarder. */
function forwarder(server: string, bind = 'bind 127.0.0.1:PORT'): string {
  const more = bind.includes('PORT') ? '' : '  bind 127.0.0.1:PORT\n'
  return `listen front
  mode tcp
  ${bind}
${more}  unique-id-format %{+X}o\\ %ci:%cp
  source 127.0.0.1
  ${server}
`
}

/** HAProxy that ends TLS, opens it again, and says all that it knows. */
function terminator(stage: Stage): string {
  const pair = join(stage.folder, 'front.pem')
  const [certificate, key] = ['pem', 'key'].map((end) => readFileSync(join(stage.folder, `site-a.test-ec.${end}`)))
  writeFileSync(pair, Buffer.concat([certificate, key]))
  const options = 'ssl,cert-cn,ssl-cipher,cert-sig,cert-key,authority,crc32c,unique-id'
  return `listen front
  mode http
  bind 127.0.0.1:PORT ssl crt ${pair} ca-file ${stage.rootFile} verify optional alpn http/1.1
  unique-id-format %{+X}o\\ %ci:%cp_%rt
  source 127.0.0.1
  server one 127.0.0.1:${stage.port} ssl verify required ca-file ${stage.rootFile} sni ssl_fc_sni send-proxy-v2 proxy-v2-options ${options}
`
}

/** One request for site-a.test from the client's address, over TLS, behind a header of our own where one is given. */
async function askTls(port: number, pair?: CertificatePair, header = ''): Promise<void> {
  const raw = connect({ host: '127.0.0.1', port, localAddress: clientAddress }).on('error', () => undefined)
  raw.write(header)
  const certificate = pair === undefined ? {} : { cert: pair.chain, key: pair.key }
  const socket = connectTls({ socket: raw, servername: 'site-a.test', rejectUnauthorized: false, ...certificate })
  await within('a handshake', once(socket, 'secureConnect'))
  const client = new Http1Client(socket)
  assert.equal((await within('an answer', client.ask('site-a.test'))).status, 200)
  client.close()
}
