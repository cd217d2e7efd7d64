// Lets an answer of our own wait for the end of a small request, as an endpoint's answer would: a broken body is a broken
// request, and the connection behind a whole one takes the next. Used by the handler; keeps nothing of what comes.
import type { BodySink } from '../wire/body.js'
import type { Failure } from '../wire/failure.js'
import type { Answer } from './answer.js'
import type { Exchange } from './exchange.js'

/** A body of more bytes is not worth the wait: the answer overtakes it. */
const awaitedBytesMax = 64 * 1024

/** Answers once the request has come whole, or at once where it is large or waits for a word of ours (RFC 9110 §10.1.1). */
export function answerWhole(exchange: Exchange, answer: Answer): void {
  const { body, expectsContinue } = exchange.downstream.request
  if (body === undefined || expectsContinue || body.lengthBytes > awaitedBytesMax) return exchange.answer(answer)
  body.flow(new AwaitedBody(exchange, answer))
}

class AwaitedBody implements BodySink {
  readonly #exchange: Exchange
  readonly #answer: Answer
  #receivedBytes = 0

  constructor(exchange: Exchange, answer: Answer) {
    this.#exchange = exchange
    this.#answer = answer
  }

  write(chunk: Buffer): boolean {
    this.#receivedBytes += chunk.length
    if (this.#receivedBytes > awaitedBytesMax) this.end()
    return true
  }

  end(): void {
    if (!this.#exchange.isAnswered) this.#exchange.answer(this.#answer)
  }

  abort(failure: Failure): void {
    this.#exchange.fail(failure)
  }
}
