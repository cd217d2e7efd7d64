// The sites of the benchmark on disk: each its own file for Hostward, its own certificate for everybody.
import { execFileSync } from 'node:child_process'
import { mkdirSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Issuer } from './issue.js'

/** So many sites under a folder. */
export interface Sites {
  readonly folder: string
  readonly count: number
}

/** The host of a site. */
export function hostOf(index: number): string {
  return `site-${String(index).padStart(5, '0')}.example`
}

/** Makes the certificates of so many sites. */
export async function makeSites(folder: string, count: number): Promise<Sites> {
  for (const name of ['certs', 'bundles', 'vhosts']) mkdirSync(join(folder, name))
  const issuer = await Issuer.like(hostOf(0))
  for (let index = 0; index < count; index += 1) {
    const { certificate, key } = issuer.issue(hostOf(index))
    writeFileSync(join(folder, `certs/${index}.pem`), certificate)
    writeFileSync(join(folder, `certs/${index}.key`), key, { mode: 0o600 })
    writeFileSync(join(folder, `bundles/${hostOf(index)}.pem`), certificate + key, { mode: 0o600 })
  }
  // The first server would start beside the writing of all this.
  execFileSync('sync')
  return { folder, count }
}

/** Puts a file in place at once, as editors do. */
export function replaceFile(path: string, text: string): void {
  writeFileSync(`${path}.new`, text)
  renameSync(`${path}.new`, path)
}
