// The cipher suites there are, by OpenSSL's names: authenticated ones with forward secrecy, all else RFC 9113 §9.2.2 forbids
// to HTTP/2, and no CDN needs it. Pure; used by the configuration and by the contexts of handshakes.

/** Those of TLS 1.3. */
export const tls13Suites = ['TLS_AES_128_GCM_SHA256', 'TLS_AES_256_GCM_SHA384', 'TLS_CHACHA20_POLY1305_SHA256'] as const

/** Those of TLS 1.2. */
export const tls12Suites = [
  'ECDHE-ECDSA-AES128-GCM-SHA256',
  'ECDHE-RSA-AES128-GCM-SHA256',
  'ECDHE-ECDSA-AES256-GCM-SHA384',
  'ECDHE-RSA-AES256-GCM-SHA384',
  'ECDHE-ECDSA-CHACHA20-POLY1305',
  'ECDHE-RSA-CHACHA20-POLY1305',
] as const

/** All of them, in no order that counts: the client's does, for only it knows whether its processor has AES. */
export const cipherSuites = [...tls13Suites, ...tls12Suites] as const

/** One of them. */
export type CipherSuite = (typeof cipherSuites)[number]
