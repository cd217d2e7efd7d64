// The value of a Date header, made once a second. Used wherever a head is written.

let second = 0
let text = ''

/** Now as an IMF-fixdate (RFC 9110 §5.6.7). */
export function httpDate(): string {
  const now = Math.floor(Date.now() / 1000)
  if (now !== second) {
    second = now
    text = new Date(now * 1000).toUTCString()
  }
  return text
}
