// nginx in a process of its own, behind Hostward as an origin or in front of it as a proxy.
import { type RunningServer, startServer } from './program.js'

const temporaryFolders = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']

/** Starts nginx with these lines inside `http`, where PORT stands for the port to listen on. */
export function startNginx(http: string): Promise<RunningServer> {
  return startServer({
    program: 'nginx',
    configuration: ({ home, port }) => wholeConfiguration(home, http.replaceAll('PORT', String(port))),
    args: ({ home, file }) => ['-p', home, '-e', 'stderr', '-c', file],
  })
}

// Without a master, so that the process we end is the one that serves, and it stays the user that owns the files.
function wholeConfiguration(home: string, http: string): string {
  return `daemon off;
master_process off;
pid ${home}/nginx.pid;
error_log stderr warn;
events { worker_connections 1024; }
http {
  access_log off;
  ${temporaryFolders.map((name) => `${name}_temp_path ${home}/${name};`).join('\n  ')}
  ${http}
}
`
}
