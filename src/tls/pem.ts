// Takes PEM text apart into its blocks. Used for certificates and keys, because OpenSSL's loader drops what follows a
// bad block without a word.

/** One `-----BEGIN label-----` … `-----END label-----` with nothing around it. */
export interface PemBlock {
  readonly label: string
  /** The block as text, ending in a line feed. */
  readonly text: string
}

/** The blocks of a file in order; `isTruncated` when one of them begins and does not end. */
export interface PemFile {
  readonly blocks: readonly PemBlock[]
  readonly isTruncated: boolean
}

/** Reads blocks out of any text; what stands around them (comments, a byte order mark) is left out. RFC 7468. */
export function readPem(bytes: Buffer): PemFile {
  const blocks: PemBlock[] = []
  let open: { readonly label: string; readonly lines: string[] } | undefined
  let isTruncated = false
  for (const line of bytes
    .toString('latin1')
    .split('\n')
    .map((text) => text.trimEnd())) {
    const label = /-----BEGIN ([A-Z0-9 ]+)-----$/.exec(line)?.[1]
    if (label !== undefined) {
      isTruncated ||= open !== undefined
      open = { label, lines: [`-----BEGIN ${label}-----`] }
      continue
    }
    open?.lines.push(line)
    if (open === undefined || line !== `-----END ${open.label}-----`) continue
    blocks.push({ label: open.label, text: `${open.lines.join('\n')}\n` })
    open = undefined
  }
  return { blocks, isTruncated: isTruncated || open !== undefined }
}

/** One block, in lines of 64 characters. RFC 7468 §2. */
export function writePem(label: string, der: Buffer): string {
  const lines = der.toString('base64').match(/.{1,64}/g) ?? []
  return `-----BEGIN ${label}-----\n${lines.join('\n')}\n-----END ${label}-----\n`
}
