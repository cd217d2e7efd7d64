// Counts the requests that wait behind the one being answered. Used by the server connection to bound them.

const emptyLine = Buffer.from('\r\n\r\n')

/** How many heads end behind `from`, counted up to one more than `max`. */
export function countWaiting(bytes: Buffer, from: number, max: number): number {
  let count = 0
  for (let at = bytes.indexOf(emptyLine, from); at !== -1 && count <= max; at = bytes.indexOf(emptyLine, at + 4))
    count++
  return count
}
