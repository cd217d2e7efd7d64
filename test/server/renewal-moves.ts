// The moves that renewal tools are made of, on a real disk. Used by renewal-tools.ts.
import {
  appendFileSync,
  chmodSync,
  closeSync,
  existsSync,
  ftruncateSync,
  linkSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import type { CertificatePair } from '../support/certificates.js'

/** One renewal: the new pair, where the tool works, and the how-manieth it is; 0 is the first issue. */
export interface Renewal {
  readonly directory: string
  readonly pair: CertificatePair
  readonly turn: number
}

/** One thing that a tool does to the disk; anything may happen between two of them. */
export type Step = () => void

/** certbot's archive: each generation has a number of its own. */
export function archive({ directory, pair, turn }: Renewal): void {
  const store = join(directory, 'archive/site')
  mkdirSync(store, { recursive: true, mode: 0o700 })
  mkdirSync(join(directory, 'live/site'), { recursive: true, mode: 0o700 })
  const number = turn + 1
  writeFileSync(join(store, `cert${number}.pem`), pair.cert)
  writeKeyOrLink(store, { number, key: pair.key })
  writeFileSync(join(store, `chain${number}.pem`), pair.chain.slice(pair.cert.length))
  writeFileSync(join(store, `fullchain${number}.pem`), pair.chain)
}

function writeKeyOrLink(store: string, { number, key }: { readonly number: number; readonly key: string }): void {
  const path = join(store, `privkey${number}.pem`)
  const isKept = number > 1 && readFileSync(join(store, 'privkey1.pem'), 'latin1') === key
  if (!isKept) writeFileSync(path, key, { mode: 0o600 })
  else symlinkSync('privkey1.pem', path)
}

/** certbot's links in `live`, removed and made again one by one. */
export function relinks({ directory, turn }: Renewal, names: readonly string[]): Step[] {
  return names.flatMap((name) => {
    const link = join(directory, `live/site/${name}.pem`)
    return [() => rmSync(link, { force: true }), () => symlinkSync(`../../archive/site/${name}${turn + 1}.pem`, link)]
  })
}

/** A secret of Kubernetes: a directory each, and a link that is renamed over. */
export function secretSteps({ directory, pair, turn }: Renewal): Step[] {
  const secret = join(directory, 'secret')
  const write = (): void => {
    mkdirSync(join(secret, `..${turn}`), { recursive: true })
    writeFileSync(join(secret, `..${turn}/tls.key`), pair.key)
    writeFileSync(join(secret, `..${turn}/tls.crt`), pair.chain)
  }
  const swap = (): void => {
    symlinkSync(`..${turn}`, join(secret, '..data_tmp'))
    renameSync(join(secret, '..data_tmp'), join(secret, '..data'))
  }
  const links = ['tls.crt', 'tls.key'].map((name) => () => linkOnce(`..data/${name}`, join(secret, name)))
  return [write, swap, ...links, () => rmSync(join(secret, `..${turn - 1}`), { recursive: true, force: true })]
}

/** install(1): the old file is removed, a new one filled. */
export function installed(path: string, content: string): Step[] {
  return [
    () => rmSync(path, { force: true }),
    () => writeFileSync(path, '', { mode: 0o600 }),
    () => appendFileSync(path, content),
    () => chmodSync(path, 0o640),
  ]
}

/** A shell's `>`. */
export function emptiedAndWritten(path: string, content: string): Step[] {
  return [() => writeFileSync(path, '', { mode: 0o600 }), () => appendFileSync(path, content)]
}

/** cp(1), caught in the middle. */
export function writtenInHalves(path: string, content: string, cut = Math.floor(content.length / 3)): Step[] {
  return [() => writeFileSync(path, content.slice(0, cut)), () => appendFileSync(path, content.slice(cut))]
}

/** A temporary file beside it. */
export function renamedOver(path: string, content: string): Step[] {
  return [() => writeFileSync(`${path}.tmp`, content), () => renameSync(`${path}.tmp`, path)]
}

/** The temporary file of rsync. */
export function rsynced(path: string, content: string): Step[] {
  const temporary = join(dirname(path), `.${path.slice(dirname(path).length + 1)}.Xq3v9z`)
  return [
    () => writeFileSync(temporary, content.slice(0, 100)),
    () => appendFileSync(temporary, content.slice(100)),
    () => renameSync(temporary, path),
  ]
}

/** Writes over what is there piece by piece; what is left of a longer file goes last. */
export function overwritten(path: string, content: string, cuts: readonly number[]): Step[] {
  const starts = [0, ...cuts]
  const pieces = starts.map((start, index) => () => {
    writeAt(path, { start, text: content.slice(start, starts[index + 1]) })
  })
  return [
    ...pieces,
    () => {
      const file = openSync(path, 'r+')
      ftruncateSync(file, content.length)
      closeSync(file)
    },
  ]
}

function writeAt(path: string, { start, text }: { readonly start: number; readonly text: string }): void {
  const file = openSync(path, existsSync(path) ? 'r+' : 'w')
  writeSync(file, text, start)
  closeSync(file)
}

/** vim's: moved aside, written, backup removed. */
export function edited(path: string, content: string): Step[] {
  return [
    () => moveIfThere(path, `${path}~`),
    () => writeFileSync(path, content.slice(0, 50)),
    () => appendFileSync(path, content.slice(50)),
    () => rmSync(`${path}~`, { force: true }),
  ]
}

/** A hard link to a store, renamed over. */
export function hardLinked({ directory, turn }: Renewal, name: string): Step[] {
  const fresh = join(directory, `${name}.fresh`)
  return [() => linkSync(join(directory, `store${turn}`, name), fresh), () => renameSync(fresh, join(directory, name))]
}

/** Written over, the time put back. */
export function timeKept(path: string, content: string): Step[] {
  return [
    () => {
      const before = statSync(path, { throwIfNoEntry: false })
      writeAt(path, { start: 0, text: content })
      if (before !== undefined) utimesSync(path, before.atimeMs / 1_000, before.mtimeMs / 1_000)
    },
  ]
}

/** Both files, at once. */
export function writeSideBySide(directory: string, pair: CertificatePair): void {
  mkdirSync(directory, { recursive: true })
  writeFileSync(join(directory, 'site.pem'), pair.chain)
  writeFileSync(join(directory, 'site.key'), pair.key)
}

/** mv(1). */
export function moveIfThere(from: string, to: string): void {
  if (existsSync(from)) renameSync(from, to)
}

/** ln -s, on the first issue. */
export function linkOnce(target: string, path: string): void {
  if (!existsSync(path)) symlinkSync(target, path)
}
