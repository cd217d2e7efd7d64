// HAProxy in a process of its own, behind Hostward as an origin or in front of it as a proxy.
import { type RunningServer, startServer } from './program.js'

const commonSections = `global
  nbthread 1
  maxconn 1024
defaults
  mode http
  timeout connect 10s
  timeout client 60s
  timeout server 60s
`

/** Starts HAProxy with these sections, where PORT stands for the port to listen on. */
export function startHaproxy(sections: string): Promise<RunningServer> {
  return startServer({
    program: 'haproxy',
    configuration: ({ port }) => commonSections + sections.replaceAll('PORT', String(port)),
    args: ({ file }) => ['-db', '-f', file],
  })
}
