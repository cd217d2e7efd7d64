// What one connection gets is its own, whatever its neighbours do: the memory that frames are written in is shared.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { FrameType, Setting } from '../../src/http2/frames.js'
import { requestFields, uint32 } from '../support/http2-client.js'
import { ChunkSource, fieldsOf, type Handler, withServer } from './harness.js'

const chunkBytes = 50_000
const chunkCount = 400

/** A body in which every byte says which request it belongs to, and where. */
function* patterned(mark: number): Generator<Buffer> {
  for (let index = 0; index < chunkCount; index++) {
    const chunk = Buffer.alloc(chunkBytes, mark)
    chunk.writeUInt32BE(index, 0)
    yield chunk
  }
}

const answerPatterned: Handler = (downstream) => {
  const mark = Number(downstream.request.target.slice(1))
  const headers = fieldsOf(['x-mark', String(mark)])
  const isLarge = mark < 200
  const body = new ChunkSource(isLarge ? patterned(mark) : [Buffer.alloc(700, mark)])
  downstream.respond({ status: 200, reason: '', headers }, body)
}

test('a client that stops reading gets its own bytes later, however busy the others were', () =>
  withServer(async (server) => {
    const slow = await server.client([[Setting.initialWindowSize, 0x7fffffff]])
    slow.creditsWindows = false
    slow.send(FrameType.windowUpdate, 0, 0, uint32(0x7fff0000))
    slow.headers(1, requestFields([], 'GET', '/101'))
    slow.headers(3, requestFields([], 'GET', '/102'))
    await slow.frame((one) => one.type === FrameType.data, 'the first bytes')
    slow.socket.pause()
    const busy = await Promise.all(Array.from({ length: 4 }, () => server.client()))
    for (let round = 0; round < 100; round++) {
      for (const client of busy) {
        client.headers(round * 2 + 1, requestFields([], 'GET', `/${200 + (round % 50)}`))
      }
      for (const client of busy) {
        const answer = await client.answer(round * 2 + 1)
        assert.ok(answer.body.equals(Buffer.alloc(700, 200 + (round % 50))))
      }
    }
    slow.socket.resume()
    for (const [streamId, mark] of [
      [1, 101],
      [3, 102],
    ] as const) {
      const { body } = await slow.answer(streamId)
      assert.ok(body.equals(Buffer.concat([...patterned(mark)])), `stream ${streamId} got other bytes`)
    }
  }, answerPatterned))

test('a connection that dies with bytes on the way leaves its neighbours their own', () =>
  withServer(async (server) => {
    for (let round = 0; round < 20; round++) {
      const dying = await server.client([[Setting.initialWindowSize, 0x7fffffff]])
      dying.creditsWindows = false
      dying.send(FrameType.windowUpdate, 0, 0, uint32(0x7fff0000))
      dying.headers(1, requestFields([], 'GET', '/100'))
      await dying.frame((one) => one.type === FrameType.data, 'the first bytes')
      const living = await server.client()
      living.headers(1, requestFields([], 'GET', '/201'))
      dying.close()
      living.headers(3, requestFields([], 'GET', '/202'))
      assert.ok((await living.answer(1)).body.equals(Buffer.alloc(700, 201)))
      assert.ok((await living.answer(3)).body.equals(Buffer.alloc(700, 202)))
      living.close()
    }
  }, answerPatterned))
