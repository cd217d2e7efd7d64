// A secret as Kubernetes mounts it: both files are links through `..data`, which is swapped for the next version at once.
import { mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { PairFiles } from '../../src/tls/certificate-source.js'
import type { CertificatePair } from '../support/certificates.js'

/** Links both files of a pair to whatever version comes. */
export function mountSecret(directory: string): PairFiles {
  for (const name of ['tls.crt', 'tls.key']) symlinkSync(`..data/${name}`, join(directory, name))
  return { cert: join(directory, 'tls.crt'), key: join(directory, 'tls.key') }
}

/** Swaps the data for another version. */
export function swapData(directory: string, name: string, pair: CertificatePair): void {
  mkdirSync(join(directory, name))
  writeFileSync(join(directory, name, 'tls.crt'), pair.chain)
  writeFileSync(join(directory, name, 'tls.key'), pair.key)
  symlinkSync(name, join(directory, '..data_tmp'))
  renameSync(join(directory, '..data_tmp'), join(directory, '..data'))
}

/** How a secret is swapped. */
export interface Swapping {
  readonly directory: string
  readonly pairs: readonly CertificatePair[]
  readonly everyMs: number
  /** How many versions stay, so that a reader that mixes them finds both halves of its wrong pair. */
  readonly kept: number
}

/** Swaps the data for each of the pairs in turn while `read` is at work; it can ask how often that has been. */
export async function whileSwapping(
  { directory, pairs, everyMs, kept }: Swapping,
  read: (swaps: () => number) => Promise<void>,
): Promise<void> {
  let number = 0
  const writer = setInterval(() => {
    number += 1
    swapData(directory, `..${number}`, pairs[number % pairs.length] as CertificatePair)
    rmSync(join(directory, `..${number - kept}`), { recursive: true, force: true })
  }, everyMs)
  try {
    await read(() => number)
  } finally {
    clearInterval(writer)
  }
}
