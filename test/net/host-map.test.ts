import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { createHostMap } from '../../src/net/host-map.js'

describe('HostMap', () => {
  const map = createHostMap([
    ['a.example', 'a'],
    ['*.a.example', 'below a'],
    ['www.a.example', 'www'],
    ['192.0.2.1', 'v4'],
    ['::1', 'v6'],
  ])

  test('an exact name is found', () => assert.equal(map.get('a.example'), 'a'))
  test('a wildcard stands for one label', () => assert.equal(map.get('x.a.example'), 'below a'))
  test('exact beats wildcard', () => assert.equal(map.get('www.a.example'), 'www'))
  test('a wildcard does not stand for two labels', () => assert.equal(map.get('x.y.a.example'), undefined))
  test('a name below an exact one that is no wildcard is unknown', () =>
    assert.equal(map.get('x.b.example'), undefined))
  test('IP literals are found', () => assert.deepEqual([map.get('192.0.2.1'), map.get('::1')], ['v4', 'v6']))
  test('an unknown name is nobody’s', () => assert.equal(map.get('example'), undefined))
  test('a pattern itself is no name', () => assert.equal(map.get('*.example'), undefined))

  test('a wildcard does not stand for no label', () => {
    const wildcardOnly = createHostMap([['*.a.example', 1]])
    assert.equal(wildcardOnly.get('a.example'), undefined)
  })

  test('a wildcard before one label does not catch that label', () => {
    const wildcardOnly = createHostMap([['*.localhost', 1]])
    assert.equal(wildcardOnly.get('localhost'), undefined)
    assert.equal(wildcardOnly.get('a.localhost'), 1)
  })

  test('of equal patterns the first one counts', () => {
    const twice = createHostMap([
      ['a.example', 'first'],
      ['a.example', 'second'],
    ])
    assert.equal(twice.get('a.example'), 'first')
  })

  test('an empty map knows nobody', () => assert.equal(createHostMap([]).get('a.example'), undefined))

  test('it agrees with a search through the list', () => {
    const name = fc
      .array(fc.constantFrom('a', 'b', 'c'), { minLength: 1, maxLength: 4 })
      .map((labels) => labels.join('.'))
    const pattern = fc.oneof(
      name,
      name.map((base) => `*.${base}`),
    )
    fc.assert(
      fc.property(fc.uniqueArray(pattern, { maxLength: 12 }), name, (patterns, asked) => {
        const expected =
          patterns.find((candidate) => candidate === asked) ??
          patterns.find((candidate) => candidate === `*.${asked.split('.').slice(1).join('.')}`)
        assert.equal(createHostMap(patterns.map((each) => [each, each] as const)).get(asked), expected)
      }),
      { numRuns: 2000 },
    )
  })
})
