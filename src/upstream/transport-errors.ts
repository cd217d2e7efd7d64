// What the system says when a connection cannot be made, in words. Used by transport.ts; the code stays in sight, because
// that is what people search for.

const meanings: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'connection refused',
  ECONNRESET: 'connection reset',
  ENOENT: 'there is no such socket',
  ENOTSOCK: 'the file is not a socket',
  EACCES: 'not permitted',
  EPERM: 'not permitted',
  EHOSTUNREACH: 'no route to the host',
  ENETUNREACH: 'no route to the network',
  EHOSTDOWN: 'the host is down',
  ETIMEDOUT: 'no answer',
  EAGAIN: 'its queue of connections is full',
  EADDRNOTAVAIL: 'no local address or port is left for it',
  EMFILE: 'this process has no file descriptor left',
  ENFILE: 'the system has no file descriptor left',
  ENOBUFS: 'the system has no memory left for sockets',
  ENOMEM: 'the system has no memory left for sockets',
}

const exhaustionCodes: ReadonlySet<string> = new Set(['EMFILE', 'ENFILE', 'ENOBUFS', 'ENOMEM'])

/** Why no connection was made. */
export function connectError(error: Error | undefined): string {
  if (error === undefined) return 'closed while connecting'
  const code = codeOf(error)
  const meaning = meanings[code]
  return meaning === undefined ? error.message : `${meaning} (${code})`
}

/** Whether this process or machine is out of something, whatever the address. */
export function isExhausted(error: Error | undefined): boolean {
  return error !== undefined && exhaustionCodes.has(codeOf(error))
}

/** Whether the reason lies on our side alone: it says nothing of the endpoint. Undefined and other values are not. */
export function isLocal(cause: unknown): boolean {
  return cause instanceof Error && (isExhausted(cause) || codeOf(cause) === 'EADDRNOTAVAIL')
}

function codeOf(error: NodeJS.ErrnoException): string {
  return error.code ?? ''
}
