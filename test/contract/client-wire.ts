// What a client of any wire can do. The contract's cases speak to this alone; each wire plugs in once.

/** A line of a head: name in lower case, value one character a byte. */
export type Line = readonly [name: string, value: string]

/** A request as a test wants it. */
export interface WireRequest {
  readonly host: string
  readonly method?: string
  readonly target?: string
  readonly lines?: readonly Line[]
  /** Pieces of a body whose length is not announced. */
  readonly body?: readonly string[]
  /** The body stays open behind its pieces, until `finish`. */
  readonly isOpenEnded?: boolean
  /** Nothing of the answer's body is taken before `resume`. */
  readonly isPaused?: boolean
  readonly trailers?: readonly Line[]
}

/** What the client got. */
export interface WireResponse {
  readonly status: number
  readonly lines: readonly Line[]
  readonly body: string
  readonly trailers: readonly Line[]
  /** Informational heads before the final one. */
  readonly informational: readonly { readonly status: number; readonly lines: readonly Line[] }[]
  /** Whether the body ended as its framing promised. */
  readonly isWhole: boolean
}

/** One exchange under way. */
export interface WireExchange {
  readonly response: Promise<WireResponse>
  /** Resolves when a 100 has come. */
  readonly continued: Promise<void>
  /** Resolves when the first byte of the answer's body has come. */
  readonly bodyBegun: Promise<void>
  /** Ends an open-ended body with these last bytes. */
  finish(lastPiece: string): void
  /** Takes the answer's body. */
  resume(): void
  /** The client leaves. */
  abandon(): void
}

/** One connection to a gateway. */
export interface WireClient {
  request(request: WireRequest): WireExchange
  close(): void
}

/** What a wire runs over. */
export type Transport = 'tcp' | 'tls'

/** A wire between clients and the gateway. */
export interface ClientWire {
  /** As the log calls it. */
  readonly name: 'http/1.1' | 'h2'
  /** Over TLS any certificate is taken. */
  connect(port: number, over?: Transport): WireClient
}

/** The values of the lines with a name. */
export function valuesOf(lines: readonly Line[], name: string): string[] {
  return lines.filter(([lineName]) => lineName === name).map(([, value]) => value)
}

/** Lines out of a flat list of names and values. */
export function linesOf(flat: readonly string[]): Line[] {
  return flat.flatMap((name, at): Line[] => (at % 2 === 0 ? [[name.toLowerCase(), flat[at + 1] as string]] : []))
}

/** A response that grows as its parts come. */
export class GrowingResponse implements WireResponse {
  status = 0
  lines: Line[] = []
  body = ''
  trailers: Line[] = []
  informational: { status: number; lines: Line[] }[] = []
  isWhole = false
  #begin: () => void = () => undefined
  /** Resolves with the first byte of the body. */
  readonly bodyBegun = new Promise<void>((resolve) => {
    this.#begin = resolve
  })

  take(chunk: Buffer): void {
    this.body += chunk.toString('latin1')
    this.#begin()
  }
}
