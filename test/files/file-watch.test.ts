// Changes on disk as editors and certificate tools make them, on real directories.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import {
  appendFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { readVersion } from '../../src/files/file-content.js'
import type { FileUse } from '../../src/files/watched-set.js'
import { layouts } from './file-layouts.js'
import { deadlineMs, Observed } from './observed-watch.js'

const root = mkdtempSync(join(tmpdir(), 'hostward-watch-'))
after(() => rmSync(root, { recursive: true }))

const never = 3_600_000

function folder(): string {
  return mkdtempSync(join(root, 'case-'))
}

function versions(...paths: string[]): readonly FileUse[] {
  return paths.map((path) => ({ path, version: readVersion(path) }))
}

for (const layout of layouts) {
  test(`a file ${layout.name} is reported the first, second and third time`, async () => {
    const directory = folder()
    const path = layout.prepare(directory)
    const observed = new Observed({})
    observed.watch.setFiles(versions(path))
    for (const turn of [1, 2, 3]) {
      assert.deepEqual(await observed.report(() => layout.renew(directory, turn)), [path])
      assert.equal(readFileSync(path, 'utf8'), `content ${turn}`)
    }
    await observed.watch.close()
    assert.equal(observed.reports.length, 3, 'one report for each change')
  })
}

for (const layout of layouts.filter((layout) => !layout.name.includes('swapped whole'))) {
  test(`a file ${layout.name} is signalled without waiting for the poll`, async () => {
    const directory = folder()
    const path = layout.prepare(directory)
    const observed = new Observed({ pollMs: never })
    observed.watch.setFiles(versions(path))
    let turn = 0
    for (const round of [1, 2, 3]) {
      const count = observed.reports.length
      const startMs = performance.now()
      // The system's watch is set up at some time after setFiles, so the change is made again until it is seen.
      do {
        turn += 1
        layout.renew(directory, turn)
      } while (!(await observed.reportBeyond(count, 1_000)) && performance.now() - startMs < deadlineMs)
      assert.ok(observed.reports.length > count, `no signal in round ${round}`)
    }
    await observed.watch.close()
  })
}

test('files written together are reported together', async () => {
  const directory = folder()
  const paths = ['cert', 'chain', 'key'].map((name) => join(directory, name))
  for (const path of paths) writeFileSync(path, 'old')
  const observed = new Observed({ debounceMs: 150 })
  observed.watch.setFiles(versions(...paths))
  const reported = await observed.report(() => {
    for (const path of paths) writeFileSync(path, 'new')
  })
  assert.deepEqual(reported, paths)
  await observed.watch.close()
})

test('a file that is touched or rewritten with the same content is not reported', async () => {
  const directory = folder()
  const [quiet, other] = [join(directory, 'quiet'), join(directory, 'other')]
  writeFileSync(quiet, 'same')
  writeFileSync(other, 'old')
  const observed = new Observed({ watch: false })
  observed.watch.setFiles(versions(quiet, other))
  rmSync(quiet)
  writeFileSync(quiet, 'same')
  writeFileSync(other, 'new')
  assert.deepEqual([...(await observed.watch.checkNow())], [other])
})

test('a missing file is reported when it comes, when it goes and when it comes back', async () => {
  const directory = folder()
  const path = join(directory, 'below', 'file')
  const observed = new Observed({})
  observed.watch.setFiles(versions(path))
  const write = (): void => {
    mkdirSync(join(directory, 'below'), { recursive: true })
    writeFileSync(path, 'x')
  }
  assert.deepEqual(await observed.report(write), [path])
  assert.deepEqual(await observed.report(() => rmSync(join(directory, 'below'), { recursive: true })), [path])
  assert.deepEqual(await observed.report(write), [path])
  await observed.watch.close()
})

test('a directory is reported when a name in it comes or goes', async () => {
  const directory = folder()
  const observed = new Observed({})
  observed.watch.setFiles(versions(directory))
  assert.deepEqual(await observed.report(() => writeFileSync(join(directory, 'new.yaml'), '')), [directory])
  assert.deepEqual(await observed.report(() => rmSync(join(directory, 'new.yaml'))), [directory])
  await observed.watch.close()
})

test('a change between reading a file and watching it is not missed', async () => {
  const path = join(folder(), 'file')
  writeFileSync(path, 'read')
  const used = versions(path)
  writeFileSync(path, 'late')
  const observed = new Observed({ watch: false })
  observed.watch.setFiles(used)
  assert.deepEqual([...(await observed.watch.checkNow())], [path])
  assert.deepEqual([...(await observed.watch.checkNow())], [], 'and is told once')
})

test('a file that goes between being read and being watched is not missed', async () => {
  const path = join(folder(), 'file')
  const observed = new Observed({ watch: false })
  // As one says it that has read the bytes and not looked at the file.
  observed.watch.setFiles([{ path, version: { identity: undefined, hash: 'of what was read' } }])
  assert.deepEqual([...(await observed.watch.checkNow())], [path])
  assert.deepEqual([...(await observed.watch.checkNow())], [], 'and is told once')
  observed.watch.setFiles([{ path, version: { identity: undefined, hash: undefined } }])
  assert.deepEqual([...(await observed.watch.checkNow())], [], 'one that was not there either is as it was')
})

