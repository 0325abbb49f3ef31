/** The file in which judged replies are kept: JSON that a reviewer can read. */
import { ExpectationError } from '../expectations/expectation-error.js'
import { afterRealTime } from '../virtual-clock/real-time.js'

/** A reply that was judged, and for which the statement is true. */
export interface JudgedReply {
  /** The statement about the reply. */
  readonly meaning: string
  /** What the user said. */
  readonly message: string
  readonly reply: string
  /** Why, in the words of the model. */
  readonly reason: string
  /** Provider and name. */
  readonly model: string
}

/** What is to be judged. */
export type JudgedQuestion = Pick<JudgedReply, 'meaning' | 'message' | 'reply'>

const fields: readonly (keyof JudgedReply)[] = ['meaning', 'message', 'reply', 'reason', 'model']

/** For how long a write waits for another one, which takes a few milliseconds. */
const longestWriteMs = 3000

/** The recordings in one file. */
export class Recordings {
  /** The path, as it is shown. */
  readonly path: string
  readonly #file: string | URL

  constructor(file: string | URL) {
    // A URL of a file as text would be taken for a path.
    this.#file = typeof file === 'string' && file.startsWith('file:') ? new URL(file) : file
    this.path = typeof this.#file === 'string' ? this.#file : decodeURIComponent(this.#file.pathname)
  }

  /**
   * What is recorded; nothing if there is no file.
   *
   * @throws `ExpectationError` (rejects) if the file is not one of recordings.
   */
  async all(): Promise<readonly JudgedReply[]> {
    return this.#read()
  }

  /**
   * Adds a recording to the file, unless another judge has recorded the same meanwhile: judges of one file may be in
   * several processes.
   *
   * @throws `ExpectationError` (rejects) if the file is not one of recordings, or a process that writes it has died.
   */
  async add(judged: JudgedReply): Promise<void> {
    const path = await this.#resolved()
    const { mkdir, rename, rm, writeFile } = await files()
    const { dirname } = await paths()
    await mkdir(dirname(path), { recursive: true })
    const lock = `${path}.lock`
    await this.#take(lock)
    try {
      const known = await this.#read()
      if (known.some((one) => isSame(one, judged))) return
      const temporary = `${path}.${crypto.randomUUID()}.tmp`
      await writeFile(temporary, `${JSON.stringify([...known, judged], null, 2)}\n`)
      // In one step, so that no process reads half a file.
      await rename(temporary, path)
    } finally {
      await rm(lock)
    }
  }

  /** Creates the file that one writer at a time has. */
  async #take(lock: string): Promise<void> {
    const { writeFile } = await files()
    const pauseMs = 10
    for (let waitedMs = 0; waitedMs < longestWriteMs; waitedMs += pauseMs) {
      try {
        return await writeFile(lock, '', { flag: 'wx' })
      } catch (error) {
        if ((error as { readonly code?: unknown }).code !== 'EEXIST') throw error
      }
      await new Promise<void>((resolve) => afterRealTime(resolve, pauseMs))
    }
    throw new ExpectationError(
      `Another process has been writing ${this.path} for ${longestWriteMs} ms. If there is none any more, delete ${lock}.`,
    )
  }

  async #resolved(): Promise<string> {
    if (typeof this.#file === 'string') return (await paths()).resolve(this.#file)
    return (await urls()).fileURLToPath(this.#file)
  }

  async #read(): Promise<readonly JudgedReply[]> {
    const { readFile } = await files()
    let text: string
    try {
      text = await readFile(this.#file, 'utf8')
    } catch (error) {
      if ((error as { readonly code?: unknown }).code === 'ENOENT') return []
      throw error
    }
    try {
      const all: unknown = JSON.parse(text)
      if (Array.isArray(all) && all.every(isRecording)) return all
    } catch {
      // The same problem for the reader of the message.
    }
    throw new ExpectationError(
      `${this.path} does not contain recordings of a Judge. Repair it, or delete it and record again.`,
    )
  }
}

/** Whether both are of the same texts. */
export function isSame(one: JudgedQuestion, other: JudgedQuestion): boolean {
  return one.meaning === other.meaning && one.message === other.message && one.reply === other.reply
}

function isRecording(value: unknown): value is JudgedReply {
  return (
    typeof value === 'object' &&
    value !== null &&
    fields.every((field) => typeof Reflect.get(value, field) === 'string')
  )
}

// Loaded when a reply is judged, not when a `Judge` is made.
function files(): Promise<typeof import('node:fs/promises')> {
  // biome-ignore lint/correctness/noNodejsModules: every runtime that runs tests has it, under this name.
  return import('node:fs/promises')
}

function paths(): Promise<typeof import('node:path')> {
  // biome-ignore lint/correctness/noNodejsModules: every runtime that runs tests has it, under this name.
  return import('node:path')
}

function urls(): Promise<typeof import('node:url')> {
  // biome-ignore lint/correctness/noNodejsModules: every runtime that runs tests has it, under this name.
  return import('node:url')
}
