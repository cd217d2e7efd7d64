// Which kinds of certificate key a ClientHello can work with: what decides between a site's RSA and ECDSA pairs.
// Pure tables and one function, used by the ClientHello reader; the numbers are those of the IANA TLS registry.

/** The kinds of certificate a client can verify and use in a handshake with us. */
export interface KeySupport {
  readonly supportsEcdsa: boolean
  readonly supportsRsa: boolean
}

/** The parts of a ClientHello that answer it. */
export interface OfferedAlgorithms {
  readonly cipherSuites: readonly number[]
  readonly signatureAlgorithms: readonly number[] | undefined
  readonly supportsTls13: boolean
}

const ecdsaSchemes = new Set([0x0403, 0x0503, 0x0603])
const rsaPssSchemes = new Set([0x0804, 0x0805, 0x0806])
const rsaSchemes = new Set([0x0401, 0x0501, 0x0601, ...rsaPssSchemes])

// The suites OpenSSL has, by the key they ask of the certificate.
const ecdheEcdsaSuites = new Set([
  0xc009, 0xc00a, 0xc023, 0xc024, 0xc02b, 0xc02c, 0xc0ac, 0xc0ad, 0xc0ae, 0xc0af, 0xcca9,
])
const signedRsaSuites = new Set([
  0xc013, 0xc014, 0xc027, 0xc028, 0xc02f, 0xc030, 0xcca8, 0x0033, 0x0039, 0x0067, 0x006b, 0x009e, 0x009f, 0xc09e,
  0xc09f, 0xc0a2, 0xc0a3, 0xccaa,
])
const rsaKeyExchangeSuites = new Set([0x002f, 0x0035, 0x003c, 0x003d, 0x009c, 0x009d, 0xc09c, 0xc09d, 0xc0a0, 0xc0a1])

/**
 * Tells which keys fit. Under TLS 1.3 the signature schemes decide alone (RFC 8446 §4.4.2.2, PKCS#1 v1.5 not counting);
 * under TLS 1.2 a suite of that key is needed too, and an absent list of schemes excludes nothing (RFC 5246 §7.4.1.4.1).
 */
export function keySupport(offered: OfferedAlgorithms): KeySupport {
  const { cipherSuites, signatureAlgorithms, supportsTls13 } = offered
  const signs = (schemes: ReadonlySet<number>): boolean => signatureAlgorithms?.some((it) => schemes.has(it)) ?? true
  if (supportsTls13) return { supportsEcdsa: signs(ecdsaSchemes), supportsRsa: signs(rsaPssSchemes) }
  const offers = (suites: ReadonlySet<number>): boolean => cipherSuites.some((it) => suites.has(it))
  return {
    supportsEcdsa: offers(ecdheEcdsaSuites) && signs(ecdsaSchemes),
    supportsRsa: offers(rsaKeyExchangeSuites) || (offers(signedRsaSuites) && signs(rsaSchemes)),
  }
}
