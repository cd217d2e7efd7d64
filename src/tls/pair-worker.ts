// The thread in which many pairs are read. Started by pair-readers.ts; takes and gives plain values alone.
import { parentPort } from 'node:worker_threads'
import { atOnce } from '../files/disk-access.js'
import { type PairReading, type ReadRequest, readPair } from './certificate-source.js'

/** What to read, each with a number of its own. */
export type PairBatch = readonly (readonly [index: number, request: ReadRequest])[]

/** What was read, by the same numbers. */
export type PairBatchResult = readonly (readonly [index: number, reading: PairReading])[]

parentPort?.on('message', (batch: PairBatch) => {
  void readBatch(batch).then((result) => parentPort?.postMessage(result))
})

async function readBatch(batch: PairBatch): Promise<PairBatchResult> {
  const result: [number, PairReading][] = []
  // One after the other: what is read at once gains nothing from being read side by side.
  for (const [index, request] of batch) result.push([index, await readPair(request, atOnce)])
  return result
}
