// The TLS settings of an upstream that trusts one authority.
import { makeTlsContext, type TlsContext } from '../../src/upstream/tls-context.js'

/** Settings that verify against `ca`, in PEM. */
export function trusting(ca: string): TlsContext {
  const settings = { ca: { path: 'ca.pem', text: ca }, client: undefined, verify: true, minVersion: 'TLSv1.2' } as const
  const context = makeTlsContext(settings)
  if ('secureContext' in context) return context
  throw new Error(JSON.stringify(context))
}
