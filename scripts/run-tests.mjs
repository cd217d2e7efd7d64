// Runs one group of tests on what tsc built: `unit` needs nothing but Node, `interop` needs Debian's programs and
// installs those that are missing where it may. Node 20's test runner takes no globs, so the files are listed here.
import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { isAbsolute, join } from 'node:path'

const testDeadlineMs = 600_000
const installDeadlineMs = 180_000

/** The programs that the interop tests drive, or files of theirs, and the Debian packages that hold them. */
const packageOf = {
  nginx: 'nginx-light',
  haproxy: 'haproxy',
  curl: 'curl',
  h2load: 'nghttp2-client',
  openssl: 'openssl',
  chromium: 'chromium',
  '/usr/lib/nginx/modules/ngx_stream_module.so': 'libnginx-mod-stream',
  'php-fpm': 'php-fpm',
}

const [group, filter] = process.argv.slice(2)
if (group === 'interop') installMissing()
process.exitCode = runTests(testFiles())
if (group === 'interop' && missingPrograms().length > 0) {
  console.error(`SKIPPED what needs ${missingPrograms().join(', ')}: not installed; the count is above under "skipped"`)
}

function testFiles() {
  return readdirSync('dist/test', { recursive: true })
    .filter((name) => name.endsWith('.test.js'))
    .filter((name) => name.startsWith('interop') === (group === 'interop'))
    .filter((name) => filter === undefined || name.includes(filter))
    .map((name) => join('dist/test', name))
    .sort()
}

function runTests(files) {
  if (files.length === 0) {
    console.error(`no ${group} tests match ${filter ?? 'at all'}`)
    return 1
  }
  // By default the runner leaves one core alone, which on two cores doubles the time.
  const concurrency = `--test-concurrency=${availableParallelism()}`
  const options = ['--test', '--test-reporter=spec', `--test-timeout=${testDeadlineMs}`, concurrency]
  return spawnSync(process.execPath, [...options, ...files], { stdio: 'inherit' }).status ?? 1
}

// One by one: a browser that cannot be had costs the others nothing.
function installMissing() {
  if (process.getuid?.() !== 0 || !isInstalled('apt-get')) return
  for (const program of missingPrograms()) installPackage(packageOf[program])
}

function installPackage(name) {
  console.error(`installing ${name}`)
  const install = ['install', '--yes', '--no-install-recommends', name]
  if (aptGet(install) === 0) return
  aptGet(['update'])
  aptGet(install)
}

function aptGet(words) {
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' }
  return spawnSync('apt-get', ['-qq', ...words], { env, stdio: 'ignore', timeout: installDeadlineMs }).status
}

function missingPrograms() {
  return Object.keys(packageOf).filter((program) => !isInstalled(program))
}

function isInstalled(program) {
  if (isAbsolute(program)) return existsSync(program)
  // Debian has the version of PHP in the name of its program.
  if (program === 'php-fpm') return readdirSync('/usr/sbin').some((name) => /^php-fpm[\d.]*$/.test(name))
  const folders = `${process.env.PATH}:/usr/sbin`.split(':')
  return folders.some((folder) => existsSync(join(folder, program)))
}
