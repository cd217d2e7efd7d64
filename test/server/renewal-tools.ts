// What the tools that renew certificates do to the files, step by step. Used by certificate-renewal.test.ts.
import { chmodSync, linkSync, mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import {
  archive,
  edited,
  emptiedAndWritten,
  hardLinked,
  installed,
  linkOnce,
  moveIfThere,
  overwritten,
  type Renewal,
  relinks,
  renamedOver,
  rsynced,
  type Step,
  secretSteps,
  timeKept,
  writeSideBySide,
  writtenInHalves,
} from './renewal-moves.js'

/** A way to renew a pair; the paths are what the configuration names, relative to the directory. */
export interface RenewalTool {
  readonly name: string
  readonly cert: string
  readonly key: string
  /** Whether the tool keeps the private key. */
  readonly keepsKey?: true
  readonly steps: (renewal: Renewal) => readonly Step[]
}

const sideBySide = { cert: 'site.pem', key: 'site.key' }

/** Every known way; each can also lay out the first pair. */
export const renewalTools: readonly RenewalTool[] = [
  {
    name: 'certbot: links into the archive removed and made again, the key first',
    cert: 'live/site/fullchain.pem',
    key: 'live/site/privkey.pem',
    steps: (renewal) => [() => archive(renewal), ...relinks(renewal, ['cert', 'privkey', 'chain', 'fullchain'])],
  },
  {
    name: 'certbot, the certificate first',
    cert: 'live/site/fullchain.pem',
    key: 'live/site/privkey.pem',
    steps: (renewal) => [() => archive(renewal), ...relinks(renewal, ['fullchain', 'privkey'])],
  },
  {
    name: 'certbot --reuse-key: the new key of the archive is a link to the first one',
    cert: 'live/site/fullchain.pem',
    key: 'live/site/privkey.pem',
    keepsKey: true,
    steps: (renewal) => [() => archive(renewal), ...relinks(renewal, ['cert', 'privkey', 'chain', 'fullchain'])],
  },
  {
    name: 'certbot, through a link to the live directory',
    cert: 'current/fullchain.pem',
    key: 'current/privkey.pem',
    steps: (renewal) => [
      () => archive(renewal),
      () => linkOnce('live/site', join(renewal.directory, 'current')),
      ...relinks(renewal, ['privkey', 'fullchain']),
    ],
  },
  {
    name: "a deploy hook of certbot's that calls install",
    ...sideBySide,
    steps: ({ directory, pair }) => [
      ...installed(join(directory, 'site.pem'), pair.chain),
      ...installed(join(directory, 'site.key'), pair.key),
    ],
  },
  {
    name: 'acme.sh --install-cert: written in place with cat, certificate, key, full chain',
    cert: 'fullchain.pem',
    key: 'site.key',
    steps: ({ directory, pair }) => [
      () => writeFileSync(join(directory, 'cert.pem'), pair.cert),
      ...emptiedAndWritten(join(directory, 'site.key'), pair.key),
      ...emptiedAndWritten(join(directory, 'fullchain.pem'), pair.chain),
    ],
  },
  {
    name: 'lego: written in place, the certificate first',
    cert: 'certificates/site.crt',
    key: 'certificates/site.key',
    steps: ({ directory, pair, turn }) => [
      () => mkdirSync(join(directory, 'certificates'), { recursive: true }),
      ...emptiedAndWritten(join(directory, 'certificates/site.crt'), pair.chain),
      () => writeFileSync(join(directory, 'certificates/site.issuer.crt'), pair.chain.slice(pair.cert.length)),
      ...emptiedAndWritten(join(directory, 'certificates/site.key'), pair.key),
      () => writeFileSync(join(directory, 'certificates/site.json'), JSON.stringify({ turn })),
    ],
  },
  {
    name: 'Caddy: renamed over in a directory of its own, key, certificate, metadata',
    cert: 'certificates/acme/site.example/site.example.crt',
    key: 'certificates/acme/site.example/site.example.key',
    steps: ({ directory, pair, turn }) => {
      const site = join(directory, 'certificates/acme/site.example/site.example')
      return [
        () => mkdirSync(dirname(site), { recursive: true, mode: 0o700 }),
        ...renamedOver(`${site}.key`, pair.key),
        ...renamedOver(`${site}.crt`, pair.chain),
        ...renamedOver(`${site}.json`, JSON.stringify({ turn })),
      ]
    },
  },
  {
    name: 'cert-manager: a secret whose ..data link is renamed over',
    cert: 'secret/tls.crt',
    key: 'secret/tls.key',
    steps: secretSteps,
  },
  {
    name: 'cp: emptied and written in two halves, the certificate first',
    ...sideBySide,
    steps: ({ directory, pair }) => [
      ...writtenInHalves(join(directory, 'site.pem'), pair.chain),
      ...writtenInHalves(join(directory, 'site.key'), pair.key),
    ],
  },
  {
    name: 'cp: emptied and written in two halves, the key first',
    ...sideBySide,
    steps: ({ directory, pair }) => [
      ...writtenInHalves(join(directory, 'site.key'), pair.key),
      ...writtenInHalves(join(directory, 'site.pem'), pair.chain),
    ],
  },
  {
    name: 'cp of a certificate to the same key, whose half ends within the intermediate',
    ...sideBySide,
    keepsKey: true,
    steps: ({ directory, pair }) => [
      () => writeFileSync(join(directory, 'site.key'), pair.key),
      ...writtenInHalves(join(directory, 'site.pem'), pair.chain, pair.cert.length + 200),
    ],
  },
  {
    name: 'cat of the certificate and then of its chain, to the same key',
    ...sideBySide,
    keepsKey: true,
    steps: ({ directory, pair }) => [
      () => writeFileSync(join(directory, 'site.key'), pair.key),
      ...writtenInHalves(join(directory, 'site.pem'), pair.chain, pair.cert.length),
    ],
  },
  {
    name: 'rsync: temporary files that are renamed over, by their names',
    ...sideBySide,
    steps: ({ directory, pair }) => [
      ...rsynced(join(directory, 'site.key'), pair.key),
      ...rsynced(join(directory, 'site.pem'), pair.chain),
    ],
  },
  {
    name: 'rsync --inplace: overwritten without being emptied',
    ...sideBySide,
    steps: ({ directory, pair }) => [
      ...overwritten(join(directory, 'site.key'), pair.key, [100, 150]),
      ...overwritten(join(directory, 'site.pem'), pair.chain, [200, 400]),
    ],
  },
  {
    name: 'rsync --inplace of a certificate to the same key',
    ...sideBySide,
    keepsKey: true,
    steps: ({ directory, pair }) => [
      () => writeFileSync(join(directory, 'site.key'), pair.key),
      ...overwritten(join(directory, 'site.pem'), pair.chain, [70, 200, 400]),
    ],
  },
  {
    name: 'an editor: the old file moved aside, a new one written, the backup removed',
    ...sideBySide,
    steps: ({ directory, pair }) => [
      ...edited(join(directory, 'site.pem'), pair.chain),
      ...edited(join(directory, 'site.key'), pair.key),
    ],
  },
  {
    name: 'a directory that is swapped whole',
    cert: 'certs/site.pem',
    key: 'certs/site.key',
    steps: ({ directory, pair, turn }) => [
      () => writeSideBySide(join(directory, 'fresh'), pair),
      () => moveIfThere(join(directory, 'certs'), join(directory, `old${turn}`)),
      () => renameSync(join(directory, 'fresh'), join(directory, 'certs')),
    ],
  },
  {
    name: 'a directory two levels up that is swapped whole',
    cert: 'release/etc/site.pem',
    key: 'release/etc/site.key',
    steps: ({ directory, pair, turn }) => [
      () => writeSideBySide(join(directory, 'fresh/etc'), pair),
      () => moveIfThere(join(directory, 'release'), join(directory, `old${turn}`)),
      () => renameSync(join(directory, 'fresh'), join(directory, 'release')),
    ],
  },
  {
    name: 'ln -sfn: a link to a release that is removed and made again',
    cert: 'release/site.pem',
    key: 'release/site.key',
    steps: ({ directory, pair, turn }) => [
      () => writeSideBySide(join(directory, `release${turn}`), pair),
      () => rmSync(join(directory, 'release'), { force: true }),
      () => symlinkSync(`release${turn}`, join(directory, 'release')),
    ],
  },
  {
    name: 'a directory that is removed and made again',
    cert: 'certs/site.pem',
    key: 'certs/site.key',
    steps: ({ directory, pair }) => [
      () => rmSync(join(directory, 'certs'), { recursive: true, force: true }),
      () => mkdirSync(join(directory, 'certs')),
      () => writeFileSync(join(directory, 'certs/site.pem'), pair.chain),
      () => writeFileSync(join(directory, 'certs/site.key'), pair.key),
    ],
  },
  {
    name: 'files whose permissions come last',
    ...sideBySide,
    steps: ({ directory, pair }) => [
      () => {
        writeSideBySide(directory, pair)
        chmodSync(join(directory, 'site.key'), 0)
      },
      () => chmodSync(join(directory, 'site.key'), 0o600),
    ],
  },
  {
    name: 'one file that holds both, written in two halves',
    cert: 'site.pem',
    key: 'site.pem',
    steps: ({ directory, pair }) => writtenInHalves(join(directory, 'site.pem'), pair.key + pair.chain, 150),
  },
  {
    name: 'one file that holds both, renamed over',
    cert: 'site.pem',
    key: 'site.pem',
    steps: ({ directory, pair }) => renamedOver(join(directory, 'site.pem'), pair.chain + pair.key),
  },
  {
    name: 'hard links to a store, the key first',
    ...sideBySide,
    steps: (renewal) => [
      () => writeSideBySide(join(renewal.directory, `store${renewal.turn}`), renewal.pair),
      ...hardLinked(renewal, 'site.key'),
      ...hardLinked(renewal, 'site.pem'),
    ],
  },
  {
    name: 'in place behind a hard link with another name',
    ...sideBySide,
    steps: ({ directory, pair, turn }) => {
      const store = join(directory, 'elsewhere')
      if (turn > 0) {
        return [
          ...writtenInHalves(join(store, 'site.pem'), pair.chain),
          ...writtenInHalves(join(store, 'site.key'), pair.key),
        ]
      }
      const names = ['site.pem', 'site.key']
      return [
        () => writeSideBySide(store, pair),
        ...names.map((name) => () => linkSync(join(store, name), join(directory, name))),
      ]
    },
  },
  {
    name: 'files that keep their size, inode and time, as a restored backup does',
    ...sideBySide,
    steps: ({ directory, pair }) => [
      ...timeKept(join(directory, 'site.key'), pair.key),
      ...timeKept(join(directory, 'site.pem'), pair.chain),
    ],
  },
]
