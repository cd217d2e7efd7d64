// Node's own HTTP client, for many requests on few connections: to Hostward, or to a proxy that stands in front of it.
import { Agent, request } from 'node:http'
import { Agent as SecureAgent } from 'node:https'

/** One request, by its Host; the agent decides between plain and TLS. */
export interface Asked {
  readonly port: number
  readonly host: string
  readonly path: string
  readonly agent: Agent
  readonly method?: string
}

/** What came back. */
export interface Heard {
  readonly status: number
  readonly body: string
}

/** Asks and reads all of the answer. */
export function ask({ port, host, path, agent, method = 'GET' }: Asked): Promise<Heard> {
  return new Promise((resolve, reject) => {
    const headers = { host }
    const protocol = agent instanceof SecureAgent ? 'https:' : 'http:'
    const sent = request({ protocol, host: '127.0.0.1', port, path, method, headers, agent }, (response) => {
      let body = ''
      response.setEncoding('latin1').on('data', (text: string) => (body += text))
      response.on('end', () => resolve({ status: response.statusCode ?? 0, body }))
      response.on('error', reject)
    })
    sent.on('error', reject).end()
  })
}

/** Keep-alive connections, at most `maxSockets` of them; destroy it at the end. */
export function pool(maxSockets: number): Agent {
  return new Agent({ keepAlive: true, maxSockets })
}

/** The same over TLS, to a server that has to be `servername` by the word of `ca`. */
export function securePool(
  maxSockets: number,
  trust: { readonly ca: string; readonly servername: string },
): SecureAgent {
  return new SecureAgent({ keepAlive: true, maxSockets, ...trust })
}

/** Runs `work` for every item, `lanes` at a time, and gives the results in the order of the items. */
export async function inLanes<Item, Result>(
  items: readonly Item[],
  lanes: number,
  work: (item: Item) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = []
  const waiting = items.entries()
  const lane = async (): Promise<void> => {
    for (const [index, item] of waiting) results[index] = await work(item)
  }
  await Promise.all(Array.from({ length: lanes }, lane))
  return results
}
