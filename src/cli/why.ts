// hostward why: which certificate, which site and which answer a request would get, and why.
import { didYouMean } from '../config/did-you-mean.js'
import { formatIp, parseIp } from '../net/ip-address.js'
import type { ListenerPlan, Snapshot } from '../server/snapshot.js'
import {
  type Command,
  configFile,
  configOption,
  configUsage,
  exitCode,
  jsonOption,
  jsonUsage,
  type OptionValues,
  type Terminal,
  textOption,
  toJson,
  UsageError,
} from './command.js'
import { explain } from './explanation.js'
import { formatExplanation } from './explanation-text.js'
import { findingsOf } from './findings.js'
import { inspect } from './inspection.js'
import { tellUnusable } from './unusable.js'
import type { AskedAddresses } from './visit.js'

/** The command. */
export const why: Command = {
  name: 'why',
  summary: 'explain which site, certificate and answer a request gets',
  usage: [
    configUsage,
    '--host HOST          what the request names in Host or :authority; required',
    '--path PATH          path and query of the request (/)',
    '--sni NAME           what the client asked for in the handshake (the host); "" for none',
    '--client ADDRESS     the client: whether it is let in, who it is taken for, which endpoint it gets',
    '--peer ADDRESS       who connects, where that is a proxy in front which names the client in a header',
    '--claimed ADDRESS    whom the PROXY header of the peer names, where it sends one',
    '--listener NAME      ask this listener alone (all of them)',
    jsonUsage,
  ],
  details: [
    'Reads the files as they are now, through the code that serves them. A server that runs may still serve',
    'what it read before: its log says which generation, and which sites are degraded.',
    'Example: hostward why --host site-b.example.com --sni site-a.example.com',
    'Exit codes: 0 a site answers, 1 none does, 2 usage.',
  ],
  options: {
    ...configOption,
    host: { type: 'string' },
    path: { type: 'string' },
    sni: { type: 'string' },
    client: { type: 'string' },
    peer: { type: 'string' },
    claimed: { type: 'string' },
    listener: { type: 'string' },
    ...jsonOption,
  },
  run: runWhy,
}

async function runWhy(values: OptionValues, terminal: Terminal): Promise<number> {
  const host = textOption(values, 'host')
  if (host === undefined) throw new UsageError('--host is missing', 'hostward why --host site-a.example.com')
  const path = textOption(values, 'path') ?? '/'
  if (!path.startsWith('/')) throw new UsageError(`"${path}" is no path`, 'a path begins with a slash: --path /api')
  const inspection = await inspect(configFile(values))
  const { snapshot, loaded } = inspection
  if (snapshot === undefined) {
    tellUnusable(findingsOf(inspection), terminal)
    return exitCode.mistakes
  }
  const plans = askedPlans(textOption(values, 'listener'), snapshot)
  const question = { host, sni: textOption(values, 'sni'), path, addresses: askedAddresses(values), plans }
  const explanation = explain(question, { snapshot, brokenSites: loaded.brokenSites })
  const directory = process.cwd()
  terminal.out(values['json'] === true ? toJson(explanation) : formatExplanation(explanation, directory))
  return explanation.answered ? exitCode.ok : exitCode.mistakes
}

/** A client that nobody speaks for connects itself. */
function askedAddresses(values: OptionValues): AskedAddresses | undefined {
  const client = addressOption(values, 'client')
  const claimed = addressOption(values, 'claimed')
  const sender = addressOption(values, 'peer')
  if (claimed !== undefined && sender === undefined) {
    throw new UsageError('--claimed says nothing without --peer', 'add --peer ADDRESS, who sends the PROXY header')
  }
  const peer = sender ?? client
  if (peer === undefined) return undefined
  return { peer, claimed, client: client === (claimed ?? peer) ? undefined : client }
}

function addressOption(values: OptionValues, name: string): string | undefined {
  const text = textOption(values, name)
  const bytes = text === undefined ? undefined : parseIp(text)
  if (text === undefined || bytes !== undefined) return bytes && formatIp(bytes)
  throw new UsageError(`"${text}" is no IP address`, `write it without a port and brackets: --${name} 2001:db8::1`)
}

function askedPlans(listener: string | undefined, { plans }: Snapshot): readonly ListenerPlan[] {
  const all = [...plans.values()]
  if (listener === undefined) return all
  const asked = all.filter(({ config }) => config.name === listener)
  if (asked.length > 0) return asked
  const names = all.map(({ config }) => config.name)
  const hint = didYouMean(listener, names) ?? `there are ${names.join(', ')}`
  throw new UsageError(`there is no listener "${listener}"`, hint)
}
