/** Decides what the package may hold. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, inject, test } from 'vitest'

const packed = inject('packed')
const folder = join(inject('consumer'), 'node_modules', 'turnkeeper')

test('holds no test and nothing of the tools', () => {
  expect(packed.filter((path) => /\.test(-d)?\.|(^|\/)contract\/|^\.|^docs\/|^examples\//.test(path))).toEqual([])
})

test('holds its papers', () => {
  expect(packed).toEqual(expect.arrayContaining(['LICENSE', 'README.md', 'CHANGELOG.md', 'package.json']))
})

test('holds, for every built file, its declarations, its maps and its source', () => {
  const built = packed.filter((path) => path.endsWith('.js'))
  expect(built.length).toBeGreaterThan(4)
  const belongings = built.flatMap((path) => {
    const stem = path.slice(0, -'.js'.length)
    return [`${stem}.js.map`, `${stem}.d.ts`, `${stem}.d.ts.map`, `${stem.slice('dist/'.length)}.ts`]
  })
  expect(belongings.filter((path) => !packed.includes(path))).toEqual([])
})

test('its exports are these, and each names files of the package', () => {
  const manifest = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as {
    exports: Record<string, string | { types: string; default: string }>
  }
  expect(Object.keys(manifest.exports)).toEqual(['.', './fetch', './hono', './testing', './package.json'])
  const targets = Object.values(manifest.exports).flatMap((target) =>
    typeof target === 'string' ? [target] : [target.types, target.default],
  )
  expect(targets.filter((target) => !packed.includes(target.slice('./'.length)))).toEqual([])
})
