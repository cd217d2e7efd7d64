// Names of endpoints: what they stand for is looked up again, all of it is tried, and what fails takes nothing away.
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { AddressSource } from '../../src/upstream/resolve-addresses.js'
import { type LookUp, Lookups } from '../../src/upstream/resolve-lookups.js'
import type { LookupPace } from '../../src/upstream/resolve-name.js'
import { makeCertificate } from '../support/certificates.js'
import { until, within } from '../support/deadline.js'
import {
  deadPort,
  established,
  failing,
  heardTarget,
  plainAddress,
  plainServer,
  tlsAddress,
  tlsServer,
  trusting,
} from './dial-rig.js'

/** Looks up whenever it may. */
const eager: LookupPace = { refreshMs: 1, staleMs: 60_000, retryMs: 0, suspectMs: 60_000 }
/** Looks up once, and again only when something fails. */
const calm: LookupPace = { refreshMs: 600_000, staleMs: 600_000, retryMs: 0, suspectMs: 60_000 }

const names = { address: plainAddress(80, 'shop.test') }

function found(source: AddressSource): Promise<readonly string[] | string> {
  const answer = new Promise<readonly string[] | string>((resolve) => {
    source.find({ onFound: resolve, onNotFound: resolve })
  })
  return within('the name is looked up', answer)
}

function notFound(): Error {
  return Object.assign(new Error('getaddrinfo ENOTFOUND shop.test'), { code: 'ENOTFOUND' })
}

test('new connections go to the addresses of a name in turn', async (context) => {
  const { target } = heardTarget(context, {
    ...names,
    pace: calm,
    lookUp: async () => ['192.0.2.1', '192.0.2.2', '::1'],
  })
  const orders: unknown[] = []
  for (let turn = 0; turn < 4; turn++) orders.push(await found(target.addresses))
  assert.deepEqual(orders, [
    ['192.0.2.1', '192.0.2.2', '::1'],
    ['192.0.2.2', '::1', '192.0.2.1'],
    ['::1', '192.0.2.1', '192.0.2.2'],
    ['192.0.2.1', '192.0.2.2', '::1'],
  ])
})

test('an address that was not reachable stands behind the others until it is reached', async (context) => {
  const { target } = heardTarget(context, { ...names, pace: calm, lookUp: async () => ['192.0.2.1', '192.0.2.2'] })
  await found(target.addresses)
  target.addresses.onUnreachable('192.0.2.1')
  for (let turn = 0; turn < 3; turn++) assert.deepEqual(await found(target.addresses), ['192.0.2.2', '192.0.2.1'])
  target.addresses.onReached('192.0.2.1')
  const firsts = [await found(target.addresses), await found(target.addresses)].map(([first]) => first)
  assert.deepEqual(firsts.sort(), ['192.0.2.1', '192.0.2.2'])
})

test('a name with a dead address is reached at the other one, every time', async (context) => {
  const server = await plainServer(context)
  const address = plainAddress(server.port, 'shop.test')
  const { target } = heardTarget(context, { address, pace: calm, lookUp: async () => ['127.0.0.2', '127.0.0.1'] })
  for (let turn = 0; turn < 4; turn++) assert.equal((await established(context, target)).address, '127.0.0.1')
})

test('an address that swallows everything leaves time for the one behind it', async (context) => {
  const pair = await makeCertificate({ names: ['shop.test'] })
  const secured = await tlsServer(context, { cert: pair.cert, key: pair.key })
  const silent = await plainServer(context, (socket) => socket.resume())
  await plainServer(context, (socket) => secured.adopt(socket), { host: '127.0.0.2', port: silent.port })
  const { target } = heardTarget(context, {
    address: tlsAddress(silent.port, 'shop.test'),
    tls: trusting(pair.cert),
    pace: calm,
    lookUp: async () => ['127.0.0.1', '127.0.0.2'],
  })
  assert.equal((await established(context, target, { connectMs: 4000 })).address, '127.0.0.2')
  assert.equal(silent.sockets.length, 1)
  await until('the silent one is left', () => silent.sockets.every(({ destroyed }) => destroyed))
})

