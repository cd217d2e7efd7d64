// What is remembered of texts: the same value for the same text, within bounds.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { RecentTexts } from '../../src/tls/recent-texts.js'

function lengths(max: number): { readonly texts: RecentTexts<object>; readonly made: string[] } {
  const made: string[] = []
  const texts = new RecentTexts(max, (text) => {
    made.push(text)
    return { length: text.length }
  })
  return { texts, made }
}

test('the same text gives the same value, any other text another', () => {
  const { texts } = lengths(8)
  const [first, again] = ['text', 'te' + String('xt')].map((text) => texts.get(text))
  assert.equal(first, again)
  assert.notEqual(texts.get('text '), first)
})

test('the text asked for longest ago is forgotten, however many are asked for', () => {
  const { texts, made } = lengths(3)
  for (const text of ['a', 'b', 'c', 'a', 'd', 'a', 'b']) texts.get(text)
  assert.deepEqual(made, ['a', 'b', 'c', 'd', 'b'])
  for (let number = 0; number < 1_000; number += 1) texts.get(`${number}`)
  assert.equal(texts.size, 3)
})

test('a text of 64 KiB is remembered, a longer one is made anew each time', () => {
  const { texts, made } = lengths(3)
  for (const length of [65_536, 65_536, 65_537, 65_537]) texts.get('x'.repeat(length))
  assert.deepEqual(
    made.map((text) => text.length),
    [65_536, 65_537, 65_537],
  )
  assert.equal(texts.size, 1)
})
