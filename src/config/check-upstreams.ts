// Sense across the keys of upstreams. Works on values that nobody has validated, as check.ts does.

import { formatEndpoint, parseEndpointAddress } from '../net/endpoint-address.js'
import { type Mistake, rebase } from './mistake.js'
import { shown } from './printable.js'
import { type Surrounding, unreadableFiles } from './taken-in.js'
import { isMap, listAt, type ValueMap } from './value.js'

/** The names under `upstreams`, whether or not what they stand for is right. */
export function upstreamNames(file: unknown): readonly string[] {
  const upstreams = isMap(file) ? file['upstreams'] : undefined
  return isMap(upstreams) ? Object.keys(upstreams) : []
}

/** Mistakes within the upstreams of one file. */
export function checkUpstreams(file: unknown, surrounding: Surrounding): readonly Mistake[] {
  const upstreams = isMap(file) ? file['upstreams'] : undefined
  if (!isMap(upstreams)) return []
  return Object.entries(upstreams).flatMap(([name, upstream]) =>
    isMap(upstream) ? rebase(['upstreams', name], checkUpstream(upstream, surrounding)) : [],
  )
}

function checkUpstream(upstream: ValueMap, surrounding: Surrounding): readonly Mistake[] {
  const urls = listAt(upstream, 'endpoints').map((endpoint) => (isMap(endpoint) ? endpoint['url'] : endpoint))
  return [
    ...checkTwice(upstream, urls),
    ...checkBackups(upstream),
    ...checkWire(upstream, urls),
    ...checkTls(upstream['tls']),
    ...unreadableFiles(upstream, tlsFiles, surrounding),
    ...checkHash(upstream['balance']),
    ...checkHealth(upstream['healthCheck']),
  ]
}

const tlsFiles = ['ca', 'cert', 'key'].map((key) => ['tls', key])

function checkTwice(upstream: ValueMap, urls: readonly unknown[]): readonly Mistake[] {
  const seen = new Set<string>()
  return urls.flatMap((url, index): readonly Mistake[] => {
    const parsed = typeof url === 'string' ? parseEndpointAddress(url) : undefined
    if (parsed === undefined || 'mistake' in parsed) return []
    const label = formatEndpoint(parsed.value)
    if (!seen.has(label)) {
      seen.add(label)
      return []
    }
    const path = ['endpoints', index, ...(isMap(listAt(upstream, 'endpoints')[index]) ? ['url'] : [])]
    const hint = 'give one of them a weight instead'
    return [{ path, aim: 'value', message: `endpoint ${shown(label)} is there twice`, hint }]
  })
}

function checkBackups(upstream: ValueMap): readonly Mistake[] {
  const endpoints = listAt(upstream, 'endpoints')
  if (endpoints.length === 0 || !endpoints.every((each) => isMap(each) && each['backup'] === true)) return []
  const hint = 'a backup is for when no other endpoint is available: leave one without'
  return [{ path: ['endpoints'], aim: 'key', message: 'every endpoint is a backup', hint }]
}

// Told only where every address can be read: one that cannot may be meant as https.
function checkWire(upstream: ValueMap, urls: readonly unknown[]): readonly Mistake[] {
  const parsed = urls.map((url) => (typeof url === 'string' ? parseEndpointAddress(url) : undefined))
  const isPlain = parsed.every((each) => each !== undefined && 'value' in each && !isTlsAddress(each.value))
  if (parsed.length === 0 || !isPlain) return []
  const mistakes: Mistake[] = []
  if (isMap(upstream['tls']) && Object.keys(upstream['tls']).length > 0) {
    const hint = 'write https:// where the endpoint speaks TLS, or remove tls'
    mistakes.push({ path: ['tls'], aim: 'key', message: 'tls is for https:// endpoints', hint })
  }
  if (upstream['protocol'] === 'auto') {
    const hint = 'write http1, or h2 where the endpoints speak it without TLS'
    mistakes.push({ path: ['protocol'], aim: 'value', message: 'protocol auto is for https:// endpoints', hint })
  }
  return mistakes
}

function isTlsAddress(address: { readonly kind: string; readonly tls?: boolean }): boolean {
  return address.tls === true
}

function checkTls(tls: unknown): readonly Mistake[] {
  if (!isMap(tls)) return []
  const mistakes: Mistake[] = []
  for (const [one, other] of [
    ['cert', 'key'],
    ['key', 'cert'],
  ]) {
    if (!(one in tls) || other in tls) continue
    const hint = 'a client certificate is both: cert and key'
    mistakes.push({ path: ['tls', one], aim: 'key', message: `${one} stands without ${other}`, hint })
  }
  if (tls['verify'] === false && 'ca' in tls) {
    const hint = 'remove verify: false, so that the authority counts'
    mistakes.push({ path: ['tls', 'ca'], aim: 'key', message: 'ca means nothing where nothing is verified', hint })
  }
  return mistakes
}

function checkHash(balance: unknown): readonly Mistake[] {
  const hash = isMap(balance) ? balance['hash'] : undefined
  if (!isMap(hash) || 'header' in hash !== 'cookie' in hash) return []
  const hint = 'write one of { header: … } and { cookie: … }'
  return [{ path: ['balance', 'hash'], aim: 'value', message: 'one thing is hashed', hint }]
}

function checkHealth(check: unknown): readonly Mistake[] {
  if (!isMap(check)) return []
  const { timeoutMs, intervalMs = 5000 } = check
  if (typeof timeoutMs !== 'number' || typeof intervalMs !== 'number' || timeoutMs <= intervalMs) return []
  const message = `timeoutMs ${timeoutMs} is longer than intervalMs ${intervalMs}`
  const hint = 'a check must be over when the next one begins'
  return [{ path: ['healthCheck', 'timeoutMs'], aim: 'value', message, hint }]
}
