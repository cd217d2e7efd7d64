// A gateway with TLS in a process of its own, so that a test can weigh it: sends its port, ends with its parent.
import { makeCertificate } from './certificates.js'
import { forwardTo, Gateway } from './gateway.js'

const { cert, key } = await makeCertificate({ names: ['a.example'] })
const sites = { 'a.example': forwardTo(Number(process.argv[2])) }
const gateway = await new Gateway({ sites, tls: { cert, key } }).open()
process.send?.(gateway.port)
process.on('disconnect', () => process.exit())
