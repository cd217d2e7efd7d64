// Run as a process of its own by dial.test.ts: uses up its file descriptors, dials an address that is there, says what
// comes of it, gives them back and dials again.
import { closeSync, openSync } from 'node:fs'
import { Dial } from '../../src/upstream/dial.js'
import { Lookups } from '../../src/upstream/resolve-lookups.js'
import { DialTarget } from '../../src/upstream/transport-target.js'

const target = new DialTarget({
  address: { kind: 'tcp', host: '127.0.0.1', port: Number(process.argv[2]), tls: false },
  protocol: 'http1',
  lookups: new Lookups(),
  observer: { isInUse: () => false, onAddresses: () => undefined, onPeerCertificate: () => undefined },
})

function dialled(): Promise<string> {
  return new Promise((resolve) => {
    const observer = {
      onConnected: ({ socket }: { socket: { destroy(): void } }) => {
        socket.destroy()
        resolve('connected')
      },
      onFailure: ({ code, detail }: { code: string; detail: string }) => resolve(`${code}: ${detail}`),
    }
    new Dial({ target, connectMs: 15_000 }, observer)
  })
}

const held: number[] = []
console.log(await dialled())
try {
  for (;;) held.push(openSync('/dev/null', 'r'))
} catch {
  console.log(await dialled())
}
for (const descriptor of held) closeSync(descriptor)
console.log(await dialled())
