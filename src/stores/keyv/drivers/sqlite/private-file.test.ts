import { chmodSync, existsSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test, vi } from 'vitest'
import { makePrivateFile } from './private-file.js'

const folder = mkdtempSync(join(tmpdir(), 'turnkeeper-private-'))
const modeOf = (path: string): number => statSync(path).mode & 0o777

afterAll(() => rmSync(folder, { recursive: true }))

test('creates an empty file that only its owner can read', () => {
  const path = join(folder, 'new.sqlite')
  makePrivateFile(path)
  expect([modeOf(path), statSync(path).size]).toEqual([0o600, 0])
})

test('does not touch an existing file', () => {
  const path = join(folder, 'old.sqlite')
  writeFileSync(path, 'text')
  chmodSync(path, 0o644)
  makePrivateFile(path)
  expect([modeOf(path), statSync(path).size]).toEqual([0o644, 4])
})

test('creates no file for a database in memory, and ignores a failure', () => {
  makePrivateFile('')
  makePrivateFile(':memory:')
  expect(existsSync(':memory:')).toBe(false)
  expect(() => makePrivateFile(join(folder, 'no-such-folder', 'a.sqlite'))).not.toThrow()
})

test.each<[string, unknown]>([
  ['no process', undefined],
  ['a process that gives no modules', {}],
  ['no module for files', { getBuiltinModule: () => undefined }],
])('in a runtime with %s it does nothing', (_name, process) => {
  const path = join(folder, 'none.sqlite')
  vi.stubGlobal('process', process)
  try {
    makePrivateFile(path)
  } finally {
    vi.unstubAllGlobals()
  }
  expect(existsSync(path)).toBe(false)
})
