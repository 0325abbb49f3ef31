/**
 * The packed package on every runtime that it is said to run on, and the table of docs/deploy.md, which is what ran.
 * Each runtime is started once. One that is not installed is left out by name, and a failure in CI.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { cases } from './cases.js'
import type { Running } from './running.js'
import { isInstalled, runtimes } from './runtimes.js'
import { type Outcomes, sectionOf, tableOf, withTable } from './table.js'

const page = fileURLToPath(new URL('../../../../docs/deploy.md', import.meta.url))
const isCi = process.env.CI === 'true'
const outcomes: Outcomes = new Map()

describe.each(runtimes)('$name', (runtime) => {
  const { name, hasNode, needs, start } = runtime
  const isLeftOut = !isCi && !isInstalled(runtime)
  const own = new Map<string, string>()
  let running: Running | undefined

  if (isLeftOut) {
    test.skip(`runs the package (left out: ${needs} is not installed)`, () => {})
    return
  }

  beforeAll(async () => {
    outcomes.set(name, own)
    running = await start()
  })

  afterAll(async () => {
    await running?.close()
    const failed = [...own.values()].filter((outcome) => outcome === 'no').length
    console.log(`${name} (${running?.version ?? 'did not start'}): ${own.size - failed} passed, ${failed} failed`)
  })

  for (const { name: title, withoutNode, run } of cases) {
    if (withoutNode && hasNode) continue
    test(title, async () => {
      own.set(title, 'no')
      if (running === undefined) throw new Error(`${name} did not start.`)
      own.set(title, (await run(running)) ?? 'yes')
    })
  }
})

test('the table in docs/deploy.md is what ran', (context) => {
  const table = tableOf(runtimes, cases, outcomes)
  console.log(table)
  if (outcomes.size < runtimes.length) context.skip('Not every runtime is installed.')
  if (process.env.WRITE_TABLE === 'true') writeFileSync(page, withTable(readFileSync(page, 'utf8'), table))
  expect(sectionOf(readFileSync(page, 'utf8')), 'Run `WRITE_TABLE=true npm run package -- runtimes/`.').toBe(table)
})
