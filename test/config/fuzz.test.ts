import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import type { z } from 'zod'
import { mainSchema } from '../../src/config/schema.js'
import { branches, namedNode, type SchemaNode, toSchemaNode } from '../../src/config/schema-node.js'
import { upstreamSchema } from '../../src/config/schema-upstream.js'
import { vhostSchema } from '../../src/config/schema-vhost.js'
import { load } from './loaded.js'

// What fits somewhere, so that checks across keys are reached, and what fits nowhere.
const names = ['a', 'b', 'shop', 'X-Env', 'x-env', 'Host', 'Upgrade', '502', '302', '__proto__', 'constructor', '']
const texts = [
  ...names,
  ...['http://a', 'https://a', 'https://a:443/x', 'unix:/a', 'unix:', '/', '/a', '/a/b', '//a', '/a/../b', '/%zz'],
  ...[
    'a.example',
    '*.a.example',
    '[::1]',
    ':443',
    '127.0.0.1:80',
    '200-399',
    '200,',
    'page.html',
    'gone.html',
    '\0',
    'é',
  ],
]

function fitting(node: SchemaNode): fc.Arbitrary<unknown> {
  const [first, ...others] = branches(node).map(fittingBranch)
  return fc.oneof({ arbitrary: fc.oneof(first, ...others), weight: 19 }, { arbitrary: misfit, weight: 1 })
}

function fittingBranch(node: SchemaNode): fc.Arbitrary<unknown> {
  const named = namedNode(node)
  if (node.enum !== undefined) return fc.constantFrom(...node.enum)
  if (named !== undefined) return fc.dictionary(fc.constantFrom(...names), fitting(named), { maxKeys: 3 })
  if (node.items !== undefined) return fc.array(fitting(node.items), { maxLength: 3 })
  if (node.properties !== undefined) return fittingMap(node.properties, node.required ?? [])
  if (node.type === 'integer') return fc.constantFrom(node.minimum, node.maximum, 5)
  return node.type === 'boolean' ? fc.boolean() : fc.constantFrom(...texts)
}

function fittingMap(properties: Readonly<Record<string, SchemaNode>>, required: readonly string[]) {
  const values = Object.entries(properties).map(([key, node]) => [key, fitting(node)] as const)
  return fc.record(Object.fromEntries(values), { requiredKeys: [...required] })
}

const misfit = fc.oneof(
  fc.constantFrom(null, 0, -1, 1.5, true, [], {}, '', 'unfit', [null], { a: 1 }),
  fc.string({ maxLength: 5 }),
)

function assertTold(files: Readonly<Record<string, string>>): void {
  const { config, errors, brokenSites } = load(files)
  assert.equal(config === undefined, errors.length > 0)
  assert.ok(brokenSites.every((site) => site.errors.length > 0))
  for (const { line, column, message, hint } of [...errors, ...brokenSites.flatMap((site) => site.errors)]) {
    assert.ok(line >= 1 && column >= 1)
    assert.doesNotMatch(`${message} ${hint ?? ''}`, /undefined|NaN|\[object| {4}at /)
  }
}

describe('values that the schema describes, or nearly, are a configuration or a list of mistakes', () => {
  const beside = { 'page.html': 'a page', a: 'PEM', b: 'PEM' }

  test('in the main file', () => {
    fc.assert(
      fc.property(fitting(toSchemaNode(mainSchema)), (main) =>
        assertTold({ ...beside, 'hostward.yaml': JSON.stringify(main) }),
      ),
      { numRuns: 100 },
    )
  })

  test('in a few keys of a sound site and a sound upstream, of the main file and of an included one', () => {
    const upstream = changed({ endpoints: ['http://a', 'https://b'] }, upstreamSchema)
    const answer = { routes: [{ path: '/a', upstream: 'shop' }], upstream: 'shop' }
    const site = changed({ hosts: ['a.example'], certificate: { cert: 'a', key: 'a' }, ...answer }, vhostSchema)
    fc.assert(
      fc.property(upstream, site, upstream, site, (shop, mainSite, own, ownSite) => {
        const main = { upstreams: { shop }, vhosts: [mainSite], include: ['own.yaml'] }
        assertTold({
          ...beside,
          'hostward.yaml': JSON.stringify({ ...main, listeners: [{ name: 'a', bind: ':443' }] }),
          'own.yaml': JSON.stringify({ ...ownSite, hosts: ['own.example'], upstreams: { own } }),
        })
      }),
      { numRuns: 400 },
    )
  })
})

/** A value with one or two of its keys put in or replaced. */
function changed(value: object, schema: z.ZodType): fc.Arbitrary<object> {
  const entries = Object.entries(toSchemaNode(schema).properties ?? {})
  const change = fc.oneof(...entries.map(([key, node]) => fitting(node).map((fit) => [key, fit] as const)))
  return fc.array(change, { maxLength: 2 }).map((changes) => ({ ...value, ...Object.fromEntries(changes) }))
}
