// Where requests are sent, as people write it: `http://`, `https://` or `unix:`. Pure: nothing is resolved or opened.

import { posix } from 'node:path'
import { type Origin, parseOrigin } from './address.js'
import { formatOrigin } from './origin.js'
import type { Parsed } from './parsed.js'

/** The address of one endpoint. */
export type EndpointAddress =
  | {
      readonly kind: 'tcp'
      /** A normalised name for the system's resolver, or an IP literal without brackets. */
      readonly host: string
      readonly port: number
      readonly tls: boolean
    }
  | {
      readonly kind: 'unix'
      /** Absolute. */
      readonly path: string
    }

/** Reads `http://host[:port]`, `https://host[:port]` or `unix:/path`. */
export function parseEndpointAddress(raw: string): Parsed<EndpointAddress> {
  if (/^unix:/i.test(raw)) return parseSocketPath(raw.slice('unix:'.length))
  if (!/^https?:/i.test(raw)) return { mistake: 'is not an http://, https:// or unix: address', hint: hintFor(raw) }
  // As nginx writes them.
  const socket = /^https?:\/\/unix:(\/[^:]*):?$/is.exec(raw)
  if (socket !== null) return { mistake: 'is not the address of a socket', hint: `write "unix:${socket[1]}"` }
  const origin = parseOrigin(raw)
  if ('mistake' in origin) return origin
  const { scheme, host, port } = origin.value
  return { value: { kind: 'tcp', host, port, tls: scheme === 'https' } }
}

/** As the log names it, in the one spelling that equal addresses share. */
export function formatEndpoint(address: EndpointAddress): string {
  return address.kind === 'unix' ? `unix:${address.path}` : formatOrigin(originOf(address))
}

function originOf({ host, port, tls }: Extract<EndpointAddress, { kind: 'tcp' }>): Origin {
  return { scheme: tls ? 'https' : 'http', host, port }
}

// sockaddr_un has 108 bytes on Linux, with a NUL at the end; what is longer is cut short there without a word.
const socketPathBytesMax = 107

function parseSocketPath(path: string): Parsed<EndpointAddress> {
  if (!path.startsWith('/')) return { mistake: 'has no absolute path', hint: 'write "unix:/run/name.sock"' }
  if (path.includes('\0') || path.endsWith('/')) return { mistake: 'is not the path of a socket' }
  const normal = posix.normalize(path).replace(/^\/+/, '/')
  if (Buffer.byteLength(normal) > socketPathBytesMax) {
    return { mistake: `has a path of more than ${socketPathBytesMax} bytes, which no socket can have` }
  }
  return { value: { kind: 'unix', path: normal } }
}

function hintFor(raw: string): string {
  if (raw.startsWith('/')) return `write "unix:${raw}"`
  const isBare = raw !== '' && !raw.includes('://') && !/\s/.test(raw)
  return `write "http://${isBare ? raw : 'host:port'}"`
}
