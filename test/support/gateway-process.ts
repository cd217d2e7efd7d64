// A gateway in a process of its own, so that a test can weigh it: sends its port, ends with its parent.
import { forwardTo, Gateway } from './gateway.js'

const gateway = await new Gateway({ sites: { 'a.example': forwardTo(Number(process.argv[2])) } }).open()
process.send?.(gateway.port)
process.on('disconnect', () => process.exit())
