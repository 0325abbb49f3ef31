import { mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { SessionDocument } from 'turnkeeper'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { Archive } from './archive.js'
import { createEngine, talk } from './long-talk.js'

let folder: string

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'turnkeeper-archive-'))
})

afterEach(() => {
  rmSync(folder, { recursive: true, force: true })
})

/** The document after `count` turns whose archive is in the folder. */
async function talked(count: number): Promise<SessionDocument> {
  const archive = new Archive(folder)
  const engine = createEngine(archive)
  const document = await engine.getSession(await talk(engine, count))
  await archive.written()
  await engine.close()
  return document as SessionDocument
}

test('a short session needs no file', async () => {
  const document = await talked(3)
  expect(readdirSync(folder)).toEqual([])
  expect(await new Archive(folder).readHistory(document)).toEqual({ turns: document.history, missing: [] })
})

test('the file has the dropped entries in order, and only its owner may read it', async () => {
  const document = await talked(40)
  expect(document.history.length).toBeLessThan(9)
  const { turns, missing } = await new Archive(folder).readHistory(document)
  expect(missing).toEqual([])
  expect(turns.map(({ turn }) => turn)).toEqual(Array.from({ length: 40 }, (_, index) => index + 1))
  const [file = ''] = readdirSync(folder)
  expect(file).toBe(`${document.id}.jsonl`)
  expect(statSync(join(folder, file)).mode & 0o077).toBe(0)
})

test('a failed write is reported and leaves a named gap, and the conversation goes on', async () => {
  const errors: unknown[] = []
  const late = join(folder, 'late')
  const archive = new Archive(late)
  const engine = createEngine(archive, (error) => errors.push(error))
  const sessionId = await talk(engine, 9)
  await archive.written()
  // The photo of turn 5 left the session in turn 7, turns 1 to 3 in turn 9.
  expect(errors).toMatchObject([{ code: 'ENOENT' }, { code: 'ENOENT' }])
  mkdirSync(late)
  await talk(engine, 20, sessionId)
  await archive.written()
  const { turns, missing } = await archive.readHistory((await engine.getSession(sessionId)) as SessionDocument)
  expect(missing).toEqual([1, 2, 3])
  expect(turns).toHaveLength(26)
  await engine.close()
})

test('half a line that a killed process left is ignored, and the next entry is not lost', async () => {
  const archive = new Archive(folder)
  const engine = createEngine(archive)
  const sessionId = await talk(engine, 12)
  await archive.written()
  writeFileSync(join(folder, `${sessionId}.jsonl`), '\n{"list":"history","ent', { flag: 'a' })
  await talk(engine, 12, sessionId)
  await archive.written()
  const { turns, missing } = await archive.readHistory((await engine.getSession(sessionId)) as SessionDocument)
  expect([turns.length, missing]).toEqual([24, []])
  await engine.close()
})
