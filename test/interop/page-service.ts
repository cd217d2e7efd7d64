// The service behind a page that does all that browsers do, and says in the end how it went.
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { WebSocketServer } from 'ws'
import { portOf } from '../support/port.js'

const downBytes = 5 * 1024 * 1024
const eventCount = 3

const script = `
const text = (path, options) => fetch(path, options).then((response) => response.text())
const messages = () => new Promise((resolve, reject) => {
  const source = new EventSource('/events')
  const heard = []
  source.onerror = () => reject(new Error('the events broke off'))
  source.onmessage = async ({ data }) => {
    heard.push(data)
    if (heard.length === ${eventCount}) { source.close(); resolve(heard) }
    else await text('/heard')
  }
})
const conversation = () => new Promise((resolve, reject) => {
  const socket = new WebSocket('wss://' + location.host + '/socket', ['chat'])
  const heard = []
  socket.binaryType = 'arraybuffer'
  socket.onerror = () => reject(new Error('the socket broke off'))
  socket.onopen = () => { socket.send('hello'); socket.send(new Uint8Array(100000).fill(7)) }
  socket.onmessage = ({ data }) => {
    heard.push(typeof data === 'string' ? data : data.byteLength)
    if (heard.length === 2) socket.close(4000, 'enough')
  }
  socket.onclose = ({ code, reason }) => resolve([socket.protocol, ...heard, code, reason])
})
const abortion = async () => {
  const abort = new AbortController()
  const outcome = text('/endless', { signal: abort.signal }).catch(({ name }) => name)
  await text('/endless/begun')
  abort.abort()
  return [await outcome, await text('/endless/ended')]
}
const tell = async () => {
  const numbers = Array.from({ length: 50 }, (_, index) => index)
  const fifty = await Promise.all(numbers.map((number) => text('/number/' + number)))
  return {
    fifty: fifty.every((answer, index) => answer === String(index)),
    up: await text('/up', { method: 'POST', body: new Uint8Array(1024 * 1024).fill(7) }),
    down: (await (await fetch('/down')).arrayBuffer()).byteLength,
    events: await messages(),
    socket: await conversation(),
    abort: await abortion(),
  }
}
tell().catch((error) => ({ error: String(error) })).then((result) => text('/result', { method: 'POST', body: JSON.stringify(result) }))
`

/** What the page says where all is well. */
export const wellDone = {
  fifty: true,
  up: createHash('sha256')
    .update(Buffer.alloc(1024 * 1024, 7))
    .digest('hex'),
  down: downBytes,
  events: ['1', '2', '3'],
  socket: ['chat', 'hello', 100_000, 4000, 'enough'],
  abort: ['AbortError', 'ended'],
}

/** The service; close it at the end. */
export class PageService {
  /** What the page says of itself. */
  readonly result: Promise<unknown>
  readonly #server: Server
  readonly #sockets = new WebSocketServer({ noServer: true })
  #tellResult: (result: unknown) => void = () => undefined
  #events: ServerResponse | undefined
  #eventsSaid = 0
  readonly #endless = { begun: new Mark(), ended: new Mark() }

  constructor() {
    this.result = new Promise((resolve) => {
      this.#tellResult = resolve
    })
    this.#server = createServer((request, response) => void this.#serve(request, response))
    this.#server.on('upgrade', (request, socket, head) =>
      this.#sockets.handleUpgrade(request, socket, head, (one) => {
        one.on('message', (data, isBinary) => one.send(data, { binary: isBinary }))
      }),
    )
  }

  async open(): Promise<this> {
    // A test that fails before it can close must end all the same.
    await once(this.#server.unref().listen(0, '127.0.0.1'), 'listening')
    return this
  }

  get url(): string {
    return `http://127.0.0.1:${portOf(this.#server)}`
  }

  close(): void {
    for (const socket of this.#sockets.clients) socket.terminate()
    this.#server.closeAllConnections()
    this.#server.close()
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<unknown> {
    const path = request.url ?? ''
    if (path === '/') return response.setHeader('content-type', 'text/html').end(`<script>${script}</script>`)
    if (path.startsWith('/number/')) return response.end(path.slice('/number/'.length))
    if (path === '/up')
      return response.end(
        createHash('sha256')
          .update(await bodyOf(request))
          .digest('hex'),
      )
    if (path === '/down') return response.end(Buffer.alloc(downBytes))
    if (path === '/events') return this.#beginEvents(response)
    if (path === '/heard') return response.end(this.#sayEvent())
    if (path === '/endless') return this.#begin(response)
    if (path === '/endless/begun') return response.end(await this.#endless.begun.reached)
    if (path === '/endless/ended') return response.end(await this.#endless.ended.reached)
    if (path === '/result') this.#tellResult(JSON.parse(String(await bodyOf(request))))
    return response.end()
  }

  #beginEvents(response: ServerResponse): void {
    this.#events = response.setHeader('content-type', 'text/event-stream')
    this.#sayEvent()
  }

  #sayEvent(): void {
    this.#events?.write(`data: ${++this.#eventsSaid}\n\n`)
  }

  #begin(response: ServerResponse): void {
    response.write('begun')
    response.on('close', () => this.#endless.ended.reach('ended'))
    this.#endless.begun.reach('begun')
  }
}

/** Something that happens once. */
class Mark {
  reach: (word: string) => void = () => undefined
  readonly reached = new Promise<string>((resolve) => {
    this.reach = resolve
  })
}

async function bodyOf(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks)
}
