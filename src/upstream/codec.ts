// Which codec takes a new connection to an endpoint: what its making has negotiated decides. Used by endpoints and by
// health checks, so that both speak the same.
import { Http1ClientConnection } from '../http1/client-connection.js'
import type { FieldLimits } from '../http1/field-lines.js'
import { Http2ClientConnection } from '../http2/client-connection.js'
import type { ClientConnection, ClientConnectionOwner, ClientTimeouts } from '../wire/client-connection.js'
import type { EstablishedTransport } from './transport.js'

/** What a codec is given. */
export interface CodecOptions {
  readonly transport: EstablishedTransport
  readonly timeouts: ClientTimeouts
  readonly limits: FieldLimits
  readonly owner: ClientConnectionOwner
}

/** Gives a new connection to the codec that it was made for. */
export function openConnection(options: CodecOptions): ClientConnection {
  const isShared = options.transport.protocol === 'h2'
  return isShared ? new Http2ClientConnection(options) : new Http1ClientConnection(options)
}
