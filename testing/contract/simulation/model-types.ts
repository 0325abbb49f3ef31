/** The reference model's view of a session, and the rules of a run. Types only. */
import type { SessionDocument, StoredMessage } from '../../../src/index.js'

export type FlowName = 'Notes' | 'Ledger' | 'Talk'

/** What the first word of a message asks for. */
export type Verb = 'say' | 'csv' | 'sheet' | 'move' | 'end' | 'boom'

/** A committed turn. */
export interface ModelTurn {
  readonly turn: number
  readonly id: string
  readonly message: string
  readonly reply: string
  readonly contentType: string
  readonly step: string
  /** The photo that came with the message, without its bytes. Absent if there was none. */
  readonly attachments?: readonly (ModelPhoto & { readonly size: number })[]
}

/** What refers to the bytes of a photo. */
export interface ModelPhoto {
  readonly type: 'image'
  readonly mediaType: 'image/png'
  readonly attachment: string
}

/** A stored session. Values are never changed: an object's identity represents its revision. */
export interface ModelSession {
  readonly flow: FlowName
  readonly owner: string | undefined
  readonly status: 'running' | 'completed' | 'aborted' | 'lost'
  readonly step: string | null
  /** The content type of the step's replies, if a move set one. */
  readonly contentType: string | undefined
  readonly context: Readonly<Record<string, unknown>>
  readonly steps: SessionDocument['flow']['steps']
  /** The messages that the model received and answered. */
  readonly memory: readonly StoredMessage[]
  /** The bytes of the photos that came with the newest messages, in every flow. */
  readonly attachments: readonly { id: string; turn: number; data: string }[] | undefined
  /** How many turns were committed. */
  readonly count: number
  /** Those of them that are kept. */
  readonly turns: readonly ModelTurn[]
  /** Of all lists. */
  readonly bytes: number
  readonly errors: readonly string[]
  readonly usage: Usage
  /** How often it was saved, which its revision counts. */
  readonly saves: number
}

export interface Usage {
  readonly inputTokens: number
  readonly outputTokens: number
  readonly modelCalls: number
}

/** The limits that a run may change. */
export interface ModelLimits {
  readonly maxHistoryTurns: number
  readonly maxHistoryBytes: number
  readonly maxMemoryBytes: number
  readonly attachmentTurns: number
  readonly maxSessionBytes: number
}

/** The compaction of the memory `Chat`. */
export interface ModelCompaction {
  readonly kind: 'window' | 'summary'
  readonly above: number
  readonly keep: number
}

/** What is the same for all sessions of a run. */
export interface Rules {
  readonly limits: ModelLimits
  readonly compaction: ModelCompaction | undefined
  /** What happens to a session after a failed turn. */
  readonly onTurnError: 'abort' | 'rollback'
}
