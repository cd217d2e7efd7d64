// A PHP application behind nginx behind Hostward: what its visitors send is what its script sees, and what it answers is what they get.
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { curl, wires } from './curl.js'
import { bytesOf } from './origin.js'
import { missingPhp, startPhp } from './php.js'
import { missing, type RunningServer } from './program.js'
import { openStage, type Stage } from './stage.js'

const uploadBytes = 20 * 1024 * 1024 + 1

const script = `<?php
$path = strtok($_SERVER['REQUEST_URI'], '?');
if ($path === '/redirect') { header('Location: /after?x=1', true, 303); exit; }
if ($path === '/status') { http_response_code((int) $_GET['code']); exit('php says ' . $_GET['code']); }
if ($path === '/cookies') { setcookie('a', '1'); setcookie('b', 'two words'); exit(json_encode($_COOKIE)); }
if ($path === '/slow') { for ($i = 0; $i < 3; $i++) { echo "line $i\\n"; flush(); } exit; }
header('Content-Type: application/json');
$file = isset($_FILES['file']) ? $_FILES['file'] : null;
echo json_encode([
  'method' => $_SERVER['REQUEST_METHOD'],
  'uri' => $_SERVER['REQUEST_URI'],
  'post' => $_POST,
  'file' => $file ? [$file['name'], $file['size'], hash_file('sha256', $file['tmp_name'])] : null,
  'body' => $file || $_POST ? null : hash('sha256', file_get_contents('php://input')),
  'host' => $_SERVER['HTTP_HOST'],
  'for' => $_SERVER['HTTP_X_FORWARDED_FOR'],
  'proto' => $_SERVER['HTTP_X_FORWARDED_PROTO'],
  'forwardedHost' => $_SERVER['HTTP_X_FORWARDED_HOST'],
  'proxy' => $_SERVER['HTTP_PROXY'] ?? null,
], JSON_UNESCAPED_SLASHES);
`

describe('PHP behind nginx', { skip: missing('curl') || missingPhp() }, () => {
  let php: RunningServer
  let stage: Stage
  let uploadFile: string
  before(async () => {
    php = await startPhp(script)
    stage = await openStage({ sites: [{ hosts: ['php.test'], upstream: `http://127.0.0.1:${php.port}` }] })
    uploadFile = join(stage.folder, 'upload.bin')
    writeFileSync(uploadFile, bytesOf(uploadBytes))
  })
  after(async () => {
    await stage.close()
    await php.stop()
  })

  for (const wire of wires) {
    const ask = async (path: string, ...more: readonly string[]) => {
      const [answer] = await curl(stage, [wire, `https://php.test${path}`, ...more])
      return answer as NonNullable<typeof answer>
    }
    const seen = async (path: string, ...more: readonly string[]) => JSON.parse(String((await ask(path, ...more)).body))

    test(`${wire}: a form, its query and what Hostward says of the client reach the script`, async () => {
      const form = await seen('/form?a=b&c[]=%20', '--data', 'name=Ren%C3%A9&list[]=1&list[]=2')
      assert.deepEqual(form, {
        ...{
          method: 'POST',
          uri: '/form?a=b&c[]=%20',
          post: { name: 'René', list: ['1', '2'] },
          file: null,
          body: null,
        },
        ...{ host: 'php.test', for: '127.0.0.1', proto: 'https', forwardedHost: 'php.test', proxy: null },
      })
    })

    test(`${wire}: claims of a visitor do not`, async () => {
      const claims = [
        'X-Forwarded-For: 6.6.6.6',
        'X_Forwarded_For: 6.6.6.6',
        'X-Forwarded-Proto: http',
        'Proxy: http://evil.test',
      ]
      const { for: client, proto, proxy } = await seen('/', ...claims.flatMap((line) => ['--header', line]))
      assert.deepEqual([client, proto, proxy], ['127.0.0.1', 'https', null])
    })

    test(`${wire}: twenty megabytes arrive, as a file of a form, with a length and without`, async () => {
      const expected = createHash('sha256').update(bytesOf(uploadBytes)).digest('hex')
      const { file } = await seen('/upload', '--form', `file=@${uploadFile};filename=a.bin`)
      assert.deepEqual(file, ['a.bin', uploadBytes, expected])
      const type = ['--header', 'Content-Type: application/octet-stream']
      assert.equal((await seen('/put', '--upload-file', uploadFile, ...type)).body, expected)
      const chunked = ['--header', 'Content-Length:', '--header', 'Transfer-Encoding: chunked']
      const more = wire === '--http2' ? [] : chunked
      assert.equal((await seen('/put', '--upload-file', uploadFile, ...type, ...more)).body, expected)
    })

    test(`${wire}: a redirect, statuses with their bodies and cookies reach the visitor`, async () => {
      const redirect = await ask('/redirect')
      assert.deepEqual([redirect.status, /^location: (.*)\r$/im.exec(redirect.head)?.[1]], [303, '/after?x=1'])
      for (const code of [404, 418, 500, 503]) {
        const { status, body } = await ask(`/status?code=${code}`)
        assert.deepEqual([status, String(body)], [code, `php says ${code}`])
      }
      const { head, body } = await ask('/cookies', '--cookie', 'seen=1; other=two')
      assert.deepEqual(JSON.parse(String(body)), { seen: '1', other: 'two' })
      assert.deepEqual(
        head.match(/^set-cookie: [ab]=[^\r;]*/gim)?.map((line) => line.toLowerCase()),
        ['set-cookie: a=1', 'set-cookie: b=two%20words'],
      )
    })

    test(`${wire}: an answer in pieces comes whole`, async () => {
      assert.equal(String((await ask('/slow')).body), 'line 0\nline 1\nline 2\n')
    })
  }
})
