// What a test of loading says of a configuration in few words.

import assert from 'node:assert/strict'
import type { Config } from '../../src/config/config.js'
import { type LoadedConfig, loadConfig } from '../../src/config/load.js'
import type { UpstreamConfig } from '../../src/config/upstream-config.js'
import { directory, filesOf, onlyFile, type Section } from './case.js'

/** The main file of every test. */
export const mainFile = `${directory}/hostward.yaml`
/** One TLS listener. */
export const listeners = 'listeners: [{ name: public, bind: ":443" }]\n'

/** Loads files by name. */
export function load(texts: Readonly<Record<string, string>>): LoadedConfig {
  const sections = Object.entries(texts).map(([name, text]): [string, Section] => [`${directory}/${name}`, { text }])
  return loadConfig(mainFile, filesOf(new Map(sections)))
}

/** A main file without any mistake. */
export function configOf(text: string): Config {
  const { config, errors, brokenSites } = loadConfig(mainFile, onlyFile(text))
  assert.deepEqual([errors, brokenSites], [[], []])
  assert.ok(config !== undefined)
  return config
}

/** An upstream without any mistake. */
export function upstreamOf(text: string): UpstreamConfig {
  const upstream = configOf(`${listeners}upstreams:\n  shop:${text}\n`).upstreams.get('shop')
  assert.ok(upstream !== undefined)
  return upstream
}

/** A site as an entry of `vhosts`. */
export function site(host: string, rest: string): string {
  return `  - { hosts: ["${host}"], certificate: { cert: a.pem, key: a.key }, ${rest} }\n`
}
