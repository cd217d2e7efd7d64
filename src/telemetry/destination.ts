// A bounded queue of log lines before a sink that may be slow, full or gone. Used by the log, as pino's stream too.
// Never blocks the loop and never grows past its bound: lines that find no room are dropped and counted.
import type { Sink } from './sink.js'

/** The queue's bound; one more line may stand above it. A busy access log writes this in a second. */
const queuedBytesMax = 8 * 1024 * 1024

/** Lines are gathered into chunks of this size, each written at once. */
const chunkBytes = 64 * 1024

/** A smaller chunk waits this long for company: one write per line costs more than the line (10 µs against 1 µs). */
const flushDelayMs = 20

/** After a full disk the rest of a chunk is tried again this often. */
const retryDelayMs = 500

/** What a destination needs to be opened. */
export interface DestinationOptions {
  /** Opens the sink; again on every reopen. Throws where that is not possible. */
  readonly open: () => Sink
  /** Told how many lines were dropped, once there is room again; may write. */
  readonly onFlowing: (droppedCount: number) => void
}

/** `full` until half the queue is written; `ended` after a close, and without a reader until a reopen. */
type Intake = 'open' | 'full' | 'ended'

/** The queue and its sink. Opened by the constructor, to be closed by whoever made it. */
export class LogDestination {
  readonly #options: DestinationOptions
  #sink: Sink
  #replacement: Sink | null = null
  #chunks: Buffer[] = []
  #tail: Buffer | null = null
  #tailLength = 0
  #queuedBytes = 0
  #unwritten: Buffer | null = null
  #isWriting = false
  #intake: Intake = 'open'
  #droppedCount = 0
  #flushTimer: NodeJS.Timeout | null = null
  #retryTimer: NodeJS.Timeout | null = null
  #emptyWaiters: (() => void)[] = []

  constructor(options: DestinationOptions) {
    this.#options = options
    this.#sink = options.open()
    process.on('exit', this.#writeRest)
  }

  /** Queues one line, which ends in a line feed, or drops it. */
  write(line: string): void {
    const bytes = Buffer.from(line)
    this.writeBytes(bytes, bytes.length)
  }

  /** Queues a copy of the first `length` bytes, one line, or drops it. */
  writeBytes(line: Buffer, length: number): void {
    if (this.#intake === 'open' && this.#queuedBytes > queuedBytesMax) this.#intake = 'full'
    if (this.#intake !== 'open') {
      this.#droppedCount += 1
      return
    }
    this.#append(line, length)
    if (this.#chunks.length > 0) this.#writeNext()
    else this.#flushTimer ??= setTimeout(this.#writeNext, flushDelayMs).unref()
  }

  /** Opens the file anew under its name, for log rotation; throws and keeps the old one where that fails. */
  reopen(): void {
    const sink = this.#options.open()
    this.#replacement?.close()
    this.#replacement = sink
    if (this.#isWriting) return
    this.#useReplacement()
    this.#writeNext()
  }

  /** Resolves when everything queued is written, or after `deadlineMs`, whichever is first. */
  async flush(deadlineMs: number): Promise<void> {
    this.#writeNext()
    if (this.#isEmpty()) return
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, deadlineMs)
      this.#emptyWaiters.push(() => {
        clearTimeout(timer)
        resolve()
      })
    })
  }

  /** Flushes within `deadlineMs` and lets go of the file; what is left and what comes later is dropped. */
  async close(deadlineMs: number): Promise<void> {
    await this.flush(deadlineMs)
    process.off('exit', this.#writeRest)
    this.#replacement?.close()
    this.#discard()
    // A thread that still writes must not find another file under this number; #onWritten closes it then.
    if (!this.#isWriting) this.#sink.close()
  }

  readonly #writeNext = (): void => {
    if (this.#isWriting || this.#retryTimer !== null) return
    this.#stopTimers()
    this.#unwritten ??= this.#takeChunk()
    if (this.#unwritten === null) return
    this.#isWriting = true
    this.#sink.write(this.#unwritten, this.#onWritten)
  }

  readonly #onWritten = (error: Error | null, written: number): void => {
    this.#isWriting = false
    if (this.#unwritten === null) {
      this.#sink.close()
      return
    }
    this.#unwritten = error === null ? null : this.#unwritten.subarray(written)
    if (this.#replacement !== null) this.#useReplacement()
    else if (error !== null) {
      this.#onRefused()
      return
    }
    if (this.#intake === 'full' && this.#queuedBytes <= queuedBytesMax / 2) this.#resume()
    this.#writeNext()
    if (this.#isEmpty()) this.#announceEmpty()
  }

  #onRefused(): void {
    if (this.#sink.canRecover) this.#retryTimer = setTimeout(this.#retry, retryDelayMs).unref()
    else this.#discard()
  }

  readonly #retry = (): void => {
    this.#retryTimer = null
    this.#writeNext()
  }

  #useReplacement(): void {
    if (this.#replacement === null) return
    this.#sink.close()
    this.#sink = this.#replacement
    this.#replacement = null
    this.#stopTimers()
    if (this.#intake === 'ended') this.#resume()
  }

  #resume(): void {
    const count = this.#droppedCount
    this.#intake = 'open'
    this.#droppedCount = 0
    this.#options.onFlowing(count)
  }

  /** Gives up what is queued; nothing is taken in until a reopen. */
  #discard(): void {
    this.#stopTimers()
    this.#intake = 'ended'
    this.#endChunk()
    for (const chunk of this.#chunks) this.#droppedCount += lineCount(chunk)
    if (this.#unwritten !== null) this.#droppedCount += lineCount(this.#unwritten)
    this.#chunks = []
    this.#queuedBytes = 0
    this.#unwritten = null
    this.#announceEmpty()
  }

  #append(line: Buffer, length: number): void {
    if (this.#tail === null || this.#tailLength + length > this.#tail.length) {
      this.#endChunk()
      this.#tail = Buffer.allocUnsafeSlow(Math.max(chunkBytes, length))
    }
    line.copy(this.#tail, this.#tailLength, 0, length)
    this.#tailLength += length
    this.#queuedBytes += length
  }

  #endChunk(): void {
    if (this.#tail !== null) this.#chunks.push(this.#tail.subarray(0, this.#tailLength))
    this.#tail = null
    this.#tailLength = 0
  }

  #takeChunk(): Buffer | null {
    if (this.#chunks.length === 0) this.#endChunk()
    const chunk = this.#chunks.shift() ?? null
    if (chunk !== null) this.#queuedBytes -= chunk.length
    return chunk
  }

  #isEmpty(): boolean {
    return this.#queuedBytes === 0 && this.#unwritten === null
  }

  #announceEmpty(): void {
    for (const resolve of this.#emptyWaiters) resolve()
    this.#emptyWaiters = []
  }

  #stopTimers(): void {
    if (this.#flushTimer !== null) clearTimeout(this.#flushTimer)
    if (this.#retryTimer !== null) clearTimeout(this.#retryTimer)
    this.#flushTimer = null
    this.#retryTimer = null
  }

  // A process that ends without close, by a crash or process.exit, still tells its last lines.
  readonly #writeRest = (): void => {
    if (!this.#isWriting && this.#unwritten !== null) this.#sink.writeNow(this.#unwritten)
    this.#endChunk()
    for (const chunk of this.#chunks) this.#sink.writeNow(chunk)
  }
}

function lineCount(chunk: Buffer): number {
  let count = 0
  for (let at = chunk.indexOf(lineFeed); at !== -1; at = chunk.indexOf(lineFeed, at + 1)) count += 1
  return count
}

const lineFeed = 0x0a