test('a failure tells of every address that was tried', async (context) => {
  const port = await deadPort()
  const lookUp = async () => ['127.0.0.1', '127.0.0.2', '127.0.0.1']
  const { target } = heardTarget(context, { address: plainAddress(port, 'shop.test'), pace: calm, lookUp })
  const failure = await failing(target)
  assert.equal(failure.code, 'upstream_unreachable')
  assert.equal(
    failure.detail,
    `127.0.0.1:${port}: connection refused (ECONNREFUSED); 127.0.0.2:${port}: connection refused (ECONNREFUSED)`,
  )
})

test('a failure that met many addresses tells of the last ones and counts the others', async (context) => {
  const port = await deadPort()
  const lookUp = async () => Array.from({ length: 9 }, (_, index) => `127.0.0.${index + 1}`)
  const { target } = heardTarget(context, { address: plainAddress(port, 'shop.test'), pace: calm, lookUp })
  const { detail } = await failing(target)
  assert.match(detail, /^5 more addresses in vain; 127\.0\.0\.6:/)
  assert.match(detail, /127\.0\.0\.9:\d+: connection refused \(ECONNREFUSED\)$/)
})

test('a container that comes back at another address is reached by the very request that misses it', async (context) => {
  const server = await plainServer(context, () => undefined, { host: '127.0.0.3' })
  let current = '127.0.0.2'
  const address = plainAddress(server.port, 'shop.test')
  const heard = heardTarget(context, { address, pace: calm, lookUp: async () => [current] })
  await found(heard.target.addresses)
  current = '127.0.0.3'
  assert.equal((await established(context, heard.target)).address, '127.0.0.3')
  assert.deepEqual(heard.addresses, [['127.0.0.2'], ['127.0.0.3']])
})

test('a name in use is looked up again, and each change is heard once', async (context) => {
  let lookups = 0
  let current = ['192.0.2.1', '192.0.2.2']
  const lookUp = async () => {
    lookups++
    return lookups % 2 === 0 ? current : current.toReversed()
  }
  const heard = heardTarget(context, { ...names, pace: eager, lookUp })
  heard.isInUse = true
  await found(heard.target.addresses)
  await until('it is looked up again', () => lookups > 3)
  assert.equal(heard.addresses.length, 1)
  current = ['192.0.2.2', '192.0.2.3']
  await until('the change is heard', () => heard.addresses.length === 2)
  assert.deepEqual([...(heard.addresses[1] ?? [])].sort(), current)
})

test('a name that nobody uses is left alone until somebody asks', async (context) => {
  let lookups = 0
  let lookupsElsewhere = 0
  const heard = heardTarget(context, { ...names, pace: eager, lookUp: async () => [`192.0.2.${++lookups}`] })
  const other = heardTarget(context, { ...names, pace: eager, lookUp: async () => [`192.0.2.${++lookupsElsewhere}`] })
  other.isInUse = true
  await Promise.all([found(heard.target.addresses), found(other.target.addresses)])
  // The first refresh is still due to the question; the second finds nobody.
  await until('it has been looked up a second time', () => lookups === 2)
  const before = lookupsElsewhere
  await until('a name in use is looked up again and again', () => lookupsElsewhere > before + 5)
  assert.equal(lookups, 2)
  await found(heard.target.addresses)
  await until('it is looked up again', () => lookups > 2)
})

test('addresses that are old wait for a lookup', async (context) => {
  let lookups = 0
  const always = -1
  const pace = { ...calm, refreshMs: always, staleMs: always }
  const { target } = heardTarget(context, { ...names, pace, lookUp: async () => [`192.0.2.${++lookups}`] })
  const first = await found(target.addresses)
  assert.notDeepEqual(await found(target.addresses), first)
})

test('a lookup that fails keeps the last good addresses', async (context) => {
  let isBroken = false
  let lookups = 0
  const lookUp = async () => {
    lookups++
    if (isBroken) throw notFound()
    return ['192.0.2.1']
  }
  const heard = heardTarget(context, { ...names, pace: { ...eager, staleMs: 0 }, lookUp })
  heard.isInUse = true
  await found(heard.target.addresses)
  isBroken = true
  const before = lookups
  await until('it has failed more than once', () => lookups > before + 2)
  assert.deepEqual(await found(heard.target.addresses), ['192.0.2.1'])
  assert.equal(heard.addresses.length, 1)
})

