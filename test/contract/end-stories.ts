// What every pairing of wires does when one side waits, overtakes the other or leaves: the other side sees it at once.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { until, within } from '../support/deadline.js'
import type { Pairing, Stories } from './pairing.js'

const piece = Buffer.alloc(65_536, 'x')
const totalBytes = 256 * piece.length
const turnsMin = 300

/** Told of every pairing. */
export const endStories: Stories = {
  'what the endpoint says bit by bit comes bit by bit': async (pairing) => {
    let answer: ServerResponse | undefined
    pairing.listener = (_, response) => {
      answer = response
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.write('data: 1\n\n')
    }
    const exchange = pairing.request()
    await within('the first event', exchange.bodyBegun)
    answer?.end('data: 2\n\n')
    assert.equal((await within('the end', exchange.response)).body, 'data: 1\n\ndata: 2\n\n')
  },

  'an endpoint does not get ahead of a client that does not read': async (pairing) => {
    let written = 0
    let isFull = false
    pairing.listener = (_, response) => {
      const write = (): void => {
        isFull = false
        while (written < totalBytes && !isFull) {
          written += piece.length
          isFull = !response.write(piece)
        }
        if (isFull) response.once('drain', write)
        else response.end()
      }
      write()
    }
    const exchange = pairing.request({ isPaused: true })
    await until(
      'the endpoint stops',
      stands(() => isFull || written === totalBytes),
    )
    assert.ok(written < totalBytes)
    exchange.resume()
    const { body, isWhole } = await within('the end', exchange.response)
    assert.deepEqual([body.length, isWhole], [totalBytes, true])
  },

  'an answer that overtakes the upload is passed on': async (pairing) => {
    pairing.listener = (_, response) => void response.writeHead(413).end('too much')
    const exchange = pairing.request({ method: 'POST', body: ['x'.repeat(32_768)], isOpenEnded: true })
    const { status, body, isWhole } = await within('the answer', exchange.response)
    assert.deepEqual([status, body, isWhole], [413, 'too much', true])
    exchange.abandon()
    await pairing.goesOn()
  },

  'an endpoint that breaks off leaves a broken answer, never a whole one': async (pairing) => {
    let answer: ServerResponse | undefined
    pairing.listener = (_, response) => {
      answer = response
      response.write('hello')
    }
    const exchange = pairing.request()
    await within('the first byte', exchange.bodyBegun)
    answer?.destroy(new Error('the endpoint breaks'))
    assert.equal((await within('the end', exchange.response)).isWhole, false)
    assert.equal(await reasonOfLast(pairing), 'upstream_reset')
    await pairing.goesOn()
  },

  'a client that leaves before the answer ends the request at the endpoint': async (pairing) => {
    const begun = whenServed(pairing)
    const exchange = pairing.request()
    exchange.response.catch(() => undefined)
    const { response } = await within('the request', begun)
    const closed = once(response, 'close')
    exchange.abandon()
    await within('the end', closed)
    assert.equal(await reasonOfLast(pairing), 'client_gone')
    await pairing.goesOn()
  },

  'a client that breaks off in the middle of its upload leaves half a request, never a whole one': async (pairing) => {
    const begun = whenServed(pairing)
    const exchange = pairing.request({ method: 'POST', body: ['x'.repeat(32_768)], isOpenEnded: true })
    exchange.response.catch(() => undefined)
    const { request } = await within('the request', begun)
    const closed = new Promise((resolve) => request.once('close', resolve))
    request.resume()
    pairing.breakOff()
    await within('the end', closed)
    assert.ok(request.aborted)
    assert.equal(await reasonOfLast(pairing), 'client_gone')
    await pairing.goesOn()
  },

  'a client that leaves in the middle of the answer ends it at the endpoint': async (pairing) => {
    const begun = whenServed(pairing)
    const exchange = pairing.request()
    exchange.response.catch(() => undefined)
    const { response } = await within('the request', begun)
    response.write('hello')
    await within('the first byte', exchange.bodyBegun)
    const closed = once(response, 'close')
    exchange.abandon()
    await within('the end', closed)
    assert.equal(await reasonOfLast(pairing), 'client_gone')
    await pairing.goesOn()
  },
}
/** Whether a condition has held for many turns of the event loop, one after another. */
function stands(condition: () => boolean): () => boolean {
  let turns = 0
  return () => {
    turns = condition() ? turns + 1 : 0
    return turns > turnsMin
  }
}

/** The next request as the endpoint has it, which answers nothing by itself. */
function whenServed(pairing: Pairing): Promise<{ request: IncomingMessage; response: ServerResponse }> {
  return new Promise((resolve) => {
    pairing.listener = (request, response) => resolve({ request, response })
  })
}

/** The reason in the line that comes next. */
async function reasonOfLast(pairing: Pairing): Promise<string | undefined> {
  await until('the line', () => pairing.entries.at(-1)?.reason !== 'ok')
  return pairing.entries.at(-1)?.reason
}
