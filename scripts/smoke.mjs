// The README's promise, kept by a machine: `npm start` on a fresh clone serves both example sites, each request on its
// own Host, and ends well. Used by CI; fails with the sentence that does not hold.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import http from 'node:http'
import http2 from 'node:http2'
import https from 'node:https'
import { createInterface } from 'node:readline'
import { text } from 'node:stream/consumers'

const siteA = 'site-a.example.com'
const siteB = 'site-b.example.com'
const stranger = 'unknown.example.net'
const startDeadlineMs = 120_000
const stopDeadlineMs = 35_000

const program = spawn('npm', ['start', '--silent'], { stdio: ['ignore', 'pipe', 'inherit'] })
const exited = once(program, 'exit')
try {
  const ports = await within(startDeadlineMs, 'npm start tells that both listeners accept', listeningPorts())
  await checkHttp1(ports.tls)
  await checkHttp2(ports.tls)
  await checkPlain(ports.plain)
  process.kill(servingProcess(), 'SIGTERM')
  const [code] = await within(stopDeadlineMs, 'SIGTERM ends it', exited)
  assert.equal(code, 0, 'SIGTERM ends it with exit code 0')
  console.log('smoke: every promise held')
} catch (error) {
  console.error(`smoke: ${error.message}`)
  process.exitCode = 1
} finally {
  if (program.exitCode === null) process.kill(servingProcess(), 'SIGKILL')
}

/** The ports by kind, once one listener of each kind accepts; every line on the way has to be JSON. */
async function listeningPorts() {
  const ports = {}
  const lines = createInterface({ input: program.stdout })
  for await (const line of lines) {
    const { event, tls, port } = JSON.parse(line)
    if (event === 'listening') ports[tls ? 'tls' : 'plain'] = port
    if (ports.tls !== undefined && ports.plain !== undefined) break
  }
  assert.ok(ports.tls && ports.plain, 'npm start serves a TLS listener and a plain one')
  // Whoever stops reading a pipe holds up the writer.
  program.stdout.resume()
  return ports
}

/** One connection, opened with A's SNI, asked for every site. */
async function checkHttp1(port) {
  const agent = new https.Agent({ keepAlive: true, maxSockets: 1 })
  const ask = (host) => get(https, { port, agent, servername: siteA, rejectUnauthorized: false, headers: { host } })
  checkAnswers({ wire: 'HTTP/1.1', a: await ask(siteA), b: await ask(siteB), unknown: await ask(stranger) })
  const direct = await get(https, { port, servername: siteB, rejectUnauthorized: false, headers: { host: siteB } })
  const pooled = await ask(siteB)
  assert.deepEqual(pooled, direct, "B's Host over A's connection gets what B's own connection gets")
  agent.destroy()
}

async function checkHttp2(port) {
  const session = http2.connect(`https://127.0.0.1:${port}`, { servername: siteA, rejectUnauthorized: false })
  const ask = async (host) => {
    const stream = session.request({ ':path': '/', ':authority': host })
    const [headers] = await once(stream, 'response')
    return { status: headers[':status'], body: await text(stream) }
  }
  const [a, b, unknown] = await Promise.all([ask(siteA), ask(siteB), ask(stranger)])
  checkAnswers({ wire: 'HTTP/2', a, b, unknown })
  session.destroy()
}

function checkAnswers({ wire, a, b, unknown }) {
  assert.equal(a.status, 200, `${wire}: site A answers 200`)
  assert.equal(b.status, 200, `${wire}: site B answers 200`)
  assert.notEqual(a.body, b.body, `${wire}: each site has its own answer`)
  assert.equal(unknown.status, 421, `${wire}: an unknown Host is answered 421`)
}

async function checkPlain(port) {
  const known = await get(http, { port, agent: false, headers: { host: siteA } })
  assert.ok([200, 308].includes(known.status), 'the plain listener knows site A')
  const unknown = await get(http, { port, agent: false, headers: { host: stranger } })
  assert.equal(unknown.status, 421, 'the plain listener answers an unknown Host with 421')
}

async function get(module, options) {
  const request = module.get({ host: '127.0.0.1', path: '/', ...options })
  const [response] = await once(request, 'response')
  return { status: response.statusCode, body: await text(response) }
}

/** npm starts a shell that starts the program: the youngest of its descendants. */
function servingProcess() {
  let pid = program.pid
  for (;;) {
    const [child] = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean)
    if (child === undefined) return pid
    pid = Number(child)
  }
}

async function within(deadlineMs, promise, work) {
  let timer
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`not within ${deadlineMs / 1000} s: ${promise}`)), deadlineMs)
  })
  try {
    return await Promise.race([work, late])
  } finally {
    clearTimeout(timer)
  }
}
