// Numbers with their nouns. Pure.

/** `1 site`, `2 sites`. */
export function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`
}
