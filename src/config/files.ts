// The disk as the configuration sees it. Handed in by the caller, so that tests and the watch decide what is there.

/** What reads the disk on our behalf; both throw errors with a `code` as Node's do. */
export interface Files {
  /** The text of a file. */
  read(path: string): string
  /** The names in a directory, in any order. */
  list(directory: string): readonly string[]
}

/** A file as it was read by a load, which follows its changes. */
export interface TextFile {
  /** Absolute. */
  readonly path: string
  readonly text: string
  /** Of the text: what differs differs here. */
  readonly hash: string
}

/** What the disk gave, or in words why it did not. */
export type DiskResult<Value> = { readonly value: Value } | { readonly reason: string }

/** The text of a file. */
export function readText(path: string, files: Files): DiskResult<string> {
  return attempt(() => files.read(path))
}

/** The names in a directory. */
export function listNames(directory: string, files: Files): DiskResult<readonly string[]> {
  return attempt(() => files.list(directory))
}

const reasons: Readonly<Record<string, string>> = {
  ENOENT: 'no such file or directory',
  EACCES: 'permission denied',
  EPERM: 'permission denied',
  EISDIR: 'it is a directory',
  ENOTDIR: 'a part of the path is not a directory',
  ELOOP: 'too many symbolic links',
}

function attempt<Value>(ask: () => Value): DiskResult<Value> {
  try {
    return { value: ask() }
  } catch (error) {
    if (!(error instanceof Error && 'code' in error)) throw error
    const code = String(error.code)
    return { reason: reasons[code] ?? code }
  }
}
