// The heads and bodies that travel in the benchmark: a browser's request as a CDN passes it on, about 1 KB, and the
// response of a usual framework, about 0.5 KB.

/** The one site of the benchmark. */
export const siteName = 'site-a.example.com'

/** What is asked for: a page, or a body of some size. */
export type Payload = 'page' | '64KiB' | '1MiB'

/** Bytes of each payload's body. */
export const payloadBytes: Readonly<Record<Payload, number>> = {
  page: 700,
  '64KiB': 64 * 1024,
  '1MiB': 1024 * 1024,
}

/** The target of a request for one payload; its first letter is enough to tell them apart. */
export function targetOf(payload: Payload): string {
  return `/${payload}/products/2871-blue-kettle?utm_source=newsletter&utm_campaign=autumn`
}

/** The request's header lines but Host. */
export const requestHeaders: readonly string[] = [
  'sec-ch-ua: "Chromium";v="140", "Not=A?Brand";v="24", "Google Chrome";v="140"',
  'sec-ch-ua-mobile: ?0',
  'sec-ch-ua-platform: "Windows"',
  'upgrade-insecure-requests: 1',
  'user-agent: Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36',
  'accept: text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8',
  'sec-fetch-site: same-origin',
  'sec-fetch-mode: navigate',
  'sec-fetch-user: ?1',
  'sec-fetch-dest: document',
  `referer: https://${siteName}/products/?page=2`,
  'accept-encoding: gzip, br',
  'accept-language: de-DE,de;q=0.9,en;q=0.8',
  'cookie: session=9f86d081884c7d659a2feaa0c55ad015a3bf4f1b; theme=dark; consent=analytics-0.marketing-0.needed-1',
  'cf-ray: 8c2f7a1b3d4e5f60-FRA',
  'cf-connecting-ip: 203.0.113.77',
  'cf-ipcountry: DE',
  'cf-visitor: {"scheme":"https"}',
  'cdn-loop: cloudflare; loops=1',
  'x-forwarded-for: 203.0.113.77',
  'x-forwarded-proto: https',
]

/** One whole response, head and body. */
export function responseOf(payload: Payload): Buffer {
  const head = [
    'HTTP/1.1 200 OK',
    'Date: Tue, 03 Feb 2026 04:05:06 GMT',
    'Content-Type: text/html; charset=utf-8',
    `Content-Length: ${payloadBytes[payload]}`,
    'Cache-Control: public, max-age=0, s-maxage=300, stale-while-revalidate=60',
    'ETag: W/"2bc-9Xk2Qm1c7n0YtqfZr3vG5w8LdBE"',
    'Vary: Accept-Encoding, Accept-Language',
    'Strict-Transport-Security: max-age=31536000; includeSubDomains',
    'X-Content-Type-Options: nosniff',
    'Referrer-Policy: strict-origin-when-cross-origin',
    'Set-Cookie: visit=1770091506; Path=/; Max-Age=86400; Secure; HttpOnly; SameSite=Lax',
    'Connection: keep-alive',
    '',
    '',
  ]
  return Buffer.concat([Buffer.from(head.join('\r\n')), Buffer.alloc(payloadBytes[payload], 'hostward ')])
}
