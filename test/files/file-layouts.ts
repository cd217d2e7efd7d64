// The ways in which editors and certificate tools put new content behind a path. Used by the tests in this folder.
import {
  closeSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  renameSync,
  rmSync,
  symlinkSync,
  unlinkSync,
  utimesSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { join } from 'node:path'

/** One way of writers to put new content behind a path; `turn` counts from 1. */
export interface Layout {
  readonly name: string
  /** Lays out the first content and returns the path to watch. */
  readonly prepare: (directory: string) => string
  readonly renew: (directory: string, turn: number) => void
}

/** Every known way; each leaves the content `content TURN`. */
export const layouts: readonly Layout[] = [
  {
    name: 'truncated and written in place, in two steps',
    prepare: (directory) => {
      writeFileSync(join(directory, 'file'), 'content 0')
      return join(directory, 'file')
    },
    renew: (directory, turn) => {
      const file = openSync(join(directory, 'file'), 'r+')
      ftruncateSync(file)
      writeSync(file, 'content ')
      writeSync(file, `${turn}`)
      closeSync(file)
    },
  },
  {
    name: 'renamed over, as editors do',
    prepare: (directory) => {
      writeFileSync(join(directory, 'file'), 'content 0')
      return join(directory, 'file')
    },
    renew: (directory, turn) => {
      writeFileSync(join(directory, '.file.swp'), `content ${turn}`)
      renameSync(join(directory, '.file.swp'), join(directory, 'file'))
    },
  },
  {
    name: 'renamed over by a file with an older time',
    prepare: (directory) => {
      writeFileSync(join(directory, 'file'), 'content 0')
      return join(directory, 'file')
    },
    renew: (directory, turn) => {
      writeFileSync(join(directory, 'new'), `content ${turn}`)
      utimesSync(join(directory, 'new'), 1_000_000 - turn, 1_000_000 - turn)
      renameSync(join(directory, 'new'), join(directory, 'file'))
    },
  },
  {
    name: 'behind a link that is removed and made again, as certbot does',
    prepare: (directory) => {
      mkdirSync(join(directory, 'live'))
      mkdirSync(join(directory, 'archive'))
      writeFileSync(join(directory, 'archive', 'cert0.pem'), 'content 0')
      symlinkSync('../archive/cert0.pem', join(directory, 'live', 'cert.pem'))
      return join(directory, 'live', 'cert.pem')
    },
    renew: (directory, turn) => {
      writeFileSync(join(directory, 'archive', `cert${turn}.pem`), `content ${turn}`)
      unlinkSync(join(directory, 'live', 'cert.pem'))
      symlinkSync(`../archive/cert${turn}.pem`, join(directory, 'live', 'cert.pem'))
    },
  },
  {
    name: 'behind a ..data link, as Kubernetes does',
    prepare: (directory) => {
      mkdirSync(join(directory, '..0'))
      writeFileSync(join(directory, '..0', 'tls.crt'), 'content 0')
      symlinkSync('..0', join(directory, '..data'))
      symlinkSync('..data/tls.crt', join(directory, 'tls.crt'))
      return join(directory, 'tls.crt')
    },
    renew: (directory, turn) => {
      mkdirSync(join(directory, `..${turn}`))
      writeFileSync(join(directory, `..${turn}`, 'tls.crt'), `content ${turn}`)
      symlinkSync(`..${turn}`, join(directory, '..data_tmp'))
      renameSync(join(directory, '..data_tmp'), join(directory, '..data'))
      rmSync(join(directory, `..${turn - 1}`), { recursive: true })
    },
  },
  {
    name: 'in a directory that is swapped whole',
    prepare: (directory) => {
      mkdirSync(join(directory, 'certs'))
      writeFileSync(join(directory, 'certs', 'file'), 'content 0')
      return join(directory, 'certs', 'file')
    },
    renew: (directory, turn) => {
      mkdirSync(join(directory, 'fresh'))
      writeFileSync(join(directory, 'fresh', 'file'), `content ${turn}`)
      renameSync(join(directory, 'certs'), join(directory, `old${turn}`))
      renameSync(join(directory, 'fresh'), join(directory, 'certs'))
    },
  },
]
