import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { loadConfig } from '../../src/config/load.js'
import { parseYaml } from '../../src/config/parse.js'
import { directory, onlyFile } from './case.js'

const file = `${directory}/hostward.yaml`
const sound = `listeners: [{ name: public, bind: ":443" }]
vhosts:
  - hosts: [site-a.example.com, "*.a.example.com"]
    certificate: &pair { cert: a.pem, key: a.key }
    respond: { status: 200, body: "hello" }
  - hosts: [site-b.example.com]
    certificate: *pair
    upstream: http://127.0.0.1:3001
timeouts: { idleMs: 5 }
`

function messagesOf(text: string): readonly string[] {
  const result = parseYaml(file, text)
  const errors = 'errors' in result ? result.errors : []
  return errors.map(({ line, column, message }) => `${line}:${column} ${message}`)
}

describe('parseYaml', () => {
  test('a byte order mark and Windows line ends change no place', () => {
    assert.deepEqual(messagesOf('\ufeffa: 1\r\n\r\nb: @x\r\n'), ['3:4 an unquoted text cannot begin with @'])
    assert.deepEqual(messagesOf('\ufeff@'), ['1:1 an unquoted text cannot begin with @'])
  })

  test('64 levels of nesting are read, 65 are not', () => {
    assert.deepEqual(messagesOf(`${'['.repeat(64)}${']'.repeat(64)}`), [])
    assert.deepEqual(messagesOf(`${'['.repeat(65)}${']'.repeat(65)}`), ['1:65 values are nested more than 64 deep'])
  })

  // Composed by the library, each of these ended the whole process: "RegExpCompiler Allocation failed".
  for (const opening of ['[', '{a: ', '- ', '? ', '[{']) {
    test(`30,000 times ${JSON.stringify(opening)} is a mistake and not the end of the process`, () => {
      const [message = ''] = messagesOf(opening.repeat(30_000))
      assert.match(message, /nested more than 64 deep/)
    })
  }

  test('a file of 16 MiB is read, a longer one is not', () => {
    const full = `a: 1\n#${' '.repeat(16 * 1024 * 1024 - 6)}`
    assert.deepEqual(messagesOf(full), [])
    assert.deepEqual(messagesOf(`${full} `), ['1:1 the file is longer than 16777216 characters'])
  })

  test('aliases may stand for 100,000 values, and not for one more', () => {
    const list = `[${Array.from({ length: 999 }, () => 'x').join(', ')}]`
    const hundred = Array.from({ length: 100 }, () => '*a').join(', ')
    assert.deepEqual(messagesOf(`a: &a ${list}\nb: [${hundred}]\n`), [])
    const [message = ''] = messagesOf(`a: &a ${list}\nb: [${hundred}]\nc: &c x\nd: *c\n`)
    assert.match(message, /^4:4 the aliases of this file stand for more than 100000 values/)
  })

  test('a thousand broken lines are told as twenty', () => {
    assert.equal(messagesOf('- @\n'.repeat(1000)).length, 20)
  })

  test('a map has no prototype to be reached through', () => {
    const result = parseYaml(file, '__proto__: { polluted: true }\nconstructor: 1\n')
    assert.ok('source' in result)
    assert.equal(Object.getPrototypeOf(result.source.value), null)
    assert.deepEqual(Object.keys(result.source.value as object), ['__proto__', 'constructor'])
  })

  test('a place behind an alias is the place of the alias', () => {
    const result = parseYaml(file, 'a: &a { b: 1 }\nc: *a\n')
    assert.ok('source' in result)
    assert.deepEqual(result.source.place(['c', 'b'], 'value'), { file, line: 2, column: 4 })
    assert.deepEqual(result.source.place(['a', 'b'], 'key'), { file, line: 1, column: 9 })
    assert.deepEqual(result.source.place(['a', 'x', 'y'], 'value'), { file, line: 1, column: 7 })
  })
})

