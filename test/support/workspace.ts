// A directory of one test: configuration, certificates and the log, written as people and their tools write them.
import { X509Certificate } from 'node:crypto'
import { mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { type CertificateOptions, makeCertificate } from './certificates.js'
import { LogFile } from './log-file.js'

/** A pair on disk, as the configuration names it, and what tells it from another. */
export interface PairOnDisk {
  readonly cert: string
  readonly key: string
  readonly fingerprint256: string
}

/** A temporary directory. Removed by whoever made it. */
export class Workspace {
  readonly directory = mkdtempSync(join(tmpdir(), 'hostward-'))
  readonly log = new LogFile(this.path('hostward.log'))
  #writes = 0

  path(name: string): string {
    return join(this.directory, name)
  }

  /** Puts a whole file in place at once, as editors do; a value is written as JSON, which is YAML. */
  write(name: string, content: string | object): void {
    const path = this.path(name)
    mkdirSync(dirname(path), { recursive: true })
    this.#writes += 1
    const fresh = join(this.directory, `.write${this.#writes}`)
    writeFileSync(fresh, typeof content === 'string' ? content : JSON.stringify(content, null, 2))
    renameSync(fresh, path)
  }

  /** Makes a certificate and puts it under NAME.pem and NAME.key. */
  async pair(name: string, options: CertificateOptions): Promise<PairOnDisk> {
    const pair = await makeCertificate(options)
    const files = { cert: this.path(`${name}.pem`), key: this.path(`${name}.key`) }
    this.write(`${name}.key`, pair.key)
    this.write(`${name}.pem`, pair.chain)
    return { ...files, fingerprint256: new X509Certificate(pair.cert).fingerprint256 }
  }

  delete(name: string): void {
    rmSync(this.path(name))
  }

  remove(): void {
    rmSync(this.directory, { recursive: true, force: true })
  }
}

/** The `certificate` of a site. */
export function filesOf({ cert, key }: PairOnDisk): { cert: string; key: string } {
  return { cert, key }
}
