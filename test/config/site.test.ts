import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { loadConfig } from '../../src/config/load.js'
import { directory, onlyFile } from './case.js'
import { configOf, listeners, load, mainFile, site } from './loaded.js'

describe('a site', () => {
  test('routes stand with the longest path first', () => {
    const routes = `routes:
      - { path: /a, redirect: { to: /b, status: 301 } }
      - { path: /a/longer/, upstream: http://a, stripPrefix: true }
      - { path: /a/b, redirect: { to: "https://b.example/c/" } }`
    const text = `${listeners}vhosts:\n  - hosts: [a.example]\n    certificate: { cert: a, key: a }\n    respond: {}\n    ${routes}\n`
    const [vhost] = configOf(text).vhosts
    assert.deepEqual(
      vhost.routes.map(({ path, stripPrefix, place }) => [path, stripPrefix, place.line]),
      [
        ['/a/longer', true, 8],
        ['/a/b', false, 9],
        ['/a', false, 7],
      ],
    )
    assert.deepEqual(
      vhost.routes.slice(1).map(({ answer }) => answer),
      [
        { kind: 'redirect', origin: { scheme: 'https', host: 'b.example', port: 443 }, path: '/c', status: 308 },
        { kind: 'redirect', origin: undefined, path: '/b', status: 301 },
      ],
    )
  })

  test('header policies keep names as written, but for Host and what is removed', () => {
    const policy = 'headers: { request: { set: { X-Env: prod, HOST: "b:1" }, remove: [X-Debug] } }'
    const [{ headers }] = configOf(`${listeners}vhosts:\n${site('a.example', `respond: {}, ${policy}`)}`).vhosts
    assert.deepEqual(headers, {
      request: { host: 'b:1', set: [{ name: 'X-Env', value: 'prod' }], remove: ['x-debug'] },
      response: { set: [], remove: [] },
    })
  })

  test('the bound on a body is that of the site, else that of all; null is none', () => {
    const sites = [', limits: { requestBodyBytes: 5 }', ', limits: { requestBodyBytes: null }', '']
    const text = sites.map((limits, index) => site(`${index}.a.example`, `respond: {}${limits}`)).join('')
    assert.deepEqual(
      configOf(`${listeners}limits: { requestBodyBytes: 7 }\nvhosts:\n${text}`).vhosts.map(({ limits }) => limits),
      [{ requestBodyBytes: 5 }, { requestBodyBytes: Number.POSITIVE_INFINITY }, { requestBodyBytes: 7 }],
    )
  })

  test('files that are taken in are read once, typed by their names, and told', () => {
    const pages = 'respond: {}, errors: { 503: p/a.html, 502: p/b.TXT, 404: p/a.html }'
    const { config, files, brokenSites } = load({
      'hostward.yaml': `${listeners}upstreams: { shop: { endpoints: [https://a], tls: { ca: ca.pem } } }\nvhosts:\n${site('a.example', pages)}${site('b.example', 'respond: {}, errors: { 502: p/gone.html }')}`,
      'p/a.html': 'a page',
      'p/b.TXT': '',
      'ca.pem': 'PEM',
    })
    const taken = ['ca.pem', 'p/a.html', 'p/b.TXT', 'p/gone.html'].map((name) => `${directory}/${name}`)
    assert.deepEqual(new Set(files), new Set([mainFile, ...taken]))
    assert.equal(brokenSites.length, 1)
    const [{ errorPages }] = config?.vhosts ?? []
    assert.deepEqual(
      errorPages.map(({ status, contentType, page }) => [status, contentType, page.text]),
      [
        [404, 'text/html; charset=utf-8', 'a page'],
        [502, 'text/plain; charset=utf-8', ''],
        [503, 'text/html; charset=utf-8', 'a page'],
      ],
    )
    assert.equal(errorPages[0].page, errorPages[2].page)
    const ca = config?.upstreams.get('shop')?.tls?.ca
    assert.deepEqual([ca?.path, ca?.text, ca?.place.line], [`${directory}/ca.pem`, 'PEM', 2])
  })

  const lengths: readonly (readonly [length: number, isTaken: boolean])[] = [
    [1_048_576, true],
    [1_048_577, false],
  ]
  for (const [length, isTaken] of lengths) {
    test(`a page of ${length} characters is ${isTaken ? 'taken' : 'too long'}`, () => {
      const text = `${listeners}vhosts:\n${site('a.example', 'respond: {}, errors: { 502: a.html }')}`
      const { brokenSites } = load({ 'hostward.yaml': text, 'a.html': 'x'.repeat(length) })
      assert.equal(brokenSites.length, isTaken ? 0 : 1)
    })
  }

  test('a header value may have 4096 characters, and no more', () => {
    const broken = [4096, 4097].map((length) => {
      const headers = `headers: { response: { set: { X-A: ${'x'.repeat(length)} } } }`
      const text = `${listeners}vhosts:\n${site('a.example', `respond: {}, ${headers}`)}`
      return loadConfig(mainFile, onlyFile(text)).brokenSites.length
    })
    assert.deepEqual(broken, [0, 1])
  })
})
