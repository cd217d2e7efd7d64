// Retries on another endpoint: where nothing can be executed twice, for as long as the upstream's budget lasts.
import assert from 'node:assert/strict'
import { afterEach, beforeEach, describe, test } from 'node:test'
import { defaultRetryBounds, isIdempotent, RetryBudget, type RetryCause } from '../../src/http/retry.js'
import { until } from '../support/deadline.js'
import { freePort } from '../support/free-port.js'
import { forwardToAll, Gateway } from '../support/gateway.js'
import { RawClient } from '../support/raw-client.js'
import { ReadingUpstream } from '../support/reading-upstream.js'
import { response, ScriptedUpstream } from '../support/scripted-upstream.js'

const get = 'GET / HTTP/1.1\r\nHost: a.example\r\n\r\n'
const post = 'POST / HTTP/1.1\r\nHost: a.example\r\nContent-Length: 5\r\n\r\nhello'
/** A body that nobody keeps. */
const streamedBytes = 1024 * 1024

describe('a request whose endpoint fails', () => {
  let failing: ScriptedUpstream
  let sound: ReadingUpstream
  let gateway: Gateway
  let client: RawClient

  beforeEach(async () => {
    failing = await new ScriptedUpstream(() => undefined).open()
    sound = await new ReadingUpstream(() => response('sound')).open()
  })
  afterEach(async () => {
    client.destroy()
    await gateway.close()
    await failing.close()
    await sound.close()
  })

  async function open(more: Parameters<typeof forwardToAll>[1] = {}, first = failing.port): Promise<void> {
    gateway = await new Gateway({ sites: { 'a.example': forwardToAll([first, sound.port], more) } }).open()
    client = await RawClient.connect(gateway.port)
  }

  async function ask(bytes: string): Promise<number> {
    const count = client.answers.length + 1
    client.send(bytes)
    await until('an answer', () => client.answers.length === count)
    return client.statuses.at(-1) ?? 0
  }

  function labelOf({ port }: { port: number }): string {
    return `http://127.0.0.1:${port}`
  }

  for (const [what, bytes] of Object.entries({
    'a GET': get,
    'a POST with a small body': post,
    'a POST with a large body': `POST / HTTP/1.1\r\nHost: a.example\r\nContent-Length: ${streamedBytes}\r\n\r\n${'x'.repeat(streamedBytes)}`,
    'a POST in chunks': `POST / HTTP/1.1\r\nHost: a.example\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n`,
  })) {
    test(`by refusing the connection goes to another one, and is executed once: ${what}`, async () => {
      const port = await freePort()
      await open({}, port)
      assert.equal(await ask(bytes), 200)
      assert.equal(sound.requests.length, 1)
      assert.equal(
        sound.requests[0]?.body,
        bytes.includes('hello') ? 'hello' : bytes.slice(bytes.indexOf('\r\n\r\n') + 4),
      )
      const [{ reason, upstream, failedAttempts } = { reason: '', upstream: '', failedAttempts: [] }] = gateway.entries
      assert.deepEqual([reason, upstream], ['ok', labelOf(sound)])
      assert.deepEqual(failedAttempts, [`${labelOf({ port })} upstream_unreachable`])
    })
  }

  for (const [how, die] of Object.entries({
    'its end': ({ socket }: ScriptedUpstream['connections'][number]) => socket.end(),
    'a reset': ({ socket }: ScriptedUpstream['connections'][number]) => socket.resetAndDestroy(),
  })) {
    test(`by ${how} after the request was sent goes to another one when it is a GET`, async () => {
      failing.script = die
      await open()
      assert.equal(await ask(get), 200)
      assert.equal(failing.connections.length, 1)
      assert.deepEqual(gateway.entries[0]?.failedAttempts, [`${labelOf(failing)} upstream_reset`])
    })

    for (const [what, bytes] of Object.entries({ 'a POST': post, 'a PATCH': post.replace('POST', 'PATCH') })) {
      test(`by ${how} after the request was sent is never sent again when it is ${what}`, async () => {
        failing.script = die
        await open()
        assert.equal(await ask(bytes), 502)
        assert.deepEqual([failing.connections.length, sound.requests.length], [1, 0])
        assert.equal(gateway.entries[0]?.failedAttempts, undefined)
      })
    }
  }

  test('after an informational answer reached the client is not sent again', async () => {
    failing.script = ({ socket }) => socket.write('HTTP/1.1 103 Early Hints\r\n\r\n', () => socket.resetAndDestroy())
    await open()
    client.send(get)
    await client.receives(/ 103 [\s\S]* 502 [\s\S]*upstream_reset/)
    assert.equal(sound.requests.length, 0)
  })

  test('after its answer began is not sent again', async () => {
    failing.script = ({ socket }) => socket.end('HTTP/1.1 2')
    await open()
    assert.equal(await ask(get), 502)
    assert.equal(sound.requests.length, 0)
  })

  test('while a large body was on its way is not sent again, since nobody has the body any more', async () => {
    failing.script = ({ socket }) => socket.resetAndDestroy()
    await open()
    client.send(`PUT / HTTP/1.1\r\nHost: a.example\r\nContent-Length: ${streamedBytes}\r\n\r\n${'x'.repeat(100_000)}`)
    await client.receives(/ 502 [\s\S]*upstream_reset/)
    assert.equal(sound.requests.length, 0)
  })

  test('is not sent again where its upstream does not retry for that', async () => {
    await open({ retries: { causes: new Set<RetryCause>(['reset', 503]) } }, await freePort())
    assert.equal(await ask(get), 502)
    assert.equal(sound.requests.length, 0)
  })

  for (const status of [502, 503, 504]) {
    test(`with ${status} gets the answer of another one when it is a GET, and its own when it is a POST`, async () => {
      failing.script = ({ socket }) => socket.write(`HTTP/1.1 ${status} Bad\r\nContent-Length: 3\r\n\r\nbad`)
      await open()
      assert.equal(await ask(post), status)
      assert.match(client.received, /bad$/)
      assert.equal(await ask(get), 200)
      assert.deepEqual(gateway.entries.at(-1)?.failedAttempts, [`${labelOf(failing)} ${status}`])
      assert.equal(await ask(post), status)
      assert.equal(sound.requests.length, 1)
    })
  }

  test('on a connection that had been good, and then on none, goes to another endpoint', async () => {
    failing.script = ({ socket }) => socket.write(response('once'))
    await open()
    assert.equal(await ask(get), 200)
    failing.script = ({ socket }) => socket.resetAndDestroy()
    failing.refuse()
    assert.equal(await ask(get), 200)
    assert.equal(sound.requests.length, 1)
    const label = labelOf({ port: failing.port })
    assert.deepEqual(gateway.entries[1]?.failedAttempts, [`${label} upstream_reset`, `${label} upstream_unreachable`])
  })

  test('with 503 gets that answer where all endpoints say so', async () => {
    const bad = 'HTTP/1.1 503 Bad\r\nContent-Length: 3\r\n\r\nbad'
    failing.script = ({ socket }) => socket.write(bad)
    gateway = await new Gateway({ sites: { 'a.example': forwardToAll([failing.port]) } }).open()
    client = await RawClient.connect(gateway.port)
    assert.equal(await ask(get), 503)
    assert.match(client.received, /bad$/)
    assert.equal(gateway.entries[0]?.failedAttempts, undefined)
  })

  test('with a status that is not listed gets that answer', async () => {
    failing.script = ({ socket }) => socket.write('HTTP/1.1 500 Bad\r\nContent-Length: 3\r\n\r\nbad')
    await open()
    assert.equal(await ask(get), 500)
  })

  for (const [attemptsMax, status] of [
    [2, 502],
    [3, 200],
  ] as const) {
    test(`is ${status} behind two that refuse, where ${attemptsMax} attempts are allowed`, async () => {
      const ports = [await freePort(), await freePort(), sound.port]
      gateway = await new Gateway({ sites: { 'a.example': forwardToAll(ports, { retries: { attemptsMax } }) } }).open()
      client = await RawClient.connect(gateway.port)
      assert.equal(await ask(get), status)
      assert.equal(gateway.entries[0]?.failedAttempts?.length, attemptsMax - 1)
    })
  }

  test('is not sent again once the budget is spent, so that retries do not multiply an outage', async () => {
    const budget = new RetryBudget({ perRequest: 0.2, perSecond: 0, savedMax: 1 }, 0)
    assert.ok(budget.spend(0))
    await open({ retries: { budget } }, await freePort())
    for (let count = 0; count < 4; count++) assert.equal(await ask(get), 502)
    // The fifth request has earned one.
    assert.equal(await ask(get), 200)
    assert.equal(sound.requests.length, 1)
  })
})

describe('the budget of retries', () => {
  function spentBudget(): RetryBudget {
    const budget = new RetryBudget(defaultRetryBounds, 0)
    let count = 0
    while (budget.spend(0)) count++
    assert.equal(count, 50)
    return budget
  }

  test('brings one for five requests', () => {
    const budget = spentBudget()
    for (let count = 0; count < 6; count++) budget.earn()
    assert.deepEqual([budget.spend(0), budget.spend(0)], [true, false])
  })

  test('brings three a second, and never more than fifty', () => {
    const budget = spentBudget()
    assert.equal(budget.spend(300), false)
    assert.equal(budget.spend(1300), true)
    const rested = spentBudget()
    let count = 0
    while (rested.spend(1_000_000)) count++
    assert.equal(count, 50)
  })
})

test('the methods that may be executed twice are those of RFC 9110', () => {
  const methods = ['GET', 'HEAD', 'PUT', 'DELETE', 'OPTIONS', 'TRACE', 'POST', 'PATCH', 'CONNECT', 'PROPFIND', 'get']
  assert.deepEqual(methods.filter(isIdempotent), ['GET', 'HEAD', 'PUT', 'DELETE', 'OPTIONS', 'TRACE'])
})
