// The last step of a log line: bytes into a file, or into a pipe that somebody may read. Used by the destination, which
// writes one chunk at a time. Nothing here may block the loop, not even a pipe that nobody reads.
import { close, constants, fstatSync, openSync, write, writeSync } from 'node:fs'
import { Socket } from 'node:net'
import type { Writable } from 'node:stream'

/** Told once how a write ended: after `written` bytes, with the error that kept the rest, or null. */
export type WriteDone = (error: Error | null, written: number) => void

/** A place to write to, one chunk at a time. */
export interface Sink {
  /** Whether a failed write is worth another try: a full disk may be emptied, a reader that left does not return. */
  readonly canRecover: boolean
  write(chunk: Buffer, done: WriteDone): void
  /** For the process's last moment, when no callback comes any more: writes what goes without waiting. */
  writeNow(chunk: Buffer): void
  close(): void
}

/** Opens a file for appending, or a named pipe that somebody reads. Throws an error that a person understands. */
export function openFileSink(path: string): Sink {
  const descriptor = openForAppending(path)
  if (!fstatSync(descriptor).isFIFO()) return fileSink(descriptor)
  return streamSink(new Socket({ fd: descriptor, readable: false, writable: true }))
}

/** Standard output, whatever it is. Never closed. */
export function standardOutputSink(): Sink {
  const { stdout } = process
  if (stdout instanceof Socket && !stdout.isTTY) return streamSink(stdout)
  return fileSink(stdout.fd)
}

const reasons: Readonly<Record<string, string>> = {
  ENOENT: 'its directory does not exist',
  ENOTDIR: 'a part of its path is not a directory',
  EISDIR: 'it is a directory',
  EACCES: 'permission denied',
  EROFS: 'the file system is read-only',
  ENXIO: 'it is a pipe that nobody reads',
}

function openForAppending(path: string): number {
  // Without O_NONBLOCK the open of a named pipe waits for its reader, and the whole process with it.
  const flags = constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT | constants.O_NONBLOCK
  try {
    return openSync(path, flags, 0o640)
  } catch (cause) {
    const { code = '', message } = cause as NodeJS.ErrnoException
    throw new Error(`the log file ${path} cannot be opened: ${reasons[code] ?? message}`, { cause })
  }
}

function fileSink(descriptor: number): Sink {
  return {
    canRecover: true,
    write: (chunk, done) => writeAll({ descriptor, chunk, offset: 0, done }),
    writeNow: (chunk) => {
      try {
        writeSync(descriptor, chunk)
      } catch {
        // The process ends, and the log is where this would have been told.
      }
    },
    close: () => {
      if (descriptor > 2) close(descriptor)
    },
  }
}

interface FileWrite {
  readonly descriptor: number
  readonly chunk: Buffer
  readonly offset: number
  readonly done: WriteDone
}

// A disk that fills up takes a part of the chunk and refuses the rest.
function writeAll({ descriptor, chunk, offset, done }: FileWrite): void {
  write(descriptor, chunk, offset, (error, written) => {
    if (error !== null) return done(error, offset)
    const end = offset + written
    if (end === chunk.length) return done(null, end)
    writeAll({ descriptor, chunk, offset: end, done })
  })
}

// Pipes go through the event loop, not through fs.write: that would park a thread on a pipe that nobody reads, and
// Node waits for its threads before it exits.
function streamSink(stream: Writable): Sink {
  // The callback of each write tells the same.
  stream.on('error', () => {})
  return {
    canRecover: false,
    write: (chunk, done) => {
      stream.write(chunk, (error) => (error ? done(error, 0) : done(null, chunk.length)))
    },
    writeNow: (chunk) => {
      stream.write(chunk)
    },
    close: () => {
      if (stream !== process.stdout) stream.destroy()
    },
  }
}
