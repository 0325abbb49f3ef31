/// <reference types="node" />
// Every rule of the contract is cited by a test, no test cites an unknown id, and the list of requirements itself
// changes only on purpose.
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { findCitedIds, findSharedBodies } from './cited-ids.js'
import { listUncited, requirements } from './requirements.js'

const root = fileURLToPath(new URL('../../', import.meta.url))

function listTestFiles(): string[] {
  return ['src', 'adapters', 'testing', 'examples'].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && entry.name.endsWith('.test.ts'))
      .map((entry) => join(entry.parentPath, entry.name))
      .filter((path) => !/[\\/](?:node_modules|dist)[\\/]/.test(path)),
  )
}

/** Cited id -> the files that cite it. */
function collectCitations(): Map<string, string[]> {
  const citations = new Map<string, string[]>()
  const pending = listTestFiles()
  const read = new Set<string>()
  for (let path = pending.shift(); path !== undefined; path = pending.shift()) {
    if (read.has(path)) continue
    read.add(path)
    const source = readFileSync(path, 'utf8')
    for (const name of findSharedBodies(source)) pending.push(resolve(dirname(path), name.replace(/\.js$/, '.ts')))
    for (const id of findCitedIds(source)) citations.set(id, [...(citations.get(id) ?? []), relative(root, path)])
  }
  return citations
}

describe('the list of requirements', () => {
  test('has the pinned number of sentences in each section', () => {
    const counts: Record<string, number> = {}
    for (const { section } of requirements) counts[section] = (counts[section] ?? 0) + 1
    expect(counts).toEqual({
      '1': 11,
      '2.1': 5,
      '2.2': 7,
      '2.3': 6,
      '2.4': 3,
      '2.5': 7,
      '2.6': 6,
      '3': 9,
      '4.1': 11,
      '4.2': 2,
      '4.3': 7,
      '4.4': 19,
      '4.5': 6,
      '4.6': 4,
      '4.7': 6,
      '4.8': 5,
      '5': 3,
      '6': 1,
      '7.1': 3,
      '7.2': 5,
      '7.3': 4,
    })
  })

  test('has the pinned texts under the pinned ids', () => {
    const lines = requirements.map(({ id, kind, text }) => `${id} ${kind} ${text}\n`).join('')
    expect(createHash('sha256').update(lines).digest('hex')).toBe(
      'cfc564c04bd21a4eecae17e5175eb9833b09ee4cb677d3480929cefb25606dfe',
    )
  })

  test('names each id once, and few notes', () => {
    expect(new Set(requirements.map(({ id }) => id)).size).toBe(requirements.length)
    expect(requirements.filter(({ kind }) => kind === 'note').map(({ id }) => id)).toEqual(['3-9', '5-1', '6-1'])
  })

  test('lists what is not cited, without the notes', () => {
    const everyRule = requirements.filter(({ kind }) => kind === 'rule').map(({ id }) => id)
    expect(listUncited(everyRule)).toEqual([])
    expect(listUncited(everyRule.filter((id) => id !== '4.1-3'))).toEqual(['4.1-3  Failure: HTTP 400.'])
    expect(listUncited([])).toHaveLength(everyRule.length)
  })
})

describe('the tests', () => {
  const citations = collectCitations()

  test('cite every rule of the contract', () => {
    const uncited = listUncited(citations.keys())
    expect(uncited.length, `${uncited.length} requirements are cited by no test:\n${uncited.join('\n')}\n`).toBe(0)
  })

  test('cite no id that is not in the list', () => {
    const known = new Set(requirements.map(({ id }) => id))
    const unknown = [...citations].filter(([id]) => !known.has(id)).map(([id, paths]) => `${id} in ${paths.join(', ')}`)
    expect(unknown).toEqual([])
  })
})
