// What a site demands of client certificates: sense across its keys, and what becomes of it in a valid site. Used by
// site.ts and its check. Whether the authorities are sound is found out where they are used.

import { dirname, resolve } from 'node:path'
import { type ListenerSketch, servingListeners } from './check.js'
import { isConnectionHeader } from './check-headers.js'
import type { ClientCertificateConfig } from './config.js'
import type { Mistake } from './mistake.js'
import type { Source } from './parse.js'
import { shown } from './printable.js'
import type { VhostInput } from './schema-vhost.js'
import { type Surrounding, unreadableFiles } from './taken-in.js'
import type { Texts } from './texts.js'
import { isMap, type Path, type ValueMap } from './value.js'

/** Mistakes under `clientCertificate`; `listeners` are all there are. */
export function checkClientCertificate(
  site: ValueMap,
  surrounding: Surrounding & { readonly listeners: readonly ListenerSketch[] },
): readonly Mistake[] {
  const demand = site['clientCertificate']
  if (!isMap(demand)) return []
  const unreadable = unreadableFiles(site, [['clientCertificate', 'ca']], surrounding)
  return [...unreadable, ...checkForward(demand['forward']), ...checkWire(site, surrounding.listeners)]
}

function checkForward(forward: unknown): readonly Mistake[] {
  if (!isMap(forward)) return []
  return ['header', 'chainHeader'].flatMap((key): readonly Mistake[] => {
    const name = forward[key]
    if (typeof name !== 'string' || !(isConnectionHeader(name) || isMessageHeader(name))) return []
    const message = `header ${shown(name)} has a meaning of its own`
    const hint = 'take Client-Cert and Client-Cert-Chain, or a name that nothing else uses'
    return [{ path: ['clientCertificate', 'forward', key], aim: 'value', message, hint }]
  })
}

/** Whether requests would be told apart, addressed or authorised by it. */
function isMessageHeader(name: string): boolean {
  return ['host', 'cookie', 'authorization', 'x-request-id', 'forwarded', 'via'].includes(name.toLowerCase())
}

// Nobody could ever show a certificate.
function checkWire(site: ValueMap, listeners: readonly ListenerSketch[]): readonly Mistake[] {
  const serving = servingListeners(site, listeners)
  const those = listeners.filter(({ name }) => serving.includes(name))
  if (those.length === 0 || those.some(({ isTls }) => isTls)) return []
  const message = 'clientCertificate needs a TLS listener, and the site has none'
  return [{ path: ['clientCertificate'], aim: 'key', message, hint: 'name one under listeners, or remove the demand' }]
}

/** Where a valid site stands. */
export interface SiteOrigin {
  readonly source: Source
  readonly path: Path
  readonly texts: Texts
}

/** The demand of a valid site, whose files can be read. */
export function toClientCertificate(
  input: VhostInput['clientCertificate'],
  { source, path, texts }: SiteOrigin,
): ClientCertificateConfig | undefined {
  if (input === undefined) return undefined
  const read = texts.read(resolve(dirname(source.file), input.ca))
  if ('reason' in read) return undefined
  const place = source.place([...path, 'clientCertificate', 'ca'], 'value')
  const { header, chainHeader } = input.forward ?? {}
  return {
    mode: input.mode,
    ca: { ...read.value, place },
    allow: input.allow,
    forward: header === undefined ? undefined : { header, chainHeader },
  }
}