test('a name that does not exist fails with the reason, and is not asked for more often than retryMs', async (context) => {
  let lookups = 0
  const lookUp = async () => {
    lookups++
    throw notFound()
  }
  const { target } = heardTarget(context, { ...names, pace: { ...calm, retryMs: 600_000 }, lookUp })
  for (let turn = 0; turn < 5; turn++) {
    const failure = await failing(target)
    assert.equal(failure.code, 'upstream_unreachable')
    assert.equal(failure.detail, 'shop.test: no such name (ENOTFOUND)')
    assert.equal(failure.retry, 'always')
  }
  assert.equal(lookups, 1)
})

test('an unreachable address asks for one lookup in retryMs, however many dials fail', async (context) => {
  const port = await deadPort()
  let lookups = 0
  const lookUp = async () => {
    lookups++
    return ['127.0.0.1']
  }
  const address = plainAddress(port, 'shop.test')
  const { target } = heardTarget(context, { address, pace: { ...calm, retryMs: 600_000 }, lookUp })
  await Promise.all(Array.from({ length: 20 }, () => failing(target)))
  assert.equal(lookups, 1)
})

test('a lookup that hangs is ended by the deadline, and a dial that was cancelled hears nothing of it', async (context) => {
  const { target } = heardTarget(context, { ...names, lookUp: () => new Promise(() => undefined) })
  const failure = await failing(target, { connectMs: 30 })
  assert.equal(failure.code, 'upstream_timeout')
  assert.match(failure.detail, /^looking up the name for \d+ ms$/)
})

test('a target that is closed hears nothing more', async (context) => {
  let answerNow: (addresses: readonly string[]) => void = () => assert.fail('nothing was asked')
  const lookUp = () =>
    new Promise<readonly string[]>((resolve) => {
      answerNow = resolve
    })
  const heard = heardTarget(context, { ...names, lookUp })
  const answer = found(heard.target.addresses)
  heard.target.close()
  answerNow(['192.0.2.1'])
  assert.deepEqual(await answer, ['192.0.2.1'])
  assert.deepEqual(heard.addresses, [])
})

test('a name that is asked for twice at the same time is looked up once', async () => {
  const asked: string[] = []
  const lookups = new Lookups({
    lookUp: async (name) => {
      asked.push(name)
      return ['192.0.2.1', '192.0.2.1', '192.0.2.2']
    },
  })
  const answers = await Promise.all([lookedUp(lookups, 'a.test'), lookedUp(lookups, 'a.test')])
  assert.deepEqual(asked, ['a.test'])
  assert.deepEqual(answers, [
    ['192.0.2.1', '192.0.2.2'],
    ['192.0.2.1', '192.0.2.2'],
  ])
})

test('few names are looked up at the same time, and the others get their turn', async () => {
  const waiting: (() => void)[] = []
  let most = 0
  const lookUp: LookUp = async () => {
    await new Promise<void>((resolve) => {
      waiting.push(resolve)
      most = Math.max(most, waiting.length)
    })
    return ['192.0.2.1']
  }
  const lookups = new Lookups({ lookUp, concurrency: 2 })
  const answers = Array.from({ length: 7 }, (_, index) => lookedUp(lookups, `${index}.test`))
  for (let ended = 0; ended < 7; ended++) {
    await until('a lookup begins', () => waiting.length > 0)
    waiting.shift()?.()
  }
  assert.equal((await Promise.all(answers)).length, 7)
  assert.equal(most, 2)
})

test("the system's resolver knows the names of /etc/hosts", async (context: TestContext) => {
  const server = await plainServer(context)
  const { target } = heardTarget(context, { address: plainAddress(server.port, 'localhost') })
  assert.equal((await established(context, target)).address, '127.0.0.1')
})

function lookedUp(lookups: Lookups, name: string): Promise<readonly string[] | string> {
  return within(
    `${name} is looked up`,
    new Promise((resolve) => lookups.find(name, { onLookedUp: resolve, onLookupFailed: resolve })),
  )
}
