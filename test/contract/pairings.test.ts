// The same stories over every pairing of a wire downstream with a wire upstream: what a client sends is what the endpoint gets,
// what the endpoint says is what the client gets, and an end on either side is one on the other.
import { after, before, describe, test } from 'node:test'
import { endStories } from './end-stories.js'
import { endpointWires } from './endpoint-wire.js'
import { messageStories } from './message-stories.js'
import { downstreams, Pairing } from './pairing.js'

for (const downstream of downstreams) {
  for (const endpointWire of endpointWires) {
    const { wire, over } = downstream
    describe(`${wire.name}${over === 'tls' ? ' over TLS' : ''} to ${endpointWire.name}`, () => {
      let pairing: Pairing
      before(async () => {
        pairing = await Pairing.open(downstream, endpointWire)
      })
      after(() => pairing.close())
      for (const [story, tell] of Object.entries({ ...messageStories, ...endStories })) test(story, () => tell(pairing))
    })
  }
}
