// Reads pairs of files: a few at once here, thousands in threads of their own, because each takes half a millisecond that
// traffic would wait for. Used by the shelf of certificates.
import { availableParallelism } from 'node:os'
import { Worker } from 'node:worker_threads'
import { forEachBounded } from '../files/bounded.js'
import { type PairReading, type ReadRequest, readPair } from './certificate-source.js'
import type { PairBatch, PairBatchResult } from './pair-worker.js'

/** Fewer are read before a thread has started. */
const threadsFrom = 64
const threadsMax = 2
const batchSize = 32
const readingsAtOnce = 32

/** Reads all pairs, in no particular order; resolves to the readings in the order of the requests. Never throws. */
export async function readPairs(requests: readonly ReadRequest[]): Promise<readonly PairReading[]> {
  const readings = new Map<number, PairReading>()
  if (requests.length >= threadsFrom) await readInThreads(requests, readings)
  const indexes = [...requests.keys()].filter((index) => !readings.has(index))
  await forEachBounded(indexes, readingsAtOnce, async (index) => {
    readings.set(index, await readPair(requests[index] as ReadRequest))
  })
  return [...requests.keys()].map((index) => readings.get(index) as PairReading)
}

async function readInThreads(requests: readonly ReadRequest[], readings: Map<number, PairReading>): Promise<void> {
  const batches = batchesOf(requests)
  const threads = Math.min(threadsMax, availableParallelism(), batches.length)
  await Promise.all(Array.from({ length: threads }, () => readInThread(batches, readings)))
}

/** One thread takes batches until none is left. Where it cannot be had or dies, its batch is left to the caller. */
function readInThread(batches: PairBatch[], readings: Map<number, PairReading>): Promise<void> {
  return new Promise((resolve) => {
    const worker = new Worker(new URL('./pair-worker.js', import.meta.url))
    const next = (): void => {
      const batch = batches.shift()
      if (batch === undefined) void worker.terminate()
      else worker.postMessage(batch)
    }
    worker.on('message', (result: PairBatchResult) => {
      for (const [index, reading] of result) readings.set(index, reading)
      next()
    })
    worker.on('error', () => resolve())
    worker.on('exit', () => resolve())
    next()
  })
}

function batchesOf(requests: readonly ReadRequest[]): PairBatch[] {
  const entries = [...requests.entries()]
  const count = Math.ceil(entries.length / batchSize)
  return Array.from({ length: count }, (_, batch) => entries.slice(batch * batchSize, (batch + 1) * batchSize))
}
