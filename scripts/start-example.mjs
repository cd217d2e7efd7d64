// `npm start`: makes the example's certificates where they are missing, serves config/hostward.yaml, and says on stderr
// what to try. Standard output is the log alone.
import { fileURLToPath } from 'node:url'
import { makeCertificates } from '../certs.example/make-certificates.mjs'

process.chdir(fileURLToPath(new URL('..', import.meta.url)))
await makeCertificates('certs')

const toSiteA = 'curl --cacert certs/ca.pem --resolve site-a.example.com:8443:127.0.0.1'
const toSiteB = 'curl --cacert certs/ca.pem --resolve site-b.example.com:8443:127.0.0.1'
console.error(`
Try, in another terminal:

  each site:
    ${toSiteA} https://site-a.example.com:8443/
    ${toSiteB} https://site-b.example.com:8443/

  site B's Host over a connection that was opened with site A's name, as CDNs do:
    ${toSiteA} -H 'Host: site-b.example.com' https://site-a.example.com:8443/

  a Host that nobody claims is answered 421:
    ${toSiteA} -i -H 'Host: nobody.example.com' https://site-a.example.com:8443/

  plain HTTP:
    curl -H 'Host: site-a.example.com' http://127.0.0.1:8080/
`)

process.argv.splice(2, process.argv.length, 'serve', '-c', 'config/hostward.yaml')
await import('../dist/src/cli/main.js')
