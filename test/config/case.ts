// A configuration as one text: `-- name --` before each file, `-- name (EACCES) --` for one that cannot be read, and
// `-- outcome --` last.

import { dirname } from 'node:path'
import { formatConfigError } from '../../src/config/config-error.js'
import type { Files } from '../../src/config/files.js'
import type { LoadedConfig } from '../../src/config/load.js'

/** Where the files of every case lie. */
export const directory = '/etc/hostward'

/** A file's text, or the code of the error that reading it gives. */
export type Section = { readonly text: string } | { readonly code: string }

/** Splits a case into its files by absolute path and the expected outcome. */
export function readCase(text: string): { sections: ReadonlyMap<string, Section>; outcome: string } {
  const sections = new Map<string, Section>()
  const [, ...parts] = text.split(/^-- (.+) --\n/m)
  for (let index = 0; index < parts.length; index += 2) {
    const [, name = '', code] = /^(\S+)(?: \((\w+)\))?$/.exec(parts[index]) ?? []
    sections.set(`${directory}/${name}`, code === undefined ? { text: parts[index + 1] } : { code })
  }
  const outcome = sections.get(`${directory}/outcome`)
  sections.delete(`${directory}/outcome`)
  return { sections, outcome: outcome !== undefined && 'text' in outcome ? outcome.text : '' }
}

/** A disk that holds these files and nothing else. */
export function filesOf(sections: ReadonlyMap<string, Section>): Files {
  return {
    read: (path) => {
      const section = sections.get(path) ?? { code: 'ENOENT' }
      if ('code' in section) throw Object.assign(new Error(section.code), { code: section.code })
      return section.text
    },
    list: (folder) => {
      const names = [...sections.keys()]
        .filter((path) => dirname(path) === folder)
        .map((path) => path.slice(folder.length + 1))
      if (names.length === 0) throw Object.assign(new Error('ENOENT'), { code: 'ENOENT' })
      return names.reverse()
    },
  }
}

/** One file with this text as the whole configuration. */
export function onlyFile(text: string): Files {
  return filesOf(new Map([[`${directory}/hostward.yaml`, { text }]]))
}

/** What came of loading, as the cases write it. */
export function outcomeOf(loaded: LoadedConfig): string {
  const served = loaded.config?.vhosts.map(({ id }) => id).join(' ')
  const lines = [
    served === undefined ? 'rejected' : `serves: ${served === '' ? 'nothing' : served}`,
    ...loaded.errors.map((error) => formatConfigError(error, directory)),
    ...loaded.brokenSites.flatMap(({ file, index, hosts, errors }) => [
      `broken: ${file.slice(directory.length + 1)} ${index ?? 'as a whole'} [${hosts.join(' ')}]`,
      ...errors.map((error) => formatConfigError(error, directory)),
    ]),
  ]
  return `${lines.join('\n')}\n`
}