test('a file that is no longer in the set is not reported', async () => {
  const directory = folder()
  const [kept, dropped] = [join(directory, 'kept'), join(directory, 'dropped')]
  const observed = new Observed({ watch: false })
  observed.watch.setFiles(versions(kept, dropped))
  observed.watch.setFiles(versions(kept))
  writeFileSync(dropped, 'x')
  writeFileSync(kept, 'x')
  assert.deepEqual([...(await observed.watch.checkNow())], [kept])
})

test('a file that never stops changing does not hold back another one', async () => {
  const directory = folder()
  const [restless, calm] = [join(directory, 'restless'), join(directory, 'calm')]
  writeFileSync(restless, '')
  writeFileSync(calm, 'old')
  const observed = new Observed({ debounceMs: 50 })
  observed.watch.setFiles(versions(restless, calm))
  const writer = setInterval(() => appendFileSync(restless, '.'), 5)
  const reported = await observed.report(() => writeFileSync(calm, 'new'))
  clearInterval(writer)
  await observed.watch.close()
  assert.ok(reported.includes(calm))
})

test('without watching nothing is reported but by checkNow', async () => {
  const path = join(folder(), 'file')
  const observed = new Observed({ watch: false, pollMs: 5, debounceMs: 5 })
  observed.watch.setFiles(versions(path))
  writeFileSync(path, 'x')
  assert.equal(await observed.reportBeyond(0, 100), false)
  assert.deepEqual([...(await observed.watch.checkNow())], [path])
})

test('a closed watch reports nothing and leaves no timer or handle', async () => {
  const handles = (): string[] =>
    process.getActiveResourcesInfo().filter((kind) => /Timeout|FSEvent|StatWatcher/.test(kind))
  const before = handles()
  const path = join(folder(), 'file')
  const observed = new Observed({})
  await observed.report(() => {
    observed.watch.setFiles([{ path, version: { identity: undefined, hash: undefined } }])
    writeFileSync(path, 'x')
  })
  await observed.watch.close()
  writeFileSync(path, 'y')
  assert.equal(await observed.reportBeyond(1, 100), false)
  assert.deepEqual(handles(), before)
})

test('a flood of changes that the system cannot keep in mind is seen whole, without the poll', async () => {
  const directory = folder()
  const paths = Array.from({ length: 6_000 }, (_, index) => join(directory, `file${index}`))
  for (const path of paths) writeFileSync(path, 'old')
  const observed = new Observed({ pollMs: never })
  observed.watch.setFiles(versions(...paths))
  const [first = ''] = paths
  // Once it is told, all has been looked at and the directory is under watch.
  assert.deepEqual(await observed.report(() => writeFileSync(first, 'once')), [first])
  // Nobody reads the system's queue meanwhile.
  for (const path of paths) {
    writeFileSync(`${path}.new`, 'new')
    renameSync(`${path}.new`, path)
  }
  const seen = new Set<string>()
  const startMs = performance.now()
  while (seen.size < paths.length && performance.now() - startMs < deadlineMs) {
    await observed.reportBeyond(observed.reports.length, 1_000)
    for (const report of observed.reports) for (const path of report) seen.add(path)
  }
  await observed.watch.close()
  assert.equal(seen.size, paths.length)
})

test('a directory of many files takes one watch of the system', { skip: process.platform !== 'linux' }, async () => {
  const directory = folder()
  const paths = Array.from({ length: 200 }, (_, index) => join(directory, `file${index}`))
  for (const path of paths) writeFileSync(path, '')
  const before = systemWatches()
  const observed = new Observed({ pollMs: never })
  observed.watch.setFiles(versions(...paths))
  await signalled(observed, paths[0] ?? '')
  assert.ok(systemWatches() - before <= 2, `${systemWatches() - before} watches`)
  await observed.watch.close()
})

test('without a watch of the system the poll goes on, and the loss is told once', {
  skip: process.platform !== 'linux',
}, async () => {
  const path = join(folder(), 'file')
  const script = fileURLToPath(new URL('exhausted-watch.js', import.meta.url))
  const command = 'ulimit -n 48 && exec "$0" "$1" "$2"'
  const { stdout } = await promisify(execFile)('sh', ['-c', command, process.execPath, script, path])
  assert.deepEqual(stdout.trim().split('\n'), ['EMFILE', 'lost EMFILE', `changed ${path}`])
})

async function signalled(observed: Observed, path: string): Promise<void> {
  for (let turn = 0; turn < 20; turn += 1) {
    writeFileSync(path, `${turn}`)
    if (await observed.reportBeyond(0, 1_000)) return
  }
  assert.fail('no signal')
}

function systemWatches(): number {
  const files = readdirSync('/proc/self/fdinfo').map((name) => {
    try {
      return readFileSync(join('/proc/self/fdinfo', name), 'utf8')
    } catch {
      return '' // the descriptor that listed the directory is closed by now
    }
  })
  return files
    .join('')
    .split('\n')
    .filter((line) => line.startsWith('inotify wd:')).length
}
