// The folder of a studio: which files it reads as lines, how it names what it saves, and that it follows no link.
import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { StoredLine } from './line/line.js'
import { StudioFiles } from './studio-files.js'

let folder = ''
const line: StoredLine = { id: 'shop-1', flow: 'Shop', startedAt: 1, now: 1, madeAt: 1, turns: [] }

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'studio-files-'))
})

afterEach(() => rmSync(folder, { recursive: true }))

function nameOf(title: string): string {
  const [path = ''] = new StudioFiles(folder).save(title, (slug) => [{ name: `${slug}.md`, text: title }])
  return path.slice(folder.length + 1)
}

describe('a line', () => {
  test('is read from a file that the studio has written, under its own name', () => {
    const files = new StudioFiles(folder)
    files.write(line)
    const lines = join(folder, 'lines')
    copyFileSync(join(lines, 'shop-1.json'), join(lines, 'copy.json'))
    mkdirSync(join(lines, 'shop-2.json'))
    writeFileSync(
      join(folder, 'shop-3.json'),
      readFileSync(join(lines, 'shop-1.json'), 'utf8').replace('shop-1', 'shop-3'),
    )
    symlinkSync(join(folder, 'shop-3.json'), join(lines, 'shop-3.json'))
    expect(new StudioFiles(folder).read()).toEqual([line])
    expect(files.freeId('Shop')).toBe('shop-4')
  })

  test('leaves a .gitignore as it is', () => {
    writeFileSync(join(folder, '.gitignore'), '*.log\n')
    new StudioFiles(folder).write(line)
    expect(readFileSync(join(folder, '.gitignore'), 'utf8')).toBe('*.log\n')
    expect(readdirSync(join(folder, 'lines'))).toEqual(['shop-1.json'])
  })
})

describe('what is saved', () => {
  test.each([
    ['../../etc/passwd', 'etc-passwd.md'],
    ['Wie heißt Åse?', 'wie-hei-t-a-se.md'],
    ['漢字', 'conversation.md'],
    ['', 'conversation.md'],
    [`${'a'.repeat(59)} b`, `${'a'.repeat(59)}.md`],
    ['a'.repeat(99), `${'a'.repeat(60)}.md`],
  ])('has a plain name: %j', (title, name) => {
    expect(nameOf(title)).toBe(name)
  })

  test('gets a number if one of its files is there', () => {
    writeFileSync(join(folder, 'talk.setup.mjs'), 'mine')
    const save = () =>
      new StudioFiles(folder).save('Talk', (slug) =>
        ['.test.mjs', '.setup.mjs'].map((end) => ({ name: slug + end, text: slug })),
      )
    expect(save()).toEqual([join(folder, 'talk-2.test.mjs'), join(folder, 'talk-2.setup.mjs')])
    expect(save()[0]).toBe(join(folder, 'talk-3.test.mjs'))
    expect(readFileSync(join(folder, 'talk.setup.mjs'), 'utf8')).toBe('mine')
  })

  test('does not follow a link that leads nowhere yet', () => {
    const target = join(folder, 'elsewhere')
    symlinkSync(target, join(folder, 'talk.md'))
    expect(() => nameOf('talk')).toThrow('EEXIST')
    expect(readdirSync(folder)).toEqual(['talk.md'])
  })
})
