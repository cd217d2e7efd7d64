// nginx, one worker, as its documentation configures it for upstream keep-alive.
import { writeFileSync } from 'node:fs'
import { siteName } from '../heads.js'
import { accepts, findProgram, freePort, serverCore, spawnPinned, untilReady } from '../processes.js'
import type { Server, Setup } from './server.js'

const program = findProgram('nginx')

/** nginx as it is installed. */
export const nginx: Server = {
  name: 'nginx',
  wires: ['h1', 'h2'],
  missing: program === undefined ? 'nginx is not installed' : undefined,
  logMarker: '"GET ',
  async start(setup) {
    const port = await freePort()
    const logFile = `${setup.folder}/access.log`
    const configFile = `${setup.folder}/nginx.conf`
    writeFileSync(configFile, configuration(setup, { port, logFile }))
    const command = [program ?? 'nginx', '-p', setup.folder, '-e', 'stderr', '-c', configFile]
    const child = spawnPinned(serverCore, command, { stdio: ['ignore', 'inherit', 'inherit'] })
    await untilReady(child, () => accepts(port))
    return { child, port, logFile }
  },
}

function configuration(setup: Setup, { port, logFile }: { port: number; logFile: string }): string {
  return `daemon off;
worker_processes 1;
pid ${setup.folder}/nginx.pid;
error_log stderr emerg;
events { worker_connections 4096; }
http {
  log_format facts '$time_iso8601 $host $ssl_server_name $server_protocol $ssl_protocol "$request" $status '
    '$remote_addr:$remote_port $upstream_addr $upstream_status $upstream_response_time $request_id $connection '
    '$request_time $request_length $body_bytes_sent';
  access_log ${logFile} facts;
  keepalive_requests 1000000000;
  keepalive_timeout 900s;
  client_body_temp_path ${setup.folder}/client;
  proxy_temp_path ${setup.folder}/proxy;
  fastcgi_temp_path ${setup.folder}/fastcgi;
  uwsgi_temp_path ${setup.folder}/uwsgi;
  scgi_temp_path ${setup.folder}/scgi;
  proxy_max_temp_file_size 0;
  upstream origin {
    server 127.0.0.1:${setup.originPort};
    keepalive 256;
    keepalive_requests 1000000000;
  }
  server {
    listen 127.0.0.1:${port} ssl http2;
    server_name ${siteName};
    ssl_certificate ${setup.certificateFile};
    ssl_certificate_key ${setup.keyFile};
    ssl_protocols TLSv1.3;
    location / {
      proxy_pass http://origin;
      proxy_http_version 1.1;
      proxy_set_header Connection "";
      proxy_set_header Host $host;
      proxy_set_header X-Forwarded-For $remote_addr;
      proxy_set_header X-Forwarded-Proto $scheme;
      proxy_set_header X-Forwarded-Host $host;
      proxy_set_header X-Request-Id $request_id;
    }
  }
}
`
}
