// Reads configuration files and remembers which version of each it has read, so that the watch misses no change
// between the reading and the watching. Made for one load.
import { readdirSync, readFileSync } from 'node:fs'
import type { Files } from '../config/files.js'
import { type FileVersion, hashOf } from '../files/file-content.js'

/** The disk as one load of the configuration saw it. */
export class Disk implements Files {
  /** What was read or tried; without a hash where that failed. */
  readonly versions = new Map<string, FileVersion>()

  read(path: string): string {
    this.versions.set(path, { identity: undefined, hash: undefined })
    const bytes = readFileSync(path)
    this.#remember(path, bytes)
    return bytes.toString('utf8')
  }

  list(directory: string): readonly string[] {
    this.versions.set(directory, { identity: undefined, hash: undefined })
    const names = readdirSync(directory)
    this.#remember(directory, names.slice().sort().join('\0'))
    return names
  }

  #remember(path: string, content: Buffer | string): void {
    this.versions.set(path, { identity: undefined, hash: hashOf(content) })
  }
}
