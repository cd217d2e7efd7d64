// Which route a path leads to, and which paths are refused because another reader could see another route in them.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { actionFor, targetBehind } from '../../src/http/routes.js'
import type { VirtualHost } from '../../src/http/routing.js'
import { respondWith } from '../support/gateway.js'

const names = ['/api/v2', '/admin', '/api', '/a']
const actions = new Map(names.map((path) => [path, respondWith(path)]))
const own = respondWith('own')
const site: VirtualHost = {
  id: 'a.example',
  action: own,
  access: true,
  routes: names.map((path) => ({ path, action: actions.get(path) ?? own })),
}

function routeOf(target: string): string | undefined {
  const action = actionFor(site, target)
  return action?.kind === 'respond' ? action.body.toString() : undefined
}

describe('the longest prefix on a segment boundary wins', () => {
  for (const [target, route] of Object.entries({
    '/api': '/api',
    '/api/': '/api',
    '/api?x=/admin': '/api',
    '/api/x': '/api',
    '/api/v2': '/api/v2',
    '/api/v2/x': '/api/v2',
    '/api/v22': '/api',
    '/apis': 'own',
    '/API': 'own',
    '/': 'own',
    '/?/api': 'own',
    '*': 'own',
    '/x/api': 'own',
    '/a': '/a',
    '/a.b': 'own',
  })) {
    test(`${target} leads to ${route}`, () => assert.equal(routeOf(target), route))
  }
})

describe('a path that every reader takes for the same route passes', () => {
  for (const [target, route] of Object.entries({
    '/api/group%2Fproject': '/api',
    '/api/%7Euser': '/api',
    '/api//x': '/api',
    '/api/x;v=1': '/api',
    '/.well-known/acme-challenge/x': 'own',
    '/api/.hidden': '/api',
    '/api/...': '/api',
    '/api/x?y=../../admin&z=%2e%2e': '/api',
    '/proxy/https://other.example/': 'own',
    '/%zz': 'own',
    '/x%2Fapi': 'own',
    '/%': 'own',
  })) {
    test(`${target} leads to ${route}`, () => assert.equal(routeOf(target), route))
  }
})

describe('a path that somebody reads as that of another route is refused', () => {
  for (const target of [
    '/api/../admin',
    '/api/%2e%2e/admin',
    '/api/.%2E/admin',
    '/api/..%2fadmin',
    '/api/..;/admin',
    '/api/..;x=1/admin',
    '/api/%2e%2e%3b/admin',
    '/api/..\\admin',
    '/api/..%5cadmin',
    '/api\\..\\admin',
    '/api/.',
    '/api/./x',
    '/x/..',
    '//api',
    '//admin/x',
    '/;x/admin',
    '/%61dmin',
    '/admin%2Fx',
    '/admin;v=1',
    '/admin\\x',
    '/%2fadmin',
    '/api%2fv2',
    '/api//v2',
    '/api/v2;x/y',
    '/api/v%32',
  ]) {
    test(target, () => assert.equal(routeOf(target), undefined))
  }
})

test('property: where a path passes, no reader that does a part of what the fullest does sees another route', () => {
  const pieces = ['api', 'admin', 'v2', '/', '//', '%2f', '%61pi', ';x', '\\', '.', '%2e', 'x', '/api', '/admin', '/v2']
  let state = 7
  const next = (bound: number) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0
    return (state >>> 8) % bound
  }
  const steps: readonly ((path: string) => string)[] = [
    (path) => path.replace(/%([0-9a-f]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16))),
    (path) => path.replace(/;[^/\\]*/g, ''),
    (path) => path.replaceAll('\\', '/'),
    (path) => path.replace(/\/{2,}/g, '/'),
  ]
  for (let count = 0; count < 20_000; count++) {
    const target = `/${Array.from({ length: next(7) }, () => pieces[next(pieces.length)]).join('')}`
    const route = routeOf(target)
    if (route === undefined) continue
    let path = target
    for (let step = 0; step < 6; step++) {
      path = steps[next(steps.length)](path)
      assert.equal(longestOf(path), route, `${target} read as ${path}`)
    }
  }
})

function longestOf(path: string): string {
  return names.find((name) => path === name || path.startsWith(`${name}/`)) ?? 'own'
}

test('a site without routes takes every path', () => {
  assert.equal(actionFor({ id: 'a.example', action: own, access: true }, '/a/../%2e'), own)
})

test('what is behind a prefix is a target again', () => {
  const targets = ['/api', '/api/', '/api/x?y', '/api?y=/api']
  assert.deepEqual(
    targets.map((target) => targetBehind(target, '/api'.length)),
    ['/', '/', '/x?y', '/?y=/api'],
  )
  assert.equal(targetBehind('*', 0), '*')
})
