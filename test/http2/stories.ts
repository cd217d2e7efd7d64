// What the stories of protocol errors share: requests that stay open, so that their streams can be spoiled.
import type { Downstream } from '../../src/wire/downstream.js'
import { type RawClient, requestFields } from '../support/http2-client.js'
import { answerHello } from './harness.js'

export type Story = readonly [story: string, code: number, send: (client: RawClient) => void | Promise<void>]

/** Requests for `/wait` are never answered. */
export function answerUnlessWaiting(downstream: Downstream): void {
  if (downstream.request.target === '/wait') return
  answerHello(downstream)
}

/** Opens stream 1 and leaves it open. */
export function wait(client: RawClient, flags: number): void {
  client.headers(1, requestFields([], 'POST', '/wait'), flags)
}

/** Opens stream 1 and has it closed by both sides. */
export async function finishStream(client: RawClient): Promise<void> {
  client.headers(1, requestFields())
  await client.answer(1)
}
