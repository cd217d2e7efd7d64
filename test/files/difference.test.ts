// Lists of thousands that are the same but for a few places.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { differenceOf } from '../../src/files/difference.js'

const cases = [
  { name: 'the same list', before: 'abc', after: 'abc', gone: '', come: '' },
  { name: 'one in the place of another', before: 'abc', after: 'axc', gone: 'b', come: 'x' },
  { name: 'both ends', before: 'abcd', after: 'xbcy', gone: 'ad', come: 'xy' },
  { name: 'one at the front', before: 'abc', after: 'xabc', gone: '', come: 'x' },
  { name: 'one from the middle', before: 'abcd', after: 'abd', gone: 'c', come: '' },
  { name: 'one replaced, another one appended', before: 'abc', after: 'xbcd', gone: 'a', come: 'dx' },
  { name: 'another order', before: 'abc', after: 'cab', gone: '', come: '' },
  { name: 'one removed, all others moved on, one appended', before: 'abcd', after: 'bcde', gone: 'a', come: 'e' },
  { name: 'nothing before', before: '', after: 'ab', gone: '', come: 'ab' },
  { name: 'nothing after', before: 'ab', after: '', gone: 'ab', come: '' },
]

for (const { name, before, after, gone, come } of cases) {
  test(`the difference of lists: ${name}`, () => {
    const difference = differenceOf([...before], [...after])
    assert.deepEqual([...difference.gone].sort(), [...gone].sort())
    assert.deepEqual([...difference.come].sort(), [...come].sort())
  })
}

test('a difference is what sets would give, whatever the lists', () => {
  const list = fc.uniqueArray(fc.integer({ min: 0, max: 12 }))
  fc.assert(
    fc.property(list, list, (before, after) => {
      const { gone, come } = differenceOf(before, after)
      assert.deepEqual(new Set(gone), new Set(before.filter((item) => !after.includes(item))))
      assert.deepEqual(new Set(come), new Set(after.filter((item) => !before.includes(item))))
    }),
  )
})
