// Makes the certificates of the example configuration, where they are missing, near their end, or do not fit.
// Run by `npm start`, or by hand: node certs.example/make-certificates.mjs [directory]. For trying out only.
import { createPrivateKey, webcrypto, X509Certificate } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { isIP } from 'node:net'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

const dayMs = 86_400_000
const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' }

const authority = { name: 'ca', commonName: 'Hostward example CA', days: 3650, names: [] }
const leaves = [
  { name: 'default', commonName: 'Hostward fallback', days: 90, names: ['localhost', '127.0.0.1', '::1'] },
  { name: 'site-a', signed: true, days: 90, names: ['site-a.example.com', '*.a.example.com'] },
  { name: 'site-b', signed: true, days: 90, names: ['site-b.example.com'] },
]

/**
 * Makes what is missing in `directory`: ca, default (self-signed), site-a and site-b (signed by ca), each as NAME.pem
 * and NAME.key. Returns the names that were made; what is still good is left alone. `say` gets one line for each.
 * @param {string} directory
 * @param {{ nowMs?: number, say?: (line: string) => void }} [options]
 * @returns {Promise<string[]>}
 */
export async function makeCertificates(directory, { nowMs = Date.now(), say = console.error } = {}) {
  mkdirSync(directory, { recursive: true })
  const made = []
  const makeUnlessGood = async (wanted, issuer) => {
    const good = readGood(directory, wanted, { nowMs, issuer })
    if (good !== undefined) return good
    const pair = await make(directory, wanted, { nowMs, issuer })
    made.push(wanted.name)
    say(`made ${join(directory, wanted.name)}.pem, valid until ${new X509Certificate(pair.cert).validTo}`)
    return pair
  }
  const ca = await makeUnlessGood(authority, undefined)
  for (const leaf of leaves) await makeUnlessGood(leaf, leaf.signed ? ca : undefined)
  return made
}

/** The pair on disk, unless something about it calls for a new one. */
function readGood(directory, wanted, { nowMs, issuer }) {
  const path = join(directory, wanted.name)
  if (!existsSync(`${path}.pem`) || !existsSync(`${path}.key`)) return undefined
  const pair = { cert: readFileSync(`${path}.pem`, 'utf8'), key: readFileSync(`${path}.key`, 'utf8') }
  try {
    const certificate = new X509Certificate(pair.cert)
    const signer = issuer === undefined ? certificate : new X509Certificate(issuer.cert)
    const isGood =
      !needsRenewal(certificate, nowMs) &&
      certificate.checkPrivateKey(createPrivateKey(pair.key)) &&
      certificate.verify(signer.publicKey)
    return isGood ? pair : undefined
  } catch {
    // A file that cannot be parsed is replaced like one that is missing.
    return undefined
  }
}

/** Within the window in which Hostward itself would warn, or not valid yet. */
function needsRenewal(certificate, nowMs) {
  const [startMs, endMs] = [Date.parse(certificate.validFrom), Date.parse(certificate.validTo)]
  return nowMs < startMs || endMs - nowMs <= Math.min((endMs - startMs) / 4, 30 * dayMs)
}

async function make(directory, wanted, { nowMs, issuer }) {
  const { X509CertificateGenerator } = await library()
  const keys = await webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify'])
  const subject = `CN=${wanted.commonName ?? wanted.names[0]}`
  const certificate = await X509CertificateGenerator.create({
    subject,
    issuer: issuer === undefined ? subject : `CN=${authority.commonName}`,
    // An hour back, for clients whose clock is behind.
    notBefore: new Date(nowMs - 3_600_000),
    notAfter: new Date(nowMs + wanted.days * dayMs),
    publicKey: keys.publicKey,
    signingKey: issuer === undefined ? keys.privateKey : await importKey(issuer.key),
    signingAlgorithm: algorithm,
    extensions: await extensions(wanted),
  })
  const key = pem('PRIVATE KEY', Buffer.from(await webcrypto.subtle.exportKey('pkcs8', keys.privateKey)))
  const cert = pem('CERTIFICATE', Buffer.from(certificate.rawData)) + (issuer?.cert ?? '')
  replace(join(directory, `${wanted.name}.key`), key, 0o600)
  replace(join(directory, `${wanted.name}.pem`), cert, 0o644)
  return { cert, key }
}

async function extensions({ names }) {
  const x509 = await library()
  const { keyCertSign, digitalSignature } = x509.KeyUsageFlags
  if (names.length === 0) {
    return [new x509.BasicConstraintsExtension(true, 0, true), new x509.KeyUsagesExtension(keyCertSign, true)]
  }
  const generalNames = names.map((value) => ({ type: isIP(value) === 0 ? 'dns' : 'ip', value }))
  return [
    new x509.BasicConstraintsExtension(false, undefined, true),
    new x509.KeyUsagesExtension(digitalSignature, true),
    new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.serverAuth]),
    new x509.SubjectAlternativeNameExtension(generalNames),
  ]
}

// Loaded only when something is to be made: a production install has neither the library nor the need.
async function library() {
  await import('reflect-metadata')
  return await import('@peculiar/x509')
}

function importKey(text) {
  const der = createPrivateKey(text).export({ type: 'pkcs8', format: 'der' })
  return webcrypto.subtle.importKey('pkcs8', der, algorithm, false, ['sign'])
}

function pem(label, der) {
  const lines = der.toString('base64').replace(/(.{64})(?!$)/g, '$1\n')
  return `-----BEGIN ${label}-----\n${lines}\n-----END ${label}-----\n`
}

/** Puts a file in place in one step, so that a running server never reads half of it. */
function replace(path, text, mode) {
  writeFileSync(`${path}.new`, text, { mode, flag: 'w' })
  renameSync(`${path}.new`, path)
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  await makeCertificates(process.argv[2] ?? 'certs')
}
