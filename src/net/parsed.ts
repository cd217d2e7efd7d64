// What reading a person's words gives: the value, or why there is none. Used by the pure readers of names and
// addresses; says nothing of files and lines, which only the configuration knows.

/** A value, or the mistake as the rest of a sentence ("has no port") and a hint where one helps. */
export type Parsed<T> = { readonly value: T } | { readonly mistake: string; readonly hint?: string }
