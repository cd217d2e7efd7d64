// What every TLS server and every certificate's context of ours have in common. Used by certificate.ts, and by the TLS
// servers, whose base context must say the same: on the switch to a site's context OpenSSL keeps the base's options.

// RFC 9113 §9.2.2 forbids the rest to HTTP/2; no CDN needs more.
const ciphers = [
  'TLS_AES_128_GCM_SHA256',
  'TLS_AES_256_GCM_SHA384',
  'TLS_CHACHA20_POLY1305_SHA256',
  'ECDHE-ECDSA-AES128-GCM-SHA256',
  'ECDHE-RSA-AES128-GCM-SHA256',
  'ECDHE-ECDSA-AES256-GCM-SHA384',
  'ECDHE-RSA-AES256-GCM-SHA384',
  'ECDHE-ECDSA-CHACHA20-POLY1305',
  'ECDHE-RSA-CHACHA20-POLY1305',
].join(':')

/**
 * TLS 1.2 or newer, authenticated ciphers with forward secrecy. The client's order counts: all are strong, and only
 * the client knows whether its processor has AES.
 */
export const contextOptions = { minVersion: 'TLSv1.2', ciphers, honorCipherOrder: false } as const
