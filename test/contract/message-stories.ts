// What every pairing of wires does to a message on its way: nothing that its two ends could see.
import assert from 'node:assert/strict'
import type { IncomingMessage } from 'node:http'
import { within } from '../support/deadline.js'
import { type Line, valuesOf } from './client-wire.js'
import { bodyOf, type Stories } from './pairing.js'

/** Told of every pairing. */
export const messageStories: Stories = {
  'method, target, host and lines reach the endpoint': async (pairing) => {
    let seen: IncomingMessage | undefined
    pairing.listener = (request, response) => {
      seen = request
      response.end()
    }
    const lines: Line[] = [
      ['x-a', '1'],
      ['x-a', '2'],
    ]
    await pairing.ask({ method: 'PROPFIND', target: '/a/b?x=%20|y', lines })
    const { method, url, headers } = seen as IncomingMessage
    assert.deepEqual([method, url, headers['x-a']], ['PROPFIND', '/a/b?x=%20|y', '1, 2'])
    assert.equal(headers[':authority'] ?? headers.host, 'a.example')
    assert.equal(headers['x-forwarded-for'], '127.0.0.1')
  },

  'bodies without a length and their trailers pass both ways': async (pairing) => {
    pairing.listener = async (request, response) => {
      response.write(await bodyOf(request))
      response.addTrailers({ 'x-seen': request.trailers['x-sum'] ?? 'nothing' })
      response.end(' back')
    }
    const { body, trailers, isWhole } = await pairing.ask({
      method: 'POST',
      body: ['hel', 'lo'],
      trailers: [['x-sum', '5']],
    })
    assert.deepEqual([body, trailers, isWhole], ['hello back', [['x-seen', '5']], true])
  },

  'lengths are kept both ways': async (pairing) => {
    pairing.listener = async (request, response) => {
      const body = `${request.headers['content-length']} ${await bodyOf(request)}`
      response.writeHead(200, { 'content-length': body.length }).end(body)
    }
    const { body, lines } = await pairing.ask({ method: 'PUT', lines: [['content-length', '5']], body: ['hello'] })
    assert.deepEqual([body, valuesOf(lines, 'content-length')], ['5 hello', ['7']])
  },

  'four megabytes pass both ways, byte for byte': async (pairing) => {
    pairing.listener = (request, response) => void request.pipe(response)
    const sent = Array.from({ length: 64 }, (_, index) => String.fromCharCode(index + 128).repeat(65_536))
    const { body, isWhole } = await pairing.ask({ method: 'POST', body: sent })
    assert.ok(isWhole && body === sent.join(''))
  },

  'informational heads come before the answer': async (pairing) => {
    pairing.listener = (_, response) => {
      response.writeEarlyHints({ link: '</a>; rel=preload' })
      response.end('ok')
    }
    const { informational, body } = await pairing.ask()
    assert.deepEqual(
      informational.map(({ status, lines }) => [status, valuesOf(lines, 'link')]),
      [[103, ['</a>; rel=preload']]],
    )
    assert.equal(body, 'ok')
  },

  'HEAD, 204 and 304 have no body': async (pairing) => {
    pairing.listener = (_, response) => void response.writeHead(200, { 'content-length': 5 }).end()
    const head = await pairing.ask({ method: 'HEAD' })
    assert.deepEqual([head.status, head.body, valuesOf(head.lines, 'content-length')], [200, '', ['5']])
    for (const status of [204, 304]) {
      pairing.listener = (_, response) => void response.writeHead(status, { etag: '"a"' }).end()
      const { status: got, body, isWhole, lines } = await pairing.ask()
      assert.deepEqual([got, body, isWhole, valuesOf(lines, 'etag')], [status, '', true, ['"a"']])
    }
  },

  'errors of the endpoint are its own': async (pairing) => {
    for (const status of [404, 500, 599]) {
      pairing.listener = (_, response) => void response.writeHead(status).end('mine')
      const { status: got, body } = await pairing.ask({ method: 'POST', body: ['x'] })
      assert.deepEqual([got, body], [status, 'mine'])
    }
  },

  'cookies reach the endpoint in one line and the client in lines of their own': async (pairing) => {
    pairing.listener = (request, response) => {
      response.writeHead(200, { 'set-cookie': ['a=1; Path=/', 'b=2'] }).end(request.headers.cookie)
    }
    const crumbs = pairing.clientWire.name === 'h2' ? ['a=1', 'b=2'] : ['a=1; b=2']
    const { body, lines } = await pairing.ask({ lines: crumbs.map((crumb): Line => ['cookie', crumb]) })
    assert.deepEqual([body, valuesOf(lines, 'set-cookie')], ['a=1; b=2', ['a=1; Path=/', 'b=2']])
  },

  'heads of fifty kilobytes pass both ways': async (pairing) => {
    const values = Array.from({ length: 50 }, (_, index) => String(index).repeat(512).slice(0, 1000))
    pairing.listener = ({ headers }, response) => {
      for (const index of values.keys()) response.setHeader(`x-${index}`, headers[`x-${index}`] ?? 'missing')
      response.end()
    }
    const { lines } = await pairing.ask({ lines: values.map((value, index): Line => [`x-${index}`, value]) })
    assert.deepEqual(
      values.map((_, index) => valuesOf(lines, `x-${index}`)[0]),
      values,
    )
  },

  'an endpoint of HTTP/2 is told that the client takes trailers': async (pairing) => {
    pairing.listener = ({ headers }, response) => void response.end(headers['te'] ?? 'nothing')
    const options: Line[] = pairing.clientWire.name === 'h2' ? [] : [['connection', 'te']]
    const { body } = await pairing.ask({ lines: [['te', 'trailers'], ...options] })
    assert.equal(body, pairing.endpointWire.protocol === 'h2' ? 'trailers' : 'nothing')
  },

  'a client that waits for a 100 gets it, and sends its body then': async (pairing) => {
    pairing.listener = async (request, response) => void response.end(await bodyOf(request))
    const lines: Line[] = [
      ['expect', '100-continue'],
      ['content-length', '5'],
    ]
    const exchange = pairing.request({ method: 'POST', lines, body: [], isOpenEnded: true })
    await within('the 100', exchange.continued)
    exchange.finish('hello')
    assert.equal((await within('the answer', exchange.response)).body, 'hello')
  },

  'forty requests at once get each its own answer': async (pairing) => {
    pairing.listener = ({ url }, response) => void setImmediate(() => response.end(url))
    const targets = Array.from({ length: 40 }, (_, index) => `/${index}`)
    const answers = await Promise.all(targets.map((target) => pairing.ask({ target })))
    assert.deepEqual(
      answers.map(({ body }) => body),
      targets,
    )
  },
}
