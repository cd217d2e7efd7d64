// Request targets (RFC 9112 §3.2): passed byte for byte, or refused; an absolute-form leaves as an origin-form.
import { forwarded, type Row, refused, shown, unchanged } from './row.js'

function withTarget(target: string, options: { method?: string; host?: string } = {}): string {
  return `${options.method ?? 'GET'} ${target} HTTP/1.1\r\nHost: ${options.host ?? 'a.example'}\r\n\r\n`
}

/** An absolute-form and what it leaves as. */
function absolute(target: string, leaves: { target: string; host?: string; method?: string }): Row {
  const method = leaves.method ?? 'GET'
  return forwarded(`the absolute-form ${method} ${target}`, withTarget(target, { method }), {
    head: `${method} ${leaves.target} HTTP/1.1\r\nhost: ${leaves.host ?? 'a.example'}\r\n\r\n`,
  })
}

const originForms = [
  '/a/b.html',
  '//a',
  '/a//b/',
  '//b.example/x',
  '/.',
  '/../../etc/passwd',
  '/a/./b/../c',
  '/%2e%2e/%2F',
  '/%00',
  '/%0d%0aX:%20y',
  '/%zz%',
  '/?',
  '/?a=b&c=d?e/f',
  '/a;b=c',
  '/@:,!$&()*+',
  '/{a}|b^c`d"e<f>g\\h',
  '/http://b.example/',
  `/${'a'.repeat(400)}`,
]

const refusedTargets = [
  '/#fragment',
  '/a#',
  '/a b',
  '/\t',
  '/\0',
  '/\x01',
  '/\x7f',
  '/\x80',
  '/\xe9',
  '/\r',
  '/\n',
  '/\x0b',
  'a',
  'a/b',
  '?a=b',
  '.',
  '\\a',
  '%2f',
  '*',
  '**',
  '*/a',
  'a.example',
  'a.example:443',
  ':443',
  'http:',
  'http:/',
  'http://',
  'http:///a',
  'http://?a',
  'http:a.example/',
  'http:/a.example/',
  '://a.example/',
  'ftp://a.example/',
  'file:///etc/passwd',
  'javascript:alert(1)',
  'http+unix://a.example/',
]

/** Rows about the request target. */
export const targetRows: readonly Row[] = [
  ...originForms.map((target) => unchanged(`the target ${shown(target.slice(0, 40))} passes`, withTarget(target))),
  ...refusedTargets.map((target) => refused(`the target ${shown(target)}`, withTarget(target))),
  unchanged('OPTIONS * passes', withTarget('*', { method: 'OPTIONS' })),
  refused('OPTIONS **', withTarget('**', { method: 'OPTIONS' })),
  refused('HEAD *', withTarget('*', { method: 'HEAD' })),
  absolute('http://a.example/x', { target: '/x' }),
  absolute('https://a.example/x', { target: '/x' }),
  absolute('http://a.example', { target: '/' }),
  absolute('http://a.example?x=y', { target: '/?x=y' }),
  absolute('http://a.example//b.example', { target: '//b.example' }),
  absolute('HTTP://A.Example/', { target: '/', host: 'A.Example' }),
  absolute('http://a.example:80/', { target: '/', host: 'a.example:80' }),
  absolute('http://a.example:/', { target: '/', host: 'a.example:' }),
  absolute('http://a.example./', { target: '/', host: 'a.example.' }),
  absolute('http://a.example/http://b.example/', { target: '/http://b.example/' }),
  absolute('http://a.example', { target: '*', method: 'OPTIONS' }),
  absolute('http://a.example/', { target: '/', method: 'OPTIONS' }),
  ...[
    'http://u@a.example/',
    'http://u:p@a.example/',
    'http://a.example@b.example/',
    'http://a.example:x/',
    'http://a.example:70000/',
    'http://a.example:80:80/',
    'http://a.example,b.example/',
    'http://a.example\\@b.example/',
    'http://a.example#b.example/',
    'http://a..example/',
    'http://.a.example/',
    'http://[::1/',
    'http://a.example%00/',
    'http://b.example/',
  ].map((target) => refused(`the absolute-form ${shown(target)} with the Host a.example`, withTarget(target))),
  refused('an absolute-form without a Host', 'GET http://a.example/ HTTP/1.1\r\n\r\n'),
  refused('an absolute-form with an empty Host', withTarget('http://a.example/', { host: '' })),
  refused(
    'an absolute-form with two Hosts',
    'GET http://a.example/ HTTP/1.1\r\nHost: a.example\r\nHost: a.example\r\n\r\n',
  ),
]
