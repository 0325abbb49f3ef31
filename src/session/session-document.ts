/**
 * The one document a conversation is stored as. Plain JSON throughout; any store may write it as text.
 */

import type { StoredMessage } from '../model/message.js'
import type { ModelSelection } from '../model/model-provider.js'
import type { JsonObject, JsonValue } from '../util/json.js'

/** The layout of documents that this release writes. */
export const sessionLayoutVersion = 2

/** The layouts of documents that this release reads. */
export const readableLayoutVersions: readonly number[] = [sessionLayoutVersion]

/** A stored conversation. A part of it is named through it: `SessionDocument['history'][number]` is one turn. */
export interface SessionDocument {
  readonly id: string
  /** The version of the layout in which the document is stored: 2. */
  readonly version: number
  /**
   * `'<n>-<random>'`: an opaque token, new with every save. It is never used twice for a session ID, not even after a
   * delete or a restored backup, where `n` comes again: a store may take what it knows under the stored
   * revision for what is stored.
   */
  readonly revision: string
  /** The principal that the session belongs to. Absent where it was started without one. */
  readonly owner?: string
  /**
   * `running` can be continued; `completed` reached an end step; `aborted` failed. The last two
   * are kept for diagnostics.
   */
  readonly runStatus: 'running' | 'completed' | 'aborted'
  /** ISO 8601, UTC. */
  readonly createdAt: string
  /** ISO 8601, UTC. */
  readonly savedAt: string
  /** The texts of failures, oldest first; the last 20. */
  readonly error: readonly string[]
  /** What the session's model calls really cost, failed turns included. */
  readonly usage: {
    readonly inputTokens: number
    readonly outputTokens: number
    readonly modelCalls: number
    /** Of the input, what came from a provider's cache. Absent where no provider said. */
    readonly cachedInputTokens?: number
    /** Of the output, what was reasoning. Absent where no provider said. */
    readonly reasoningTokens?: number
    /** By the prices of the catalog. Absent where no model has any. */
    readonly cost?: number
    /** Milliseconds that the turns took. Kept only under a budget of the session's `wallTimeMs`. */
    readonly wallTimeMs?: number
  }
  /** The turns that were committed: the number of the last one. `history` may have lost the oldest of them. */
  readonly turns: number
  /** About how many bytes all lists of the document take as JSON: a running count, for the limit `maxSessionBytes`. */
  readonly bytes: number
  /** The turns that an idempotency key can repeat, oldest first. The list and its entries are frozen. */
  readonly receipts?: readonly {
    /** A digest of the idempotency key. */
    readonly key: string
    /** A digest of the key and the request together. */
    readonly request: string
    /** The number of the turn in `history`. Absent where the turn aborted the session. */
    readonly turn?: number
    /** The code of the error that aborted the session. */
    readonly code?: string
  }[]
  /** What flow code did once and for all, by name. Frozen. */
  readonly effects?: Readonly<
    Record<
      string,
      {
        /** When the work began: ISO 8601, UTC. */
        readonly begunAt: string
        /** How often the work was begun. */
        readonly attempts: number
        /** The number of the turn in which it was begun first: a repeat of the work has the same idempotency key. */
        readonly turn?: number
        /** What it returned. Absent where that is unknown. */
        readonly result?: JsonValue
      }
    >
  >
  /**
   * The bytes of the images and files that the user sent last, oldest first; the parts of messages refer to them.
   * Absent where the user never sent any. The list and its entries are frozen.
   */
  readonly attachments?: readonly {
    /** Unique in the session. */
    readonly id: string
    /** The number of the turn that brought it. */
    readonly turn: number
    /** The bytes in base64. */
    readonly data: string
  }[]
  /** The flow's half of the session. */
  readonly flow: {
    /** The registered name the session is bound to. */
    readonly name: string
    /** The flow's `static version` when the session began. */
    readonly version: number
    /** Where the next turn goes on; `null` before the first step was entered. */
    readonly currentStep: string | null
    /** The content type of the replies in the current step, where the transition that led there set one. */
    readonly contentType?: string
    readonly context: JsonObject
    /** By step ID. */
    readonly steps: Readonly<
      Record<
        string,
        {
          /** The step's `state`. */
          readonly state: JsonObject
          /** The model that answered last for this step, without credentials. Absent where none did. */
          readonly model?: ModelSelection
        }
      >
    >
    /** By namespace: the messages, oldest first. The lists and the messages are frozen. */
    readonly memory: Readonly<Record<string, { readonly messages: readonly StoredMessage[] }>>
    /** The steps entered last, oldest first; at most 20. */
    readonly sequence: readonly {
      readonly step: string
      /** How deep flows are nested; 0 is the session's own flow. */
      readonly level: number
    }[]
  }
  /**
   * The committed turns as the user saw them, or as the option `mask` returned their texts, oldest first; the limits
   * `maxHistoryTurns` and `maxHistoryBytes` remove the oldest. The list and its entries are frozen.
   */
  readonly history: readonly {
    /** Counted from 1. */
    readonly turn: number
    /** The ID of the turn, as its events carry it. Absent in entries that no engine wrote. */
    readonly id?: string
    /** When it was committed: ISO 8601, UTC. */
    readonly at: string
    readonly message: string
    readonly reply: string
    readonly contentType: string
    /** Set where `reply` is bytes in base64. */
    readonly encoding?: 'base64'
    /** The current step at the turn's end. */
    readonly step: string
  }[]
}

// Names for the parts, within this package: the public type has them in place, so that no application needs more names.

/** See {@link SessionDocument.usage}. */
export type SessionUsage = SessionDocument['usage']
/** See {@link SessionDocument.flow}. */
export type SessionFlow = SessionDocument['flow']
/** What the session keeps of one step. */
export type SessionStep = SessionFlow['steps'][string]
/** The messages of one memory namespace. */
export type SessionMemory = SessionFlow['memory'][string]
/** A step that was entered. */
export type SessionSequenceEntry = SessionFlow['sequence'][number]
/** One committed turn. */
export type SessionHistoryEntry = SessionDocument['history'][number]
/** A turn that an idempotency key can repeat. */
export type SessionReceipt = NonNullable<SessionDocument['receipts']>[number]
/** See {@link SessionDocument.effects}. */
export type SessionEffects = NonNullable<SessionDocument['effects']>
/** What flow code did once and for all, under one name. */
export type SessionEffect = SessionEffects[string]
/** The bytes of one image or file. */
export type SessionAttachment = NonNullable<SessionDocument['attachments']>[number]
