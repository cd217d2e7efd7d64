// One upstream of any file: what is wrong with it, and what becomes of it when nothing is. Used by load.ts and
// included-sites.ts, and for sites that name an address themselves.

import { dirname, resolve } from 'node:path'
import { type EndpointAddress, formatEndpoint } from '../net/endpoint-address.js'
import type { Place } from './config-error.js'
import type { Source } from './parse.js'
import type { MainInput } from './schema.js'
import { type UpstreamInput, upstreamSchema } from './schema-upstream.js'
import type { Texts } from './texts.js'
import type {
  BalanceConfig,
  EndpointConfig,
  HashKeyConfig,
  HealthCheckConfig,
  PemFile,
  UpstreamConfig,
  UpstreamTimeouts,
  UpstreamTlsConfig,
} from './upstream-config.js'
import type { Path } from './value.js'

/** What upstreams inherit from the main file. */
export type UpstreamDefaults = Pick<MainInput, 'timeouts'>

/** The file that valid upstreams stand in. */
export interface UpstreamFile {
  readonly source: Source
  readonly texts: Texts
}

/** Fills in the defaults; the files that they name can be read. */
export function toUpstreams(
  inputs: Readonly<Record<string, UpstreamInput>>,
  file: UpstreamFile,
  main: UpstreamDefaults,
): readonly UpstreamConfig[] {
  return Object.entries(inputs).map(([name, input]) => toUpstream(input, { ...file, name }, main))
}

interface UpstreamOrigin extends UpstreamFile {
  readonly name: string
}

function toUpstream(input: UpstreamInput, origin: UpstreamOrigin, main: UpstreamDefaults): UpstreamConfig {
  const { name, source } = origin
  const endpoints = input.endpoints.map(toEndpoint)
  const isTls = endpoints.some(({ address }) => address.kind === 'tcp' && address.tls)
  return {
    ...shared(input, main),
    name,
    place: source.place(['upstreams', name], 'key'),
    endpoints,
    tls: isTls ? toTls(input.tls, origin) : undefined,
  }
}

/** The upstream of a site that names an address instead. */
export function addressUpstream(address: EndpointAddress, place: Place, main: UpstreamDefaults): UpstreamConfig {
  const name = formatEndpoint(address)
  const input = upstreamSchema.parse({ endpoints: [name] })
  const isTls = address.kind === 'tcp' && address.tls
  const { verify, minVersion } = input.tls
  const tls = isTls ? { serverName: undefined, ca: undefined, client: undefined, verify, minVersion } : undefined
  return { ...shared(input, main), name, place, endpoints: input.endpoints.map(toEndpoint), tls }
}

/** The timeouts of a site: its own, then those of its upstream. */
export function timeoutsOf(own: UpstreamInput['timeouts'], general: UpstreamTimeouts): UpstreamTimeouts {
  return {
    connectMs: own.connectMs ?? general.connectMs,
    responseMs: own.responseMs ?? general.responseMs,
    idleMs: own.idleMs ?? general.idleMs,
    tunnelIdleMs: own.tunnelIdleMs ?? general.tunnelIdleMs,
  }
}

// What needs no files.
function shared(input: UpstreamInput, main: UpstreamDefaults) {
  const { upstreamConnectMs, upstreamResponseMs, upstreamIdleMs, tunnelIdleMs } = main.timeouts
  const general = {
    connectMs: upstreamConnectMs,
    responseMs: upstreamResponseMs,
    idleMs: upstreamIdleMs,
    tunnelIdleMs,
  }
  return {
    protocol: input.protocol,
    balance: toBalance(input.balance),
    healthCheck: input.healthCheck && toHealthCheck(input.healthCheck),
    passive: input.passive,
    retries: input.retries,
    limits: input.limits,
    timeouts: timeoutsOf(input.timeouts, general),
    proxyProtocol: input.proxyProtocol,
  }
}

function toEndpoint(input: UpstreamInput['endpoints'][number]): EndpointConfig {
  if ('kind' in input) return { address: input, label: formatEndpoint(input), weight: 1, isBackup: false }
  const { url, weight, backup } = input
  return { address: url, label: formatEndpoint(url), weight, isBackup: backup }
}

function toBalance(input: UpstreamInput['balance']): BalanceConfig {
  return typeof input === 'string' ? { kind: input } : { kind: 'hash', key: toHashKey(input.hash) }
}

type HashInput = Exclude<UpstreamInput['balance'], string>['hash']

function toHashKey(input: HashInput): HashKeyConfig {
  if (typeof input === 'string') return { kind: input }
  const { header, cookie } = input
  return header === undefined ? { kind: 'cookie', name: cookie ?? '' } : { kind: 'header', name: header }
}

function toHealthCheck(input: NonNullable<UpstreamInput['healthCheck']>): HealthCheckConfig {
  const { path, expect, intervalMs, rise, fall, host } = input
  return { path, expect, intervalMs, timeoutMs: Math.min(input.timeoutMs, intervalMs), rise, fall, host }
}

function toTls(input: UpstreamInput['tls'], origin: UpstreamOrigin): UpstreamTlsConfig {
  const { serverName, verify, minVersion } = input
  const [ca, cert, key] = (['ca', 'cert', 'key'] as const).map((part) => toPem(input[part], part, origin))
  const client = cert && key && { cert, key }
  return { serverName, ca, client, verify, minVersion }
}

function toPem(written: string | undefined, part: string, origin: UpstreamOrigin): PemFile | undefined {
  if (written === undefined) return undefined
  const { name, source, texts } = origin
  const path = resolve(dirname(source.file), written)
  const read = texts.read(path)
  const at: Path = ['upstreams', name, 'tls', part]
  return 'value' in read ? { ...read.value, place: source.place(at, 'value') } : undefined
}
