// Run as a process of its own by file-watch.test.ts: uses up its file descriptors, so that no watch can be made, then
// gives them back and says what a FileWatch reports after all.
import { closeSync, openSync, writeFileSync } from 'node:fs'
import { FileWatch } from '../../src/files/file-watch.js'

const path = process.argv[2] ?? ''
const held: number[] = []
try {
  for (;;) held.push(openSync('/dev/null', 'r'))
} catch (error) {
  console.log((error as NodeJS.ErrnoException).code)
}
const watch = new FileWatch({
  watch: true,
  pollMs: 20,
  debounceMs: 20,
  onSignalLost: (error: NodeJS.ErrnoException) => {
    console.log(`lost ${error.code}`)
    for (const descriptor of held) closeSync(descriptor)
    writeFileSync(path, 'new')
  },
  onChange: (paths) => {
    console.log(`changed ${[...paths].join()}`)
    void watch.close()
  },
})
watch.setFiles([{ path, version: { identity: undefined, hash: undefined } }])
