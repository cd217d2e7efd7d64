import assert from 'node:assert/strict'
import { test } from 'node:test'
import { nearMisses } from '../../src/cli/near-names.js'

const cases: readonly (readonly [
  title: string,
  name: string,
  patterns: readonly string[],
  hints: readonly string[],
])[] = [
  [
    'a wildcard does not stand for its own parent',
    'a.example',
    ['*.a.example'],
    ['"*.a.example" does not stand for a.example itself: list it beside the wildcard'],
  ],
  [
    'a name without its www',
    'a.example',
    ['www.a.example'],
    ['"www.a.example" is served, but not a.example without its first label'],
  ],
  [
    'at most three relatives',
    'example',
    ['a.example', 'b.example', 'c.example', 'd.example'],
    ['a', 'b', 'c'].map((label) => `"${label}.example" is served, but not example without its first label`),
  ],
  ['two letters swapped', 'shpo.example', ['blog.example', 'shop.example'], ['did you mean "shop.example"?']],
  ['another label of the same length is not near', 'nobody.example', ['site-a.example'], []],
  ['a wildcard of fewer labels is not near', 'nobody.example', ['*.a.example'], []],
  ['nothing is near where nothing is served', 'a.example', [], []],
]

for (const [title, name, patterns, hints] of cases) {
  test(title, () => {
    assert.deepEqual(nearMisses(name, patterns), hints)
  })
}
