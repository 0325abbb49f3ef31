/**
 * The one document a conversation is stored as. Plain JSON throughout; any store may write it as text.
 */

import type { Message } from '../model/message.js'
import type { ModelSelection } from '../model/model-provider.js'
import type { JsonObject } from '../util/json.js'

/** The layout of documents that this release writes. */
export const sessionLayoutVersion = 1

/** A stored conversation. A part of it is named through it: `SessionDocument['history'][number]` is one turn. */
export interface SessionDocument {
  readonly id: string
  /** The version of this layout: 1. */
  readonly version: number
  /**
   * `'<n>-<random>'`: an opaque token, new with every save. It is never used twice for a session ID, not even after a delete or
   * a restored backup, where `n` comes again: a store may take what it knows under the stored revision for what is stored.
   */
  readonly revision: string
  /** The principal that the session belongs to. Absent where it was started without one. */
  readonly owner?: string
  /** `running` can be continued; `completed` reached an end step; `aborted` failed. The last two are kept for diagnostics. */
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
  /** About how many bytes `history` and the messages take as JSON: a running count, for the limit `maxSessionBytes`. */
  readonly bytes: number
  /** The flow's half of the session. */
  readonly flow: {
    /** The registered name the session is bound to. */
    readonly name: string
    /** The flow's `static version` when the session began. */
    readonly version: number
    /** Where the next turn goes on; `null` before the first step was entered. */
    readonly currentStep: string | null
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
    readonly memory: Readonly<Record<string, { readonly messages: readonly Message[] }>>
    /** The steps entered last, oldest first; at most 20. */
    readonly sequence: readonly {
      readonly step: string
      /** How deep flows are nested; 0 is the session's own flow. */
      readonly level: number
    }[]
  }
  /** Every committed turn as the user saw it, oldest first. The list and its entries are frozen. */
  readonly history: readonly {
    /** Counted from 1. */
    readonly turn: number
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
