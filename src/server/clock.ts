// Whether the clock of this machine can be right: with a wrong one every certificate looks bad. Pure; used at start and
// by certs.

/** No clock that is right shows an earlier time; moved on with releases. */
const releasedMs = Date.UTC(2026, 10, 1)

/** Why the clock cannot be right, undefined where it can. */
export function clockDoubt(nowMs: number): string | undefined {
  if (nowMs >= releasedMs) return undefined
  const [shown, released] = [nowMs, releasedMs].map((time) => new Date(time).toISOString())
  return `the clock of this machine shows ${shown}, before this program was made (${released}): set it first`
}
