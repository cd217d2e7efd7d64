// An origin as text. Pure.
import type { Origin } from './address.js'

const defaultPorts = { http: 80, https: 443 } as const

/** `scheme://host[:port]`, without the scheme's own port and without a slash at the end. */
export function formatOrigin({ scheme, host, port }: Origin): string {
  const name = host.includes(':') ? `[${host}]` : host
  return port === defaultPorts[scheme] ? `${scheme}://${name}` : `${scheme}://${name}:${port}`
}
