import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { didYouMean } from '../../src/config/did-you-mean.js'
import { loadConfig } from '../../src/config/load.js'
import { shown } from '../../src/config/printable.js'
import { jsonSchema } from '../../src/config/schema.js'
import { reference } from '../support/config-reference.js'
import { directory, onlyFile } from './case.js'

describe('the reference', () => {
  const rows = new Map(reference().map((row) => [row.key, row]))

  test('has a meaning of one sentence for every key', () => {
    for (const { key, meaning } of rows.values()) assert.match(meaning, /^[A-Z].*\.$/, key)
  })

  test('says what a key takes, and its default', () => {
    const shown = (key: string) => [rows.get(key)?.type, rows.get(key)?.default]
    assert.deepEqual(shown('listeners[].bind'), ['string', 'required'])
    assert.deepEqual(shown('listeners[].tls'), ['boolean or map', 'true'])
    assert.deepEqual(shown('vhosts'), ['list of maps', '[]'])
    assert.deepEqual(shown('vhosts[].certificate'), ['map or list of maps', ''])
    assert.deepEqual(shown('vhosts[].certificate.cert'), ['string', 'required'])
    assert.deepEqual(shown('vhosts[].redirect.status'), ['301, 302, 303, 307, 308', '308'])
    assert.deepEqual(shown('vhosts[].respond.body'), ['string', '""'])
    assert.deepEqual(shown('timeouts'), ['map', ''])
    assert.deepEqual(shown('timeouts.idleMs'), ['1 to 86400000', '920000'])
    assert.deepEqual(shown('upstreams'), ['map of maps', ''])
    assert.deepEqual(shown('upstreams.<name>.endpoints'), ['list of strings or maps', 'required'])
    assert.deepEqual(shown('upstreams.<name>.endpoints[].weight'), ['1 to 1000', '1'])
    assert.deepEqual(shown('upstreams.<name>.balance'), [
      'round-robin, least-requests, random-two or map',
      'round-robin',
    ])
    assert.deepEqual(shown('upstreams.<name>.balance.hash.cookie'), ['string', ''])
    assert.deepEqual(shown('upstreams.<name>.retries.on'), [
      'list of connect, reset, 502, 503, 504',
      '["connect","reset"]',
    ])
    assert.deepEqual(shown('vhosts[].errors'), ['map of strings', ''])
    assert.deepEqual(shown('vhosts[].headers.request.set'), ['map of strings', ''])
    assert.deepEqual(shown('log.level'), ['debug, info, warn, error', 'info'])
    assert.deepEqual(shown('log.file'), ['string or null', 'null'])
  })

  test('has every number bounded', () => {
    for (const { key, type } of rows.values()) assert.doesNotMatch(type, /9007199254740991|undefined|number/, key)
  })

  for (const { key, type } of reference().filter((row) => /^\d+ to \d+/.test(row.type))) {
    const [least = 0, most = 0] = type
      .split(' ')
      .filter((word) => /^\d+$/.test(word))
      .map(Number)
    test(`${key} may be ${least} and ${most}, and nothing beyond`, () => {
      const results = [least - 1, least, most, most + 1].map((value) => isTaken(key, value))
      assert.deepEqual(results, [false, true, true, false])
    })
  }
})

describe('the JSON Schema', () => {
  test('knows no other keys, and one answer a site', () => {
    const schema = jsonSchema() as { properties: { vhosts: { items: Record<string, unknown> } } }
    assert.equal((schema as Record<string, unknown>)['additionalProperties'], false)
    assert.equal(schema.properties.vhosts.items['additionalProperties'], false)
    assert.deepEqual(schema.properties.vhosts.items['oneOf'], [
      { required: ['upstream'] },
      { required: ['respond'] },
      { required: ['redirect'] },
    ])
  })

  test('is JSON', () => assert.deepEqual(JSON.parse(JSON.stringify(jsonSchema())), jsonSchema()))
})

describe('didYouMean', () => {
  const cases: readonly (readonly [written: string, word: string | undefined])[] = [
    ['shpo', 'shop'],
    ['SHOP', 'shop'],
    ['shops', 'shop'],
    ['hsop', 'shop'],
    ['sho', 'shop'],
    ['hspo', undefined],
    ['listner', 'listeners'],
    ['constructor', undefined],
    ['', undefined],
  ]
  for (const [written, word] of cases) {
    test(`"${written}" is near ${word ?? 'nothing'}`, () => {
      const expected = word === undefined ? undefined : `did you mean "${word}"?`
      assert.equal(didYouMean(written, ['listeners', 'shop']), expected)
    })
  }
  test('a very long word is answered at once', () =>
    assert.equal(didYouMean('x'.repeat(1_000_000), ['shop']), undefined))
})

describe('a value in a message', () => {
  const cases: readonly (readonly [value: unknown, text: string])[] = [
    ['a "b"', '"a \\"b\\""'],
    ['a\nb\x1b\x9b\u202e', '"a\\nb\\u001b\\u009b\\u202e"'],
    ['http://user:password@host', '"http://…@host"'],
    ['x'.repeat(78), `"${'x'.repeat(78)}"`],
    ['x'.repeat(79), `"${'x'.repeat(78)}…`],
    [[1], 'a list'],
    [{}, 'a map'],
    [1.5, '1.5'],
  ]
  for (const [value, text] of cases) test(`is ${text}`, () => assert.equal(shown(value), text))
})

function isTaken(key: string, value: number): boolean {
  const [listener, ofListener] = /^listeners\[\]\.(.+)$/.exec(key) ?? []
  const more = listener === undefined ? '' : `, ${nested(ofListener, value)}`
  const rest = listener === undefined ? textWith(key, value) : ''
  const text = `listeners: [{ name: public, bind: ":443"${more} }]\n${rest}`
  const { errors, brokenSites } = loadConfig(`${directory}/hostward.yaml`, onlyFile(text))
  return errors.length + brokenSites.length === 0
}

/** YAML with a value at a key of the reference, and around it what must be there. */
function textWith(key: string, value: number): string {
  const [site, ofSite] = /^vhosts\[\]\.(.+)$/.exec(key) ?? []
  if (site !== undefined) {
    const answer = ofSite.startsWith('respond.') ? '' : 'respond: {}, '
    return `vhosts: [{ hosts: [a.example], certificate: { cert: a, key: a }, ${answer}${nested(ofSite, value)} }]\n`
  }
  const [upstream, ofUpstream] = /^upstreams\.<name>\.(.+)$/.exec(key) ?? []
  if (upstream === undefined) return `${nested(key, value)}\n`
  const [endpoint, ofEndpoint] = /^endpoints\[\]\.(.+)$/.exec(ofUpstream) ?? []
  if (endpoint !== undefined)
    return `upstreams: { a: { endpoints: [{ url: http://a, ${nested(ofEndpoint, value)} }] } }\n`
  // A check must be over when the next one begins.
  const rest = ofUpstream === 'healthCheck.timeoutMs' ? ', intervalMs: 86400000 }' : ' }'
  return `upstreams: { a: { endpoints: [http://a], ${nested(ofUpstream, value).replace(/ }$/, rest)} } }\n`
}

function nested(key: string, value: number): string {
  const text = key.split('.').reduceRight(within, String(value))
  return text.slice(2, -2)
}

function within(inner: string, name: string): string {
  if (name === 'clientAddress') return `{ clientAddress: { from: ["::1"], header: X-Real-IP, ${inner.slice(2)} }`
  if (name === 'routes[]') return `{ routes: [{ path: /a, ${inner.slice(2)}] }`
  return `{ ${name}: ${inner} }`
}
