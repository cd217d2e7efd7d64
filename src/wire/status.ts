// Reason phrases for heads that Hostward makes itself (RFC 9110 §15). What an upstream says is passed on instead.

const phrases: Readonly<Record<number, string>> = {
  101: 'Switching Protocols',
  200: 'OK',
  301: 'Moved Permanently',
  302: 'Found',
  303: 'See Other',
  307: 'Temporary Redirect',
  308: 'Permanent Redirect',
  400: 'Bad Request',
  403: 'Forbidden',
  404: 'Not Found',
  408: 'Request Timeout',
  413: 'Content Too Large',
  414: 'URI Too Long',
  417: 'Expectation Failed',
  421: 'Misdirected Request',
  431: 'Request Header Fields Too Large',
  500: 'Internal Server Error',
  501: 'Not Implemented',
  502: 'Bad Gateway',
  503: 'Service Unavailable',
  504: 'Gateway Timeout',
  505: 'HTTP Version Not Supported',
}

/** The reason phrase of a status, empty for one that has no usual phrase here. */
export function reasonPhrase(status: number): string {
  return phrases[status] ?? ''
}

/** Whether a response with this status never has a body (RFC 9110 §6.4.1). */
export function isBodiless(status: number): boolean {
  return status < 200 || status === 204 || status === 304
}
