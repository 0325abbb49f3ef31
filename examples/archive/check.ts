/**
 * A session of 100 turns that keeps 8. The dropped ones are in a file, and file and document together are the whole
 * conversation. Exits with 1 if anything fails.
 *
 *     npm run examples
 */
import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Archive } from './archive.js'
import { createEngine, talk } from './long-talk.js'

const folder = mkdtempSync(join(tmpdir(), 'turnkeeper-archive-'))
try {
  const archive = new Archive(folder)
  const engine = createEngine(archive)
  const sessionId = await talk(engine, 100)
  await archive.written()
  const document = await engine.getSession(sessionId)
  assert.ok(document)
  assert.equal(document.turns, 100)
  assert.ok(document.history.length <= 8, 'the session keeps 8 turns')
  assert.ok((document.flow.memory.Chat?.messages.length ?? 0) < 60, 'and the newest messages')
  console.log(`The session has ${document.turns} turns and keeps ${document.history.length} of them.`)

  const { turns, missing } = await archive.readHistory(document)
  assert.deepEqual(missing, [])
  assert.deepEqual(
    turns.map(({ message }) => message),
    Array.from({ length: 100 }, (_, index) => `This is line ${index + 1} of what I have to say.`),
  )
  const [file = ''] = readdirSync(folder)
  const lines = readFileSync(join(folder, file), 'utf8').trim().split('\n')
  const counts = new Map<string, number>()
  for (const line of lines) {
    const { list }: { list: string } = JSON.parse(line)
    counts.set(list, (counts.get(list) ?? 0) + 1)
  }
  const photos = document.attachments?.length ?? 0
  assert.equal((counts.get('attachments') ?? 0) + photos, 20, 'every photo is in the file or in the document')
  console.log(`The file has ${[...counts].map(([list, count]) => `${count} of ${list}`).join(', ')}.`)
  await engine.close()
  console.log('Together they are the whole conversation.')
} finally {
  rmSync(folder, { recursive: true, force: true })
}
