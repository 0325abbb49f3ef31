/**
 * Appends the entries that a long session drops to a file: one line of JSON for each. Note:
 *
 * - `session:trimmed` is emitted after the commit and at most once. A process that ends in between, or a full disk,
 *   leaves a gap, so `readHistory` compares the file with the document and lists the turns that are in neither.
 * - An archive of record must not depend on the event: it copies the document after each turn, or raises the limits.
 * - The lines contain conversations: protect the folder as you protect the sessions.
 */
import { appendFile, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { EngineEventMap, FlowEngine, SessionDocument } from 'turnkeeper'

type Trimmed = EngineEventMap['session:trimmed']
type PastTurn = SessionDocument['history'][number]

/** A history, with its gaps. */
export interface WholeHistory {
  /** Oldest first. */
  readonly turns: readonly PastTurn[]
  /** The numbers of turns that are neither in the file nor in the document. */
  readonly missing: readonly number[]
}

/** Appends the entries that sessions of an engine drop to files in a folder, one file for each session. */
export class Archive {
  readonly #folder: string
  /** Writes run one after the other, so entries stay in order. */
  #writing: Promise<void> = Promise.resolve()

  constructor(folder: string) {
    this.#folder = folder
  }

  /** Starts to archive what the engine removes. A failed write goes to the engine's `onListenerError`. */
  follow(engine: FlowEngine): void {
    engine.on('session:trimmed', (trimmed) => {
      const write = () => appendFile(this.#fileOf(trimmed.sessionId), linesOf(trimmed), { mode: 0o600 })
      const written = this.#writing.then(write)
      this.#writing = written.catch(() => undefined)
      return written
    })
  }

  /** Resolves when all writes so far have ended, successful or not. Call it before the process ends. */
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
