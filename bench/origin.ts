// The origin of the benchmark, a program of its own: answers each request head with fixed bytes, as cheaply as Node can,
// so that it is not what is measured. Tells its parent its port, and on `count` how many requests it has answered.
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { type Payload, payloadBytes, responseOf, targetOf } from './heads.js'

const responses = new Map<number, Buffer>()
for (const payload of Object.keys(payloadBytes) as Payload[]) {
  responses.set(targetOf(payload).charCodeAt(1), responseOf(payload))
}

const endOfHead = '\r\n\r\n'
const targetStart = 'GET /'.length
let answered = 0

const server = createServer({ noDelay: true }, (socket) => {
  let rest: Buffer = Buffer.alloc(0)
  socket.on('data', (chunk) => {
    rest = answer(socket, rest.length === 0 ? chunk : Buffer.concat([rest, chunk]))
  })
  // The server under test may drop its idle connections as it likes.
  socket.on('error', () => socket.destroy())
})

server.listen(0, '127.0.0.1', 4096, () => process.send?.((server.address() as AddressInfo).port))
process.on('message', () => process.send?.(answered))

/** Answers every whole head in the bytes and returns what is left. */
function answer(socket: Socket, bytes: Buffer): Buffer {
  let start = 0
  for (let end = bytes.indexOf(endOfHead); end !== -1; end = bytes.indexOf(endOfHead, start)) {
    const response = responses.get(bytes[start + targetStart])
    if (response === undefined) throw new Error(`an unknown request: ${bytes.toString('latin1', start, start + 80)}`)
    socket.write(response)
    answered += 1
    start = end + endOfHead.length
  }
  return start === bytes.length ? Buffer.alloc(0) : bytes.subarray(start)
}
