/**
 * What a worker leaves behind: a file, one line for each event, written before the worker goes on. A line whose write
 * returned is with the operating system, and the end of the process does not take it back. So an acknowledgement in it
 * is one that the engine gave, and none is lost that counted.
 */
import { openSync, readFileSync, writeSync } from 'node:fs'
import type { TurnAnswer, TurnRecord } from './turn-record.js'

/** One line. */
export type JournalLine =
  /** A session was begun under this ID; whether it is stored is another question. */
  | { readonly kind: 'made'; readonly session: string }
  | { readonly kind: 'sent'; readonly turn: TurnRecord }
  | { readonly kind: 'answered'; readonly message: string; readonly answer: TurnAnswer }
  /** A write failed and took effect all the same. */
  | { readonly kind: 'lost-reply' }
  /** No turn on a slot was acknowledged, though the faults were over. */
  | { readonly kind: 'unserved'; readonly slot: string }
  /** An unhandled rejection or exception. */
  | { readonly kind: 'unhandled'; readonly text: string }

/** A worker's end of its file. */
export interface Journal {
  write(line: JournalLine): void
}

/** The records of all workers. */
export interface JournalRecords {
  readonly turns: readonly TurnRecord[]
  /** The IDs of all sessions that were begun. */
  readonly sessions: readonly string[]
  /** Writes that failed and took effect all the same. */
  readonly lostReplies: number
  readonly unserved: readonly string[]
  readonly unhandled: readonly string[]
}

/** Opens a worker's file. */
export function openJournal(path: string): Journal {
  const file = openSync(path, 'a')
  return { write: (line) => void writeSync(file, `${JSON.stringify(line)}\n`) }
}

/** Reads the files. A last line without its end is one that its worker did not get to write. */
export function readJournals(paths: readonly string[]): JournalRecords {
  const lines = paths.flatMap(linesOf)
  return {
    turns: turnsOf(lines),
    sessions: ofKind(lines, 'made').map(({ session }) => session),
    lostReplies: ofKind(lines, 'lost-reply').length,
    unserved: ofKind(lines, 'unserved').map(({ slot }) => slot),
    unhandled: ofKind(lines, 'unhandled').map(({ text }) => text),
  }
}

function linesOf(path: string): JournalLine[] {
  const texts = readFileSync(path, 'utf8').split('\n').slice(0, -1)
  return texts.map((text) => JSON.parse(text))
}

function ofKind<Kind extends JournalLine['kind']>(
  lines: readonly JournalLine[],
  kind: Kind,
): Extract<JournalLine, { kind: Kind }>[] {
  return lines.filter((line): line is Extract<JournalLine, { kind: Kind }> => line.kind === kind)
}

/** The turns that were sent, each with its answer. The file of one worker has both, in this order. */
function turnsOf(lines: readonly JournalLine[]): TurnRecord[] {
  const turns = new Map(ofKind(lines, 'sent').map(({ turn }) => [turn.message, turn]))
  for (const { message, answer } of ofKind(lines, 'answered')) {
    const sent = turns.get(message)
    if (sent !== undefined) turns.set(message, { ...sent, answer })
  }
  return [...turns.values()]
}
