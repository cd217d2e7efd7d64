// An explanation in words, for a person at night. Pure; used by why.
import { formatConfigError, formatPlace } from '../config/config-error.js'
import { displayPath } from './display-path.js'
import type { ExplainedAnswer } from './explained-answer.js'
import type { ExplainedCertificate } from './explained-certificate.js'
import type { ExplainedClient } from './explained-client.js'
import type { Explanation, ListenerExplanation } from './explanation.js'

/** The whole text; paths are relative to `directory`. */
export function formatExplanation(explanation: Explanation, directory: string): string {
  const { host, sni, answered, listeners } = explanation
  const verdict = answered ? 'a site answers' : 'no site answers'
  return [
    `Host ${host ?? '(not a host name)'}, SNI ${sni ?? '(none)'}: ${verdict}`,
    ...listeners.flatMap((each) => ['', ...formatListener(each, directory)]),
  ].join('\n')
}

function formatListener(explained: ListenerExplanation, directory: string): readonly string[] {
  const { listener, bind, tls, client, certificate, answer, rule, hints } = explained
  return [
    `listener ${listener} (${bind}, ${tls ? 'TLS' : 'plain HTTP'})`,
    ...(client === null ? [] : [line('client', clientText(client))]),
    ...(certificate === null ? [] : certificateLines(certificate, directory)),
    line('site', siteText(explained, directory)),
    ...(explained.route === null ? [] : [line('route', explained.route)]),
    line('answer', answerText(answer)),
    ...(rule === null ? [] : [line('rule', formatPlace(rule, directory))]),
    ...endpointLines(answer),
    ...hints.map((hint) => line('hint', hint)),
    ...mistakeLines(explained, directory),
  ]
}

function line(label: string, text: string): string {
  return `  ${label.padEnd(11)}  ${text}`
}

const words: Readonly<Record<string, string>> = { peer: 'as measured', proxy_header: 'by its PROXY header' }

function clientText({ address, by, scheme, isSchemeClaimed, notBelieved }: ExplainedClient): string {
  const spoken = isSchemeClaimed ? `${scheme}, unless its X-Forwarded-Proto says otherwise` : scheme
  const unbelieved = notBelieved === null ? '' : `; ${notBelieved} is not believed`
  return `${address} ${words[by] ?? `by ${by}`}, ${spoken}${unbelieved}`
}

function certificateLines(certificate: ExplainedCertificate, directory: string): readonly string[] {
  const { file, because, keyType, withoutEcdsa, warnings } = certificate
  const name = file === null ? 'none' : `${displayPath(file, directory)} (${keyType})`
  return [
    line('certificate', `${name}: ${because}`),
    ...(withoutEcdsa === null ? [] : [line('', `clients without ECDSA get ${displayPath(withoutEcdsa, directory)}`)]),
    ...warnings.map((warning) => line('warning', warning)),
  ]
}

function endpointLines(answer: ExplainedAnswer): readonly string[] {
  if (answer.kind !== 'forward' || answer.endpoints.length < 2) return []
  const { endpoints, balance, dependsOn } = answer
  const how = dependsOn === null ? '' : `; depends on ${dependsOn}`
  return [
    line('balance', `${balance}${how}`),
    ...endpoints.map((endpoint, index) => line(index === 0 ? 'endpoints' : '', endpoint)),
  ]
}

function siteText({ site, answer }: ListenerExplanation, directory: string): string {
  if (site === null) {
    if (answer.kind === 'refuse' && answer.reason === 'bad_authority') return 'none: there is no name to look up'
    return 'none: nobody on this listener claims the host'
  }
  const how = site.match === 'exact' ? 'its host is exactly this name' : `by its wildcard "${site.pattern}"`
  return `${site.vhost} (${formatPlace(site, directory)}): ${how}`
}

function answerText(answer: ExplainedAnswer): string {
  switch (answer.kind) {
    case 'forward':
      return `forwarded to ${answer.upstream}`
    case 'respond':
      return `${answer.status} with the configured body (${answer.contentType})`
    case 'redirect':
      return `${answer.status} to ${answer.location}`
    case 'redirect_to_https':
      return `${answer.status} to ${answer.location} and the path (redirectToHttps); ACME challenges: ${answerText(answer.challenges)}`
    case 'refuse':
      return `${answer.status} ${answer.reason}: ${answer.meaning}`
    case 'close':
      return `none, the connection is closed (${answer.reason}): ${answer.meaning}`
    case 'alert':
      return `TLS alert ${answer.alert}; no request is read`
  }
}

function mistakeLines({ site, mistakes }: ListenerExplanation, directory: string): readonly string[] {
  if (mistakes.length === 0) return []
  const title = site === null ? closedTitle : 'something that claims the host has mistakes:'
  const lines = mistakes.flatMap((mistake) => formatConfigError(mistake, directory).split('\n'))
  return [line('mistakes', title), ...lines.map((text) => line('', text))]
}

const closedTitle =
  'a site that claims the host has some; a running server keeps its last good version, a new one has none:'
