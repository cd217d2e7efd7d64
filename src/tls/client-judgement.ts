// Whether what a client proved on its connection satisfies a policy at this time. Used per request by the rule of who is
// admitted; a verdict is kept until a date passes, so that a request costs a comparison.
import type { ClientProof } from '../wire/connection.js'
import { type ClientCertificate, readClientCertificate } from './client-certificate.js'
import { pathRefusal } from './client-path.js'
import type { ClientPolicy } from './client-policy.js'
import { isValidAt, type Validity } from './expiry.js'

/** What is known of a client under one policy. */
export interface ClientVerdict {
  readonly reason: 'good' | 'missing' | 'invalid' | 'expired' | 'not_allowed'
  /** For the log alone. */
  readonly detail: string
  /** What it showed, good or not. */
  readonly certificate: ClientCertificate | undefined
}

interface KeptVerdict extends ClientVerdict {
  readonly fromMs: number
  readonly untilMs: number
}

// The configuration bounds the policies there are, but each reload of a connection's long life may bring others.
const verdictsKeptMax = 16
const kept = new WeakMap<ClientProof, Map<string, KeptVerdict>>()

/** Judges `proof` by `policy` at `nowMs`. The same question is answered from memory until one of the dates passes. */
export function judgeClient(policy: ClientPolicy, proof: ClientProof, nowMs: number): ClientVerdict {
  const verdicts = kept.get(proof) ?? new Map<string, KeptVerdict>()
  const known = verdicts.get(policy.id)
  if (known !== undefined && known.fromMs <= nowMs && nowMs < known.untilMs) return known
  if (verdicts.size >= verdictsKeptMax) verdicts.clear()
  const verdict = judge(policy, proof, nowMs)
  verdicts.set(policy.id, verdict)
  kept.set(proof, verdicts)
  return verdict
}

function judge(policy: ClientPolicy, proof: ClientProof, nowMs: number): KeptVerdict {
  const certificate = readClientCertificate(proof.chain)
  if (certificate === undefined) {
    const reason = proof.chain.length === 0 ? 'missing' : 'invalid'
    return { reason, detail: `the certificate is ${reason}`, certificate, fromMs: 0, untilMs: Number.POSITIVE_INFINITY }
  }
  const those = [certificate.leaf, ...certificate.sent, ...policy.trust.authorities]
  const refusal = trustRefusal(policy, { proof, certificate, those, nowMs }) ?? pinRefusal(policy, certificate)
  return { reason: 'good', detail: '', ...refusal, certificate, ...betweenDates(those, nowMs) }
}

interface Shown {
  readonly proof: ClientProof
  readonly certificate: ClientCertificate
  /** Everything that a path may be made of. */
  readonly those: readonly Validity[]
  readonly nowMs: number
}

type Refusal = Pick<ClientVerdict, 'reason' | 'detail'>

// OpenSSL's verdict was on these authorities and on that time: it counts for no others, and only as long as nothing that it
// may have rested on has ended. What it objected to stays refused.
function trustRefusal({ trust }: ClientPolicy, { proof, certificate, those, nowMs }: Shown): Refusal | undefined {
  const { verifyError, shownAtMs } = proof
  if (proof.trustId === trust.id) {
    if (verifyError !== undefined) return openSslRefusal(verifyError)
    if (those.every((each) => !isValidAt(each, shownAtMs) || isValidAt(each, nowMs))) return undefined
  }
  return pathRefusal(certificate.leaf, { sent: certificate.sent, authorities: trust.authorities, nowMs })
}

function openSslRefusal(verifyError: string): Refusal {
  const isAboutDates = verifyError === 'CERT_HAS_EXPIRED' || verifyError === 'CERT_NOT_YET_VALID'
  return { reason: isAboutDates ? 'expired' : 'invalid', detail: verifyError }
}

function pinRefusal({ pins }: ClientPolicy, certificate: ClientCertificate): Refusal | undefined {
  const shown = [
    { kind: 'fingerprints', pinned: pins.fingerprints, own: [certificate.fingerprint] },
    { kind: 'sans', pinned: pins.sans, own: certificate.names },
    { kind: 'subjects', pinned: pins.subjects, own: [certificate.subject] },
  ]
  const unmet = shown.find(({ pinned, own }) => pinned.size > 0 && !own.some((each) => pinned.has(each)))
  return unmet && { reason: 'not_allowed', detail: `none of allow.${unmet.kind} is the certificate's` }
}

/** The time around `nowMs` in which no certificate begins or ends: what is true now is true throughout. */
function betweenDates(
  those: readonly Validity[],
  nowMs: number,
): { readonly fromMs: number; readonly untilMs: number } {
  // A certificate is still valid at its very end.
  const dates = those.flatMap(({ notBeforeMs, notAfterMs }) => [notBeforeMs, notAfterMs + 1])
  return {
    fromMs: Math.max(...dates.filter((date) => date <= nowMs), Number.NEGATIVE_INFINITY),
    untilMs: Math.min(...dates.filter((date) => date > nowMs), Number.POSITIVE_INFINITY),
  }
}
