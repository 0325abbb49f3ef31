/**
 * The files of a studio: lines in `lines/`, which Git ignores, and saved tests beside it. It writes only below its
 * folder, under names that it makes, and never over a file of others.
 */
import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { invalidInput } from '../../src/util/options.js'
import type { StoredLine } from './line/line.js'

/** A file to write. */
export interface FileToWrite {
  readonly name: string
  readonly text: string
}

/** How a file of a line begins. */
const marker = 'turnkeeper studio 1'

/** The folder of a studio. */
export class StudioFiles {
  readonly folder: string
  readonly #lines: string
  /** When a file of a line was last read or written here, by its path. */
  readonly #times = new Map<string, number>()

  /** @throws `InvalidInputError` if the folder of the lines leads elsewhere. */
  constructor(folder: string) {
    this.folder = folder
    this.#lines = join(folder, 'lines')
    for (const path of [folder, this.#lines]) {
      const found = existsSync(path) ? (path === folder ? statSync(path) : lstatSync(path)) : undefined
      if (found?.isDirectory() === false)
        throw invalidInput(`The studio writes to the folder ${path}, which is a file or a link.`)
    }
  }

  /** The lines of earlier processes. Other files are passed over. */
  read(): readonly StoredLine[] {
    if (!existsSync(this.#lines)) return []
    return readdirSync(this.#lines, { withFileTypes: true }).flatMap((entry) => {
      if (!entry.isFile() || !entry.name.endsWith('.json')) return []
      const path = join(this.#lines, entry.name)
      try {
        const { madeBy, line } = JSON.parse(readFileSync(path, 'utf8'))
        if (madeBy !== marker || `${line.id}.json` !== entry.name || !Array.isArray(line.turns)) return []
        this.#times.set(path, statSync(path).mtimeMs)
        return [line as StoredLine]
      } catch {
        return []
      }
    })
  }

  /** A name for a line that no file has. */
  freeId(name: string): string {
    const slug = slugOf(name)
    for (let number = 1; ; number++) {
      if (!existsSync(this.#pathOf(`${slug}-${number}`))) return `${slug}-${number}`
    }
  }

  /** Writes a line: it has a name from {@link freeId}, or was read. */
  write(line: StoredLine): void {
    const isNew = !existsSync(this.#lines)
    mkdirSync(this.#lines, { recursive: true })
    const ignore = join(this.folder, '.gitignore')
    if (isNew && !existsSync(ignore)) writeFileSync(ignore, 'lines/\n', { flag: 'wx' })
    const path = this.#pathOf(line.id)
    const timeOf = (): number | undefined => statSync(path, { throwIfNoEntry: false })?.mtimeMs
    if (timeOf() !== this.#times.get(path)) throw invalidInput('Another process has changed it.')
    const written = `${path}.${crypto.randomUUID()}`
    try {
      writeFileSync(written, JSON.stringify({ madeBy: marker, line }), { flag: 'wx' })
      renameSync(written, path)
    } finally {
      rmSync(written, { force: true })
    }
    this.#times.set(path, Number(timeOf()))
  }

  /** Writes files whose names are a slug and an ending; `make` gets a slug that no file has. Returns their paths. */
  save(title: string, make: (slug: string) => readonly FileToWrite[]): readonly string[] {
    const slug = slugOf(title)
    let files = make(slug)
    const isTaken = (): boolean => files.some(({ name }) => existsSync(join(this.folder, name)))
    for (let number = 2; isTaken(); number++) files = make(`${slug}-${number}`)
    return files.map(({ name, text }) => {
      const path = join(this.folder, name)
      writeFileSync(path, text, { flag: 'wx' })
      return path
    })
  }

  #pathOf(id: string): string {
    return join(this.#lines, `${id}.json`)
  }
}

/** A text as the name of a file: letters, digits and dashes. */
function slugOf(text: string): string {
  const words = text
    .normalize('NFKD')
    .toLowerCase()
    .match(/[a-z0-9]+/g) ?? ['conversation']
  return words.join('-').slice(0, 60).replace(/-$/, '')
}