describe('whatever stands in the file', () => {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what no terminal shall be sent
  const obeyed = /[\0-\x1f\x7f-\x9f\u2028\u2029\u202e]/
  const insides = /undefined|NaN|\[object| {4}at /

  function assertTold(text: string): void {
    const { config, errors, brokenSites } = loadConfig(file, onlyFile(text))
    const all = [...errors, ...brokenSites.flatMap((site) => site.errors)]
    assert.equal(config === undefined, errors.length > 0)
    assert.ok(brokenSites.every((site) => site.errors.length > 0))
    for (const { line, column, message, hint } of all) {
      assert.ok(line >= 1 && column >= 1 && line <= text.split('\n').length)
      assert.doesNotMatch(`${message} ${hint ?? ''}`, insides)
      assert.doesNotMatch(`${message} ${hint ?? ''}`, obeyed)
    }
  }

  test('any text is a configuration or a list of mistakes', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 200 }), (text) => void loadConfig(file, onlyFile(text))),
      { numRuns: 500 },
    )
  })

  test('any heap of YAML is a configuration or a list of mistakes', () => {
    const words = fc.constantFrom(
      ...['listeners', 'vhosts', 'hosts', 'certificate', 'log', 'timeouts', '<<', '__proto__', 'a', '0', '1.5', 'null'],
      ...[
        ': ',
        ':',
        '- ',
        '? ',
        '\n',
        '\n  ',
        '\n    ',
        ' ',
        '\t',
        '[',
        ']',
        '{',
        '}',
        ', ',
        '#',
        '|',
        '>',
        '---',
        '...',
      ],
      ...[
        '&a ',
        '*a',
        '*.a',
        '!x ',
        '!!set ',
        '!!binary ',
        '"',
        "'",
        '@',
        '%YAML 1.1',
        '\\',
        '\u2028',
        '\ufeff',
        '\0',
        '\r',
      ],
    )
    const heap = fc.array(words, { maxLength: 40 }).map((parts) => parts.join(''))
    fc.assert(
      fc.property(heap, (text) => assertTold(text)),
      { numRuns: 500 },
    )
  })

  test('a sound configuration with a piece replaced is a configuration or a list of mistakes', () => {
    const pieces = fc.constantFrom(
      '',
      ' ',
      '\n',
      '*',
      '&pair',
      '[',
      '{',
      ': ',
      '"',
      '-',
      '0',
      'null',
      '__proto__: ',
      '\t',
      '!!map',
    )
    const positions = fc.nat(sound.length)
    fc.assert(
      fc.property(positions, fc.nat(12), pieces, (start, length, piece) => {
        assertTold(sound.slice(0, start) + piece + sound.slice(start + length))
      }),
      { numRuns: 500 },
    )
  })

  test('any values under the right keys are a configuration or a list of mistakes', () => {
    const tree = fc.letrec((tie) => ({
      value: fc.oneof(
        { maxDepth: 4 },
        fc.oneof(fc.string(), fc.integer(), fc.double(), fc.boolean(), fc.constant(null)),
        fc.array(tie('value'), { maxLength: 3 }),
        fc.dictionary(keys(), tie('value'), { maxKeys: 4 }),
      ),
    }))
    fc.assert(
      fc.property(fc.dictionary(keys(), tree.value, { maxKeys: 5 }), (value) => assertTold(JSON.stringify(value))),
      { numRuns: 500 },
    )
  })
})

function keys(): fc.Arbitrary<string> {
  const main = ['listeners', 'fallbackCertificate', 'vhosts', 'include', 'via', 'reload', 'timeouts', 'limits', 'log']
  const site = [
    'hosts',
    'certificate',
    'upstream',
    'respond',
    'redirect',
    'name',
    'bind',
    'tls',
    'cert',
    'key',
    'status',
    'to',
  ]
  return fc.constantFrom(...main, ...site, '__proto__', 'toString', '', '0')
}
