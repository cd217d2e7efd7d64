// The files of an upstream's TLS settings: what is half, empty or no certificate is a mistake, and never "trust everybody".
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makeTlsContext, type TlsMistake, type TlsSettings } from '../../src/upstream/tls-context.js'
import { makeAuthority, makeCertificate } from '../support/certificates.js'

const first = await makeAuthority({ commonName: 'first' })
const second = await makeAuthority({ commonName: 'second' })
const pair = await makeCertificate({ commonName: 'hostward', issuer: first })
const otherPair = await makeCertificate({ commonName: 'other', issuer: first })

function made(settings: Partial<TlsSettings>): ReturnType<typeof makeTlsContext> {
  return makeTlsContext({ ca: undefined, client: undefined, verify: true, minVersion: 'TLSv1.2', ...settings })
}

function mistakes(settings: Partial<TlsSettings>): readonly TlsMistake[] {
  const result = made(settings)
  return 'secureContext' in result ? [] : result
}

function bundle(text: string): Partial<TlsSettings> {
  return { ca: { path: '/etc/ca.pem', text } }
}

function client(cert: string, key: string): Partial<TlsSettings> {
  return { client: { cert: { path: '/etc/client.pem', text: cert }, key: { path: '/etc/client.key', text: key } } }
}

const body = first.cert.split('\n').slice(1, -2).join('\n')

const brokenBundles: Readonly<Record<string, readonly [text: string, message: RegExp]>> = {
  'an empty file': ['', /the file is empty/],
  'white space': [' \n\n', /the file is empty/],
  'no PEM at all': ['junk\n', /holds no PEM certificate/],
  'a key alone': [first.key, /block 1 of 1 is no certificate: PRIVATE KEY/],
  'a key among certificates': [first.cert + first.key + second.cert, /block 2 of 3 is no certificate: PRIVATE KEY/],
  'a last block that is cut off': [first.cert + second.cert.slice(0, 200), /does not begin or end/],
  'a first block that is cut off': [first.cert.slice(0, 200) + second.cert, /does not begin or end/],
  'a block that lost a dash': [first.cert + second.cert.replace('-----BEGIN', '----BEGIN'), /does not begin or end/],
  'an end without a beginning': [`${first.cert}${body}\n-----END CERTIFICATE-----\n`, /does not begin or end/],
  'a block in the middle that is no certificate': [
    `${first.cert}-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n${second.cert}`,
    /block 2 of 3 cannot be used: it cannot be parsed/,
  ],
  'a first block whose base64 is broken': [
    first.cert.replace(body, `!${body}`) + second.cert,
    /block 1 of 2 cannot be used: it cannot be parsed/,
  ],
}

for (const [what, [text, message]] of Object.entries(brokenBundles)) {
  test(`a bundle of authorities that is ${what} is a mistake, not the public roots`, () => {
    const [mistake, ...more] = mistakes(bundle(text))
    assert.equal(mistake?.key, 'ca')
    assert.equal(mistake?.path, '/etc/ca.pem')
    assert.match(mistake?.message ?? '', message)
    assert.deepEqual(more, [])
  })
}

test('a bundle with comments, carriage returns and no line feed at its end is fine', () => {
  const text = `# our own\nsubject=CN = first\n${first.cert}\n# and theirs ---\n${second.cert}`.replaceAll('\n', '\r\n')
  assert.deepEqual(mistakes(bundle(text.trimEnd())), [])
})

test('settings without files trust the roots of the runtime', () => {
  assert.deepEqual(mistakes({}), [])
})

test('a client certificate with its key is fine', () => {
  assert.deepEqual(mistakes(client(pair.chain, pair.key)), [])
})

test('a client certificate with the key of another is a mistake', () => {
  const [mistake] = mistakes(client(pair.cert, otherPair.key))
  assert.equal(mistake?.key, 'key')
  assert.match(mistake?.message ?? '', /does not belong to the first certificate in \/etc\/client\.pem/)
})

test('every file that is wrong is told', () => {
  const told = mistakes({ ...bundle(''), ...client('junk', 'junk') })
  assert.deepEqual(
    told.map(({ key }) => key),
    ['ca', 'cert', 'key'],
  )
})
