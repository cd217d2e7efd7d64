// Everything that can be wrong with a pair of certificate and key: one table from code to what Hostward does about it.
// Used wherever a defect is found; the README's list is made of it.

/**
 * What is done about a defect. `refuse`: the pair does not serve, the last good one does. `keep`: it does not replace
 * a pair that is valid; where there is none it serves. `warn`: it serves, and a hand is needed. `info`: it serves.
 */
export type DefectAct = 'refuse' | 'keep' | 'warn' | 'info'

interface DefectRule {
  readonly act: DefectAct
  /** What an operator reads in the README, and in the log where there is nothing more exact to say. */
  readonly meaning: string
  readonly hint: string
}

function rule(act: DefectAct, meaning: string, hint: string): DefectRule {
  return { act, meaning, hint }
}

const fullChain = 'use the full chain (certbot: fullchain.pem): leaf first, then each issuer, without the root'
const reissue = 'issue it again with a SHA-256 signature and a key on P-256, or RSA of 2048 bits or more'
const writing = 'is it still being written?'
const path = 'is the path right? relative paths start at the file that names them'
const access = 'can the user that Hostward runs as read it, and enter its directories?'
const whichCa = 'was it issued by the right authority, and with the profile for web servers?'

/** Every code, what follows from it, what it means, and what to do. */
export const defectRules = {
  cert_missing: rule('refuse', 'the certificate file does not exist', path),
  cert_unreadable: rule('refuse', 'the certificate file cannot be read', access),
  cert_empty: rule('refuse', 'the certificate file is empty', writing),
  cert_not_pem: rule(
    'refuse',
    'the file holds no PEM certificate',
    'expected -----BEGIN CERTIFICATE-----, leaf first; are `cert` and `key` swapped?',
  ),
  cert_truncated: rule(
    'refuse',
    'a PEM block of the certificate file begins and does not end',
    'is the file complete? every -----BEGIN …----- needs its -----END …----- on a line of its own',
  ),
  cert_invalid: rule(
    'refuse',
    'a certificate in the file cannot be parsed',
    'look at it with: openssl x509 -text -noout -in FILE',
  ),
  cert_unusable: rule('refuse', 'this runtime cannot serve the pair', reissue),
  key_missing: rule('refuse', 'the key file does not exist', path),
  key_unreadable: rule('refuse', 'the key file cannot be read', access),
  key_empty: rule('refuse', 'the key file is empty', writing),
  key_not_pem: rule(
    'refuse',
    'the file holds no PEM private key',
    'expected -----BEGIN PRIVATE KEY-----; are `cert` and `key` swapped?',
  ),
  key_truncated: rule('refuse', 'a PEM block of the key file begins and does not end', 'is the file complete?'),
  key_invalid: rule(
    'refuse',
    'the private key cannot be parsed',
    'look at it with: openssl pkey -noout -text -in FILE',
  ),
  key_encrypted: rule(
    'refuse',
    'the private key is encrypted with a passphrase',
    'write it without one (openssl pkey -in FILE -out NEW) and guard the file by its mode instead',
  ),
  key_unsupported: rule('refuse', 'keys of this kind are not used in TLS', reissue),
  key_weak: rule('refuse', 'a key of the pair or its chain is too weak for TLS', reissue),
  signature_weak: rule('refuse', 'a certificate in the file is signed with a broken hash', reissue),
  signature_invalid: rule(
    'refuse',
    'the certificate is not signed by the issuer that stands in its file, so every client refuses it',
    'is it still being written? else take the file from the authority again',
  ),
  key_mismatch: rule(
    'refuse',
    'the private key does not belong to the certificate',
    'if both are being renewed, the other file is still to come',
  ),
  leaf_not_first: rule('refuse', 'the key belongs to a certificate further down the file', fullChain),
  not_yet_valid: rule(
    'keep',
    'the certificate is not valid yet',
    'check the clock before the certificate: date, and the time of the machine that issued it',
  ),
  expired: rule('keep', 'the certificate has expired', 'renew it; see why the renewal that was due did not happen'),
  chain_incomplete: rule(
    'warn',
    "the file does not hold the issuer's certificate, so strict clients cannot verify the chain",
    fullChain,
  ),
  chain_wrong_order: rule('warn', 'a certificate of the chain stands before the one that it has issued', fullChain),
  chain_unrelated: rule('warn', 'the file holds a certificate that is no part of the chain', fullChain),
  chain_duplicate: rule('warn', 'the file holds a certificate twice', fullChain),
  chain_too_long: rule('warn', 'the file holds more certificates than any chain needs', fullChain),
  chain_contains_root: rule(
    'info',
    'the file holds the root, which clients ignore and every handshake pays for',
    fullChain,
  ),
  intermediate_expires_first: rule(
    'warn',
    'a certificate of the chain ends before the leaf does',
    'take the chain from the authority again; the new one comes with the next renewal',
  ),
  intermediate_expired: rule(
    'warn',
    'a certificate of the chain has expired',
    'take the chain from the authority again',
  ),
  intermediate_not_ca: rule('warn', 'a certificate that has issued another is no authority (CA:FALSE)', whichCa),
  intermediate_key_usage: rule('warn', 'the key of an authority in the chain must not sign certificates', whichCa),
  intermediate_path_length: rule(
    'warn',
    'an authority of the chain has more authorities below it than it allows',
    whichCa,
  ),
  name_not_covered: rule(
    'warn',
    'the certificate does not cover a host of its site',
    'issue it with that name, or give the site a pair of its own',
  ),
  name_cn_only: rule(
    'warn',
    'the certificate has no subject alternative name; no client of today accepts it for any host',
    'issue it with the host names as DNS names; the common name is ignored',
  ),
  name_unused: rule(
    'info',
    'the certificate covers names that no site has',
    'fewer names expose less; none is fine too',
  ),
  names_too_many: rule('info', 'the certificate has more than 100 names', 'each handshake carries all of them'),
  wildcard_too_broad: rule('info', 'a wildcard directly below a top-level domain covers nothing', 'clients ignore it'),
  purpose_not_server: rule('warn', 'the certificate is not for servers (extended key usage)', whichCa),
  key_usage_not_signing: rule(
    'warn',
    'the key may not make digital signatures (key usage), which every handshake of today needs',
    whichCa,
  ),
  leaf_is_ca: rule('warn', 'the certificate is that of an authority; strict clients refuse it for a server', whichCa),
  key_uncommon: rule('warn', 'browsers and CDNs mostly cannot use a key of this kind', reissue),
  must_staple: rule(
    'warn',
    'the certificate demands a stapled OCSP response, which Hostward never sends',
    'issue it without must-staple; public responders are being switched off',
  ),
  issuer_staging: rule(
    'warn',
    'the certificate comes from a test authority, which nobody trusts',
    'issue it again from the production endpoint of the authority',
  ),
  self_signed: rule(
    'warn',
    'the certificate is self-signed: a CDN that verifies its origin refuses it',
    'use a public certificate, or the origin certificate that the CDN issues',
  ),
  lifetime_over_limit: rule(
    'info',
    'the certificate lasts longer than public authorities may issue it for, so browsers may refuse it',
    'see ballot SC-081v3 of the CA/Browser Forum',
  ),
  key_permissions: rule(
    'warn',
    'others than Hostward and its group can read the private key or replace it',
    'chmod 0600 (0640 with a group of its own), owned by root or by the user that Hostward runs as',
  ),
  clock_skew: rule('warn', 'a file comes from the future', 'check the clock of this machine before the certificate'),
  pair_duplicate: rule(
    'warn',
    'the site has two pairs of one key type, of which a client only ever gets one',
    'RSA beside EC makes sense, two of a kind do not; the one that lasts longer serves',
  ),
} as const satisfies Record<string, DefectRule>

/** A code of the table of defects. */
export type DefectCode = keyof typeof defectRules

/** What is wrong with a pair: for machines what to do about what, for people the rest. */
export interface CertificateDefect {
  readonly code: DefectCode
  readonly act: DefectAct
  readonly file: string
  readonly message: string
  readonly hint: string
}

/** A defect as found; message and hint are the table's where nothing more exact can be said. */
export function defect(
  code: DefectCode,
  found: { readonly file: string; readonly message?: string | undefined; readonly hint?: string },
): CertificateDefect {
  const { act, meaning, hint } = defectRules[code]
  return { code, act, file: found.file, message: found.message ?? meaning, hint: found.hint ?? hint }
}
