// Why a listener could not be opened, in words for the person who configured it. Thrown by Listener.open.

/** The kinds of trouble with an address that a person can do something about, and the rest. */
export type ListenErrorCode = 'address_in_use' | 'permission_denied' | 'address_not_available' | 'listen_failed'

const knownErrors: Readonly<Record<string, { code: ListenErrorCode; text: string; hint?: string }>> = {
  EADDRINUSE: {
    code: 'address_in_use',
    text: 'the address is already in use',
    hint: 'another program, or another Hostward, listens there',
  },
  EACCES: {
    code: 'permission_denied',
    text: 'permission denied',
    hint: 'ports below 1024 need root or the capability CAP_NET_BIND_SERVICE',
  },
  EADDRNOTAVAIL: {
    code: 'address_not_available',
    text: 'the address is not one of this machine',
    hint: 'bind to an address that a network interface has, or to all with ":port"',
  },
}

/** An address that could not be bound; the message is a sentence, the hint what may help. */
export class ListenError extends Error {
  override readonly name = 'ListenError'
  readonly code: ListenErrorCode
  readonly listener: string
  readonly hint: string | undefined

  constructor(options: { listener: string; bind: string; cause: NodeJS.ErrnoException }) {
    const known = knownErrors[options.cause.code ?? '']
    const text = known?.text ?? options.cause.message
    super(`listener "${options.listener}" cannot listen on ${options.bind}: ${text}`, { cause: options.cause })
    this.code = known?.code ?? 'listen_failed'
    this.listener = options.listener
    this.hint = known?.hint
  }
}
