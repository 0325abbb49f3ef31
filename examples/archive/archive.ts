/**
 * What leaves a session because it has grown long, appended to a file: one line of JSON for
 * each entry. What to look at:
 *
 * - `session:trimmed` is emitted after the commit and at most once. A process that ends in between, or a full disk,
 *   leaves a gap, so `readHistory` compares the file with the document and says which turns are in neither.
 * - An archive of record must not depend on the event: it copies the document after each turn, or raises the limits.
 * - The lines have what people said and sent: protect the folder as you protect the sessions.
 */
import { appendFile, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { EngineEventMap, FlowEngine, SessionDocument } from 'turnkeeper'

type Trimmed = EngineEventMap['session:trimmed']
type PastTurn = SessionDocument['history'][number]

/** A whole history, as far as it is known. */
export interface WholeHistory {
  /** Oldest first. */
  readonly turns: readonly PastTurn[]
  /** The numbers of turns that are neither in the file nor in the document. */
  readonly missing: readonly number[]
}

/** Appends what leaves the sessions of an engine to files in a folder, one file for each session. */
export class Archive {
  readonly #folder: string
  /** Writes one after the other, so that entries stay in order. */
  #writing: Promise<void> = Promise.resolve()

  constructor(folder: string) {
    this.#folder = folder
  }

  /** From now on the archive gets what the engine removes. A failed write goes to the engine's `onListenerError`. */
  follow(engine: FlowEngine): void {
    engine.on('session:trimmed', (trimmed) => {
      const write = () => appendFile(this.#fileOf(trimmed.sessionId), linesOf(trimmed), { mode: 0o600 })
      const written = this.#writing.then(write)
      this.#writing = written.catch(() => undefined)
      return written
    })
  }

  /** Resolves when everything up to now was written, or has failed: call it before the process ends. */
  written(): Promise<void> {
    return this.#writing
  }

  /** The whole history of a session: what the file has, then what the document still has. */
  async readHistory(document: SessionDocument): Promise<WholeHistory> {
    const turns = new Map<number, PastTurn>()
    for (const { list, entry } of await this.#read(document.id)) if (list === 'history') turns.set(entry.turn, entry)
    for (const turn of document.history) turns.set(turn.turn, turn)
    const numbers = Array.from({ length: document.turns }, (_, index) => index + 1)
    return {
      turns: numbers.flatMap((number) => turns.get(number) ?? []),
      missing: numbers.filter((number) => !turns.has(number)),
    }
  }

  async #read(sessionId: string): Promise<{ list: string; entry: PastTurn }[]> {
    const text = await readFile(this.#fileOf(sessionId), 'utf8').catch((error) => {
      if (error.code === 'ENOENT') return ''
      throw error
    })
    return text.split('\n').flatMap(entryOf)
  }

  #fileOf(sessionId: string): string {
    return join(this.#folder, `${encodeURIComponent(sessionId)}.jsonl`)
  }
}

/** The entry of a line; nothing for a blank line, and for half a line that a killed process left. */
function entryOf(line: string): { list: string; entry: PastTurn }[] {
  try {
    return [JSON.parse(line)]
  } catch {
    return []
  }
}

function linesOf({ history, memory, attachments }: Trimmed): string {
  const lines = [
    ...history.map((entry) => ({ list: 'history', entry })),
    ...Object.entries(memory).flatMap(([namespace, messages]) =>
      messages.map((entry) => ({ list: 'memory', namespace, entry })),
    ),
    ...attachments.map((entry) => ({ list: 'attachments', entry })),
  ]
  // Each begins a new line: the one before may be half a line.
  return lines.map((line) => `\n${JSON.stringify(line)}`).join('')
}
