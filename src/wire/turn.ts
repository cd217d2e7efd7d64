// Collects what many small events want to send, and sends it once at the end of the turn of the event loop: one system
// call for all that one poll brought. Used by both wires; holds nothing across turns.

/** Something with bytes to send at the end of the turn. */
export interface Flushable {
  flush(): void
}

let waiting: Flushable[] = []
let spare: Flushable[] = []

/** Has `flushable.flush()` called once when the events of this turn are done; the caller sees to it that it asks once. */
export function flushAtEndOfTurn(flushable: Flushable): void {
  if (waiting.length === 0) setImmediate(flushWaiting)
  waiting.push(flushable)
}

function flushWaiting(): void {
  const flushing = waiting
  waiting = spare
  for (let index = 0; index < flushing.length; index++) (flushing[index] as Flushable).flush()
  flushing.length = 0
  spare = flushing
}
