/**
 * Runs the lines that the server printed, unchanged: in a shell with curl, or, if the machine's curl is too old, by
 * reading each line and sending its request.
 */
import assert from 'node:assert/strict'
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** @returns The answers to the lines, in order, and the file that one of them wrote. */
export async function runPrintedLines(printed: readonly string[]): Promise<{ answers: string; file: Uint8Array }> {
  const lines = printed.map((line) => line.trim()).filter((line) => /^(?:curl|ID=)/.test(line))
  assert.ok(lines.length >= 9, 'the server prints its lines to try')
  const folder = mkdtempSync(join(tmpdir(), 'turnkeeper-'))
  try {
    return (await hasCurl()) ? await withShell(lines, folder) : await withFetch(lines)
  } finally {
    rmSync(folder, { recursive: true })
  }
}

/** `--json` and `%header{}` came with curl 7.84. */
function hasCurl(): Promise<boolean> {
  return new Promise((resolve) => {
    execFile('curl', ['--version'], (_error, stdout) => {
      const [major = 0, minor = 0] = (/^curl (\d+)\.(\d+)/.exec(stdout) ?? []).slice(1).map(Number)
      resolve(major > 7 || (major === 7 && minor >= 84))
    })
  })
}

async function withShell(lines: readonly string[], folder: string): Promise<{ answers: string; file: Uint8Array }> {
  const script = join(folder, 'lines.sh')
  writeFileSync(script, `${lines.join('\n')}\n`)
  // A file, for the lines open /dev/stderr, and a socket cannot be opened.
  const errors = openSync(join(folder, 'errors'), 'w')
  const shell = spawn('sh', ['-e', script], { cwd: folder, stdio: ['ignore', 'pipe', errors] })
  let answers = ''
  shell.stdout?.setEncoding('utf8').on('data', (text: string) => {
    answers += text
  })
  const [code] = await once(shell, 'close')
  closeSync(errors)
  assert.equal(code, 0, 'every printed line works in a shell')
  console.log(`${lines.length} printed lines ran in a shell, with curl.`)
  return { answers, file: readFileSync(join(folder, 'report.pdf')) }
}

async function withFetch(lines: readonly string[]): Promise<{ answers: string; file: Uint8Array }> {
  let id = ''
  let answers = ''
  let file = new Uint8Array()
  for (const line of lines) {
    const response = await fetch(requestOf(line, id))
    assert.equal(response.status, 200, line)
    const bytes = new Uint8Array(await response.arrayBuffer())
    if (line.startsWith('ID=')) id = response.headers.get('CHAT_SESSION_ID') ?? ''
    else if (line.includes('-o report.pdf')) file = bytes
    else answers += new TextDecoder().decode(bytes)
  }
  console.log(`${lines.length} printed lines were sent with fetch: this machine has no curl from 7.84 on.`)
  return { answers, file }
}

/** The request that curl would send for a line. */
function requestOf(line: string, id: string): Request {
  const url = /http:\/\/[^\s)]+/.exec(line)?.[0] ?? ''
  const body = /--json '(.*?)'/.exec(line)?.[1]
  const method = body === undefined && !line.includes('-X POST') ? 'GET' : 'POST'
  const headers = {
    'Content-Type': 'application/json',
    Accept: /-H 'Accept: (.*?)'/.exec(line)?.[1] ?? '*/*',
    ...(line.includes('$ID') ? { CHAT_SESSION_ID: id } : {}),
  }
  return new Request(url, { method, headers, ...(body === undefined ? {} : { body }) })
}
