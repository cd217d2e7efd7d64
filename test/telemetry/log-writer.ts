// A process that writes log lines to standard output, for the tests that let that output be slow, full or gone.
// Tells its parent over IPC what it did: `written` after all lines, which proves that the loop was never held up.
import { openLog } from '../../src/telemetry/log.js'
import { requestEntry } from './entries.js'

const lineCount = Number(process.argv[2])
const linesPerTurn = 500
const log = openLog({ level: 'info', file: null })

process.on('message', async (message) => {
  if (message === 'say more') log.info('more', 'one more line')
  if (message === 'flush') await log.flush(30_000)
  if (message === 'exit at once') process.exit(0)
  if (message === 'close') {
    await log.close(200)
    process.exit(0)
  }
  process.send?.(message)
})

let written = 0
function writeSome(): void {
  for (let line = 0; line < linesPerTurn && written < lineCount; line += 1) {
    log.request(requestEntry({ generation: written }))
    written += 1
  }
  if (written < lineCount) setImmediate(writeSome)
  else process.send?.('written')
}
writeSome()
