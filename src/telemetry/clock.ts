// The wall clock as log lines write it. Used by every line; formats once a millisecond, however many lines that holds.

/** Gives the time of now as ISO 8601 in UTC. */
export type TimeText = () => string

/** A clock that formats each millisecond once; `now` is milliseconds since 1970, as Date.now gives them. */
export function isoClock(now: () => number): TimeText {
  let formattedMs = Number.NaN
  let text = ''
  return () => {
    const nowMs = now()
    if (nowMs !== formattedMs) {
      formattedMs = nowMs
      text = new Date(nowMs).toISOString()
    }
    return text
  }
}
