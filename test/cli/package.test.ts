import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const execute = promisify(execFile)
const root = fileURLToPath(new URL('../../..', import.meta.url))
// Without its scripts: they would build again under the feet of the other tests.
const pack = ['pack', '--json', '--ignore-scripts', '--offline'] as const

const wanted =
  /^(?:dist\/src\/.+\.js|config\/.+\.yaml|certs\.example\/.+\.(?:md|mjs)|package\.json|README\.md|LICENSE|CHANGELOG\.md)$/

test('the package holds what is needed to run and no more', async () => {
  const { stdout } = await execute('npm', [...pack, '--dry-run'], { cwd: root })
  const [{ files }] = JSON.parse(stdout) as [{ files: readonly { path: string }[] }]
  const paths = files.map(({ path }) => path)
  assert.deepEqual(
    paths.filter((path) => !wanted.test(path)),
    [],
  )
  const sources = readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' }).filter((path) =>
    path.endsWith('.ts'),
  )
  const built = sources.map((path) => `dist/src/${path.replace(/\.ts$/, '.js')}`)
  const needed = [...built, 'config/hostward.yaml', 'package.json', 'LICENSE']
  assert.deepEqual(
    needed.filter((path) => !paths.includes(path)),
    [],
  )
})

test('the packed program runs under the name that npm links', async (context) => {
  const directory = mkdtempSync(join(tmpdir(), 'hostward-pack-'))
  context.after(() => rmSync(directory, { recursive: true, force: true }))
  const { stdout } = await execute('npm', [...pack, '--pack-destination', directory], { cwd: root })
  const [{ filename }] = JSON.parse(stdout) as [{ filename: string }]
  await execute('tar', ['-xzf', join(directory, filename), '-C', directory])
  symlinkSync(join(root, 'node_modules'), join(directory, 'package/node_modules'))
  const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  mkdirSync(join(directory, 'bin'))
  const program = join(directory, 'bin/hostward')
  symlinkSync(join(directory, 'package', manifest.bin.hostward), program)
  const version = await execute(process.execPath, [program, '--version'])
  assert.deepEqual(version, { stdout: `${manifest.version}\n`, stderr: '' })
  const schema = await execute(process.execPath, [program, 'check', '--schema'])
  assert.equal(JSON.parse(schema.stdout).title, 'Hostward')
})
