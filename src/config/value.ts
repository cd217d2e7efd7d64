// Looking into values whose shape nobody has checked yet, so that all mistakes can be told at once. Never throws.

/** The way from the root of a file to a value: keys and indexes. */
export type Path = readonly (string | number)[]

/** A map of a configuration file. */
export type ValueMap = Readonly<Record<string, unknown>>

/** Whether a value is a map. */
export function isMap(value: unknown): value is ValueMap {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The list under a key, or an empty one where there is none. */
export function listAt(value: unknown, key: string): readonly unknown[] {
  const list = isMap(value) ? value[key] : undefined
  return Array.isArray(list) ? list : []
}

/** What a path leads to, or undefined. */
export function valueAt(root: unknown, path: Path): unknown {
  let value = root
  for (const segment of path) {
    if (Array.isArray(value)) value = value[Number(segment)]
    else value = isMap(value) && Object.hasOwn(value, segment) ? value[segment] : undefined
  }
  return value
}
