// Bodies for answers that Hostward makes itself. Texts alone: whatever a page needs must stand in it, because what is
// broken may be what would serve the rest. Used by site.ts and its check.

import { dirname, extname, resolve } from 'node:path'
import type { ErrorPageConfig } from './config.js'
import type { VhostInput } from './schema-vhost.js'
import type { Surrounding } from './taken-in.js'

const contentTypes: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.htm': 'text/html; charset=utf-8',
  '.txt': 'text/plain; charset=utf-8',
  '.json': 'application/json',
  '.xml': 'application/xml',
  '.svg': 'image/svg+xml',
}

/** What names of pages end in. */
export const pageExtensions: readonly string[] = Object.keys(contentTypes)

/** The Content-Type of a page by the end of its name; undefined where that is not known. */
export function contentTypeOf(path: string): string | undefined {
  const extension = extname(path).toLowerCase()
  return Object.hasOwn(contentTypes, extension) ? contentTypes[extension] : undefined
}

/** The pages of a valid site, whose files can be read. */
export function readErrorPages(errors: VhostInput['errors'], { file, texts }: Surrounding): readonly ErrorPageConfig[] {
  return Object.entries(errors)
    .map(([status, path]) => ({ status: Number(status), path: resolve(dirname(file), path) }))
    .sort((left, right) => left.status - right.status)
    .flatMap(({ status, path }) => {
      const read = texts.read(path)
      const contentType = contentTypeOf(path)
      return 'value' in read && contentType !== undefined ? [{ status, contentType, page: read.value }] : []
    })
}
