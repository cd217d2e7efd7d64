import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync } from 'node:fs'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { within } from '../support/deadline.js'
import { program, Workspace } from './workspace.js'

const mistaken: readonly (readonly [line: string, message: string, hint: string])[] = [
  ['chekc', 'there is no command "chekc"', 'did you mean "check"?'],
  ['frobnicate', 'there is no command "frobnicate"', 'there are serve, check, certs, why'],
  ['--jsn', 'unknown option --jsn', 'the command comes first: hostward --help'],
  ['help chekc', 'there is no command "chekc"', 'did you mean "check"?'],
  ['check --jsn', 'check has no option --jsn', 'did you mean "--json"?'],
  ['serve --json', 'serve has no option --json', 'hostward serve --help shows its options'],
  ['check other.yaml', 'check does not know what to do with "other.yaml"', 'hostward check --help shows its options'],
  ['certs -c', '-c, --config needs a value', 'hostward certs --help shows its options'],
  ['certs --json=yes', '--json takes no value', 'hostward certs --help shows its options'],
  ['why', '--host is missing', 'hostward why --host site-a.example.com'],
]

for (const [line, message, hint] of mistaken) {
  test(`"hostward ${line}" is exit 2 with a hint`, async (context) => {
    const transcript = await new Workspace(context).transcript(...line.split(' '))
    assert.equal(transcript, `! hostward: ${message}\n!   hint: ${hint}\nexit 2\n`)
  })
}

test('a listener that is not there is exit 2 with a hint', async (context) => {
  const workspace = new Workspace(context)
  workspace.write('config/hostward.yaml', 'listeners: [{ name: public, bind: ":443" }]\n')
  assert.equal(
    await workspace.transcript('why', '--host', 'a.example', '--listener', 'pubic'),
    '! hostward: there is no listener "pubic"\n!   hint: did you mean "public"?\nexit 2\n',
  )
})

const overview = `Usage: hostward COMMAND [options]

  serve  end TLS and route every request on its own Host
  check  tell every mistake of a configuration, its certificates and keys included
  certs  list the certificates, their sites, their end and their defects, the most urgent first
  why    explain which site, certificate and answer a request gets

hostward COMMAND --help shows its options. hostward --version prints the version.
Exit codes: 0 all is well, 1 mistakes or a hand is needed, 2 the command line is wrong.
`

test('help is the result where it is asked for, and a usage error where nothing is', async (context) => {
  const workspace = new Workspace(context)
  assert.equal(await workspace.transcript('--help'), `${overview}exit 0\n`)
  assert.equal(await workspace.transcript('help'), `${overview}exit 0\n`)
  assert.equal(await workspace.transcript(), `${overview.replace(/^(?=.)/gm, '! ')}exit 2\n`)
})

for (const name of ['serve', 'check', 'certs', 'why']) {
  test(`the help of ${name} names every option, the exit codes and nothing wider than 120 columns`, async (context) => {
    const workspace = new Workspace(context)
    const { code, stdout, stderr } = await workspace.run(name, '--help')
    assert.ok(stdout.startsWith(`Usage: hostward ${name} [options]\n`))
    assert.match(stdout, /-c, --config FILE/)
    assert.match(stdout, /Exit codes: 0 /)
    assert.ok(stdout.split('\n').every((line) => line.length <= 120))
    assert.deepEqual({ code, stderr }, { code: 0, stderr: '' })
    assert.equal((await workspace.run('help', name)).stdout, stdout)
  })
}

test('a reader that leaves early does no harm', async (context) => {
  const child = new Workspace(context).start(['check', '--schema'])
  child.stdout.destroy()
  const [[code], stderr] = await within(
    'the program ends',
    Promise.all([once(child, 'exit'), child.stderr.setEncoding('utf8').toArray()]),
  )
  assert.deepEqual({ code, stderr }, { code: 0, stderr: [] })
})

test('a result that cannot be written is one line and exit 1', {
  skip: process.platform !== 'linux',
}, async (context) => {
  const full = openSync('/dev/full', 'w')
  context.after(() => closeSync(full))
  const child = spawn(process.execPath, [program, '--version'], { stdio: ['ignore', full, 'pipe'] })
  assert.ok(child.stderr)
  const [[code], stderr] = await within('the program ends', Promise.all([once(child, 'close'), text(child.stderr)]))
  assert.match(stderr, /^hostward: cannot write the result: [^\n]*\n$/)
  assert.equal(code, 1)
})
