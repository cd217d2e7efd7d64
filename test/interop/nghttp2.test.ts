// nghttp2's programs: h2load for many requests at once, nghttp for what other HTTP/2 clients seldom say.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import type { LogLine } from './hostward.js'
import { bytesOf, digest, greeting } from './origin.js'
import { missing, type Ran, run, start } from './program.js'
import { openStage, type Stage } from './stage.js'

const manyRequests = 5000
const uploadBytes = 8 * 1024 * 1024 + 5

describe('nghttp2', { skip: missing('h2load', 'nghttp') }, () => {
  let stage: Stage
  before(async () => {
    stage = await openStage()
  })
  after(() => stage.close())

  const load = (url: string, args: readonly string[]): Promise<Ran> =>
    run('h2load', [`--connect-to=127.0.0.1:${stage.port}`, ...args, url])

  // The name of the request is the name in the handshake too; the certificate's authority is none that nghttp knows.
  const nghttp = (host: string, args: readonly string[], ...paths: readonly string[]): Promise<Ran> =>
    run('nghttp', [
      '-H',
      `:authority: ${host}`,
      ...args,
      ...paths.map((path) => `https://127.0.0.1:${stage.port}${path}`),
    ])

  const isServed = async (): Promise<void> => {
    const { output } = await nghttp('site-b.test', [], '/')
    assert.equal(output, greeting('b', 'site-b.test'))
  }

  test('h2load: 5000 requests on ten connections, fifty at once on each, all succeed', async () => {
    const { output } = await load('https://site-a.test/', ['-n', String(manyRequests), '-c', '10', '-m', '50'])
    assert.match(output, /Application protocol: h2/)
    assert.match(output, succeeded(manyRequests))
  })

  test('h2load: the same over HTTP/1.1, eight pipelined at once', async () => {
    const { output } = await load('https://site-a.test/', ['--h1', '-n', String(manyRequests), '-c', '10', '-m', '8'])
    assert.match(output, /Application protocol: http\/1\.1/)
    assert.match(output, succeeded(manyRequests))
  })

  test('h2load: bodies longer than every window arrive on all streams', async () => {
    const args = ['-n', '40', '-c', '2', '-m', '20', '-w', '16', '-W', '18']
    const { output } = await load('https://site-a.test/bytes/1000000', args)
    assert.match(output, succeeded(40))
    assert.match(output, /\(40000000\) data/)
  })

  test('h2load: 200 uploads of 100 KB at once arrive whole', async () => {
    const body = join(stage.folder, 'load')
    writeFileSync(body, bytesOf(100_000))
    const { output } = await load('https://site-b.test/echo', ['-n', '200', '-c', '4', '-m', '25', '-d', body])
    assert.match(output, succeeded(200))
    const uploads = (): readonly LogLine[] => stage.hostward.requests.filter((line) => line['target'] === '/echo')
    await stage.hostward.logs('all uploads', () => uploads().length >= 200)
    const wrong = uploads().filter((line) => line['bytesReceived'] !== 100_000)
    assert.deepEqual(wrong, [])
  })

  for (const args of [['-m', '20'], ['--h1']]) {
    test(`h2load ${args[0]}: killed in the middle, it takes nobody along`, async () => {
      const seen = stage.hostward.requests.length
      const endless = ['-n', '1000000', '-c', '4', `--connect-to=127.0.0.1:${stage.port}`]
      const child = start('h2load', [...args, ...endless, 'https://site-a.test/bytes/4000000'])
      child.stdout.resume()
      child.stderr.resume()
      await stage.hostward.logs('the load', () => stage.hostward.requests.length > seen + 4)
      child.kill('SIGKILL')
      await once(child, 'exit')
      await isServed()
      const isGone = (): boolean => stage.hostward.requests.slice(seen).some((line) => line['reason'] === 'client_gone')
      await stage.hostward.logs('that the client is gone', isGone)
    })
  }

  test('nghttp: several requests of one connection are answered, with its priorities and without push', async () => {
    const { output } = await nghttp('site-a.test', ['--verbose', '--no-push'], '/', '/trailers', '/bytes/5')
    assert.match(output, /send PRIORITY frame/)
    assert.match(output, /SETTINGS_ENABLE_PUSH\(0x02\):0/)
    assert.doesNotMatch(output, /recv PUSH_PROMISE|recv RST_STREAM|recv GOAWAY/)
    assert.equal(output.match(/:status: 200/g)?.length, 3)
    assert.match(output, /\[ *[\d.]+\] recv \(stream_id=15\) x-checked: yes/)
  })

  test('nghttp: a body of megabytes goes up, and trailers behind one', async () => {
    const [large, small] = [join(stage.folder, 'large'), join(stage.folder, 'small')]
    writeFileSync(large, bytesOf(uploadBytes))
    writeFileSync(small, 'hello\n')
    const whole = await nghttp('site-b.test', ['-d', large], '/echo')
    assert.equal(whole.output, digest(bytesOf(uploadBytes)))
    const trailed = await nghttp('site-b.test', ['-d', small, '--trailer', 'x-trailer: sent'], '/echo')
    assert.equal(trailed.output, digest(Buffer.from('hello\n')))
  })

  test('nghttp: a hundred padded requests and small windows do not confuse it', async () => {
    const { output } = await nghttp('site-a.test', ['-m', '100', '-b', '200', '-w', '14'], '/')
    assert.equal(output, greeting('a', 'site-a.test').repeat(100))
  })

  test('nghttp: a name that nobody claims is 421, and the connection goes on', async () => {
    const { output } = await nghttp('unknown.test', ['--verbose'], '/', '/again')
    assert.equal(output.match(/:status: 421/g)?.length, 2)
    assert.doesNotMatch(output, /recv RST_STREAM|recv GOAWAY/)
  })
})

function succeeded(count: number): RegExp {
  return new RegExp(`status codes: ${count} 2xx, 0 3xx, 0 4xx, 0 5xx`)
}
