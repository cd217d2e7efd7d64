import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { type LoadedConfig, loadConfig } from '../../src/config/load.js'
import { reference } from '../support/config-reference.js'
import { directory, onlyFile } from './case.js'

const root = fileURLToPath(new URL('../../../', import.meta.url))
const mainFile = `${root}config/hostward.yaml`
const text = readFileSync(mainFile, 'utf8')

function loadFromDisk(): LoadedConfig {
  return loadConfig(mainFile, { read: (path) => readFileSync(path, 'utf8'), list: (path) => readdirSync(path) })
}

describe('the example configuration', () => {
  test('has no mistakes', () => {
    const { errors, brokenSites } = loadFromDisk()
    assert.deepEqual([errors, brokenSites], [[], []])
  })

  test('serves two sites, over TLS and plainly', () => {
    const { config } = loadFromDisk()
    assert.deepEqual(
      config?.vhosts.map(({ id, listeners }) => [id, listeners]),
      [
        ['site-a.example.com', ['public', 'plain']],
        ['site-b.example.com', ['public', 'plain']],
      ],
    )
    assert.deepEqual(
      config?.listeners.map(({ name, bind, tls, http2 }) => [name, bind.host, bind.port, tls, http2]),
      [
        ['public', '127.0.0.1', 8443, true, true],
        ['plain', '127.0.0.1', 8080, false, false],
      ],
    )
  })

  test('names its certificates by absolute path', () => {
    const { config } = loadFromDisk()
    assert.deepEqual(
      config?.vhosts.flatMap(({ certificates }) => certificates.map(({ cert }) => cert)),
      [`${root}certs/site-a.pem`, `${root}certs/site-b.pem`],
    )
    assert.equal(config?.fallbackCertificate?.key, `${root}certs/default.key`)
  })

  test('mentions every key', () => {
    for (const { key } of reference()) {
      const name = key.split('.').at(-1) ?? ''
      assert.match(text, new RegExp(`\\b${name}:`), `${key} is not there`)
    }
  })

  test('shows the defaults: with the comments taken off its settings nothing changes', () => {
    const settings = /^# (?=(?:include|via|reload|timeouts|limits|log):| {2,4}\w)/gm
    const uncommented = text.replace(settings, '')
    assert.notEqual(uncommented, text)
    const [shown, unset] = [uncommented, text].map((each) => loadConfig(`${directory}/hostward.yaml`, onlyFile(each)))
    const placeless = (loaded: LoadedConfig | undefined) => ({
      ...loaded?.config,
      listeners: [],
      vhosts: [],
      fallbackCertificate: null,
      log: { ...loaded?.config?.log, place: null },
    })
    assert.deepEqual(shown?.errors, [])
    assert.deepEqual(placeless(shown), placeless(unset))
    assert.match(uncommented, /^ {2}shutdownMs: 30000$/m)
  })
})
