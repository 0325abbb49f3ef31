/** The document that stores one conversation. It is plain JSON throughout, so any store can write it as text. */

import type { StoredMessage } from '../model/message.js'
import type { ModelSelection } from '../model/model-provider.js'
import type { ReplyPart } from '../model/reply-part.js'
import type { JsonObject, JsonValue } from '../util/json.js'

/** The layout version of the documents that this release writes. */
export const sessionLayoutVersion = 2

/** The layout of a document with `frames`: an older release would lose them, so it must refuse the session. */
export const framesLayoutVersion = 3

/** The layout versions that this release can read. */
export const readableLayoutVersions: readonly number[] = [sessionLayoutVersion, framesLayoutVersion]

/** A stored conversation. Name the type of a part by its path: `SessionDocument['history'][number]` is one turn. */
export interface SessionDocument {
  readonly id: string
  /** The version of the document's layout: 3 if `flow.frames` exists, otherwise 2. */
  readonly version: number
  /**
   * `'<n>-<random>'`: an opaque token, new with every save. It is never used twice for a session ID. After a delete or
   * a restored backup, `n` may repeat, but the random part differs. So a store may cache a document by its whole
   * revision.
   */
  readonly revision: string
  /** The principal that owns the session. Absent if the session was started without one. */
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
  /** The messages of the last 20 failures, oldest first. */
  readonly error: readonly string[]
  /** What the session's model calls cost, failed turns included. */
  readonly usage: {
    readonly inputTokens: number
    readonly outputTokens: number
    readonly modelCalls: number
    /** The part of the input tokens that came from a provider's cache. Absent if no provider reported it. */
    readonly cachedInputTokens?: number
    /** The part of the output tokens that was reasoning. Absent if no provider reported it. */
    readonly reasoningTokens?: number
    /** The cost at the catalog's prices. Absent if no model has a price. */
    readonly cost?: number
    /** Milliseconds that the turns took. Kept only if the session has a budget of `wallTimeMs`. */
    readonly wallTimeMs?: number
  }
  /** How many turns were committed; also the number of the last one. `history` may have lost the oldest. */
  readonly turns: number
  /** About how many bytes all lists of the document take as JSON: a running count, for the limit `maxSessionBytes`. */
  readonly bytes: number
  /** The turns that an idempotency key can repeat, oldest first. The list and its entries are frozen. */
  readonly receipts?: readonly {
    /** A digest of the idempotency key. */
    readonly key: string
    /** A digest of the key and the request together. */
    readonly request: string
    /** The number of the turn in `history`. Absent if the turn aborted the session. */
    readonly turn?: number
    /** The code of the error that aborted the session. */
    readonly code?: string
    /** Set if the request was an event of the application. */
    readonly event?: true
  }[]
  /** Work that flow code runs only once in a session, by name. Frozen. */
  readonly effects?: Readonly<
    Record<
      string,
      {
        /** When the work began: ISO 8601, UTC. */
        readonly begunAt: string
        /** How often the work began. */
        readonly attempts: number
        /** The number of the turn in which the work first began. A repeat uses the same idempotency key. */
        readonly turn?: number
        /** The result of the work. Absent while it is unknown. */
        readonly result?: JsonValue
      }
    >
  >
  /**
   * The bytes of the latest images and files from the user, oldest first; the parts of messages refer to them. Absent
   * if the user has sent none. The list and its entries are frozen.
   */
  readonly attachments?: readonly {
    /** Unique in the session. */
    readonly id: string
    /** The number of the turn in which the user sent it. */
    readonly turn: number
    /** The bytes in base64. */
    readonly data: string
  }[]
  /** The state of the flow. */
  readonly flow: {
    /** The registered flow name that the session is bound to. */
    readonly name: string
    /** The flow's `static version` when the session began. */
    readonly version: number
    /** The step in which the next turn continues; `null` before the first step was entered. */
    readonly currentStep: string | null
    /** The content type of replies in the current step, if the transition to this step set one. */
    readonly contentType?: string
    /**
     * The open calls, the current step last. Absent if the current step was not called, and neither takes events nor has
     * a timer.
     */
    readonly frames?: readonly {
      readonly step: string
      /** `'<turn>.<move>'`: which entry of the step this is. `'0'`: it called before it was entered. */
      readonly entry: string
      /** The step or the flow that was called here. Absent in the first frame. */
      readonly called?: string
      /** As `flow.contentType`, for a step that called. */
      readonly contentType?: string
      /** The events that the clock will send. Absent if there are none. */
      readonly timers?: readonly {
        /** The name of the event. */
        readonly name: string
        /** When it is due: ISO 8601, UTC. */
        readonly at: string
      }[]
    }[]
    /** The time that was last passed to the engine option `schedule`. Absent without timers. */
    readonly wakeAt?: string
    readonly context: JsonObject
    /** By step ID. */
    readonly steps: Readonly<
      Record<
        string,
        {
          /** The step's `state`. */
          readonly state: JsonObject
          /** The model that answered last in this step, without credentials. Absent if no model has answered. */
          readonly model?: ModelSelection
          /** The list that the step has offered last, while it can be chosen from. Its values are not masked. */
          readonly choices?: { readonly turn: number } & Omit<Extract<ReplyPart, { type: 'choices' }>, 'type'>
        }
      >
    >
    /** By namespace: the messages, oldest first. The lists and the messages are frozen. */
    readonly memory: Readonly<Record<string, { readonly messages: readonly StoredMessage[] }>>
    /** The last steps that were entered or returned to, oldest first; at most 20. */
    readonly sequence: readonly {
      readonly step: string
      /** How many calls were open then. */
      readonly level: number
    }[]
  }
  /**
   * The committed turns as the user saw them, oldest first; with the option `mask`, with the texts that it returned.
   * The limits `maxHistoryTurns` and `maxHistoryBytes` remove the oldest. The list and its entries are frozen.
   */
  readonly history: readonly {
    /** Counted from 1. */
    readonly turn: number
    /** The turn's ID, as in its events. Absent in entries that no engine wrote. */
    readonly id?: string
    /** When the turn was committed: ISO 8601, UTC. */
    readonly at: string
    readonly message: string
    readonly reply: string
    readonly contentType: string
    /** The event that this turn took, in place of a message. Absent in the turn of a message. */
    readonly event?: {
      readonly name: string
      /** Who sent it. */
      readonly by?: string
      /** The sender's ID. */
      readonly byId?: string
      /** Absent if it has more than 1 KiB, and if there is none. */
      readonly payload?: JsonValue
    }
    /** Present if `reply` holds bytes in base64. */
    readonly encoding?: 'base64'
    /** What the reply carried beside its text. Absent if there was nothing. */
    readonly parts?: readonly ReplyPart[]
    /** The images and files that came with the message, without their bytes. Absent if there were none. */
    readonly attachments?: readonly {
      readonly type: 'image' | 'file'
      readonly mediaType: string
      readonly name?: string
      /** Its address, if it came as one. */
      readonly url?: string
      /** The ID in the document's `attachments`, which keeps the bytes of the newest turns. */
      readonly attachment?: string
      /** How many bytes it has. */
      readonly size?: number
    }[]
    /** The current step at the end of the turn. */
    readonly step: string
  }[]
}

// Internal names for the parts. The public type spells them out inline, so that applications have fewer names to learn.

/** See {@link SessionDocument.usage}. */
export type SessionUsage = SessionDocument['usage']
/** See {@link SessionDocument.flow}. */
export type SessionFlow = SessionDocument['flow']
/** What the session stores for one step. */
export type SessionStep = SessionFlow['steps'][string]
/** The messages of one memory namespace. */
export type SessionMemory = SessionFlow['memory'][string]
/** A step that was entered. */
export type SessionSequenceEntry = SessionFlow['sequence'][number]
/** A step that has called, that was called, or that takes events. */
export type SessionFrame = NonNullable<SessionFlow['frames']>[number]
/** One committed turn. */
export type SessionHistoryEntry = SessionDocument['history'][number]
/** An image or a file of a turn. */
export type SentAttachment = NonNullable<SessionHistoryEntry['attachments']>[number]
/** A turn that an idempotency key can repeat. */
export type SessionReceipt = NonNullable<SessionDocument['receipts']>[number]
/** See {@link SessionDocument.effects}. */
export type SessionEffects = NonNullable<SessionDocument['effects']>
/** Work that flow code runs only once, under one name. */
export type SessionEffect = SessionEffects[string]
/** The bytes of one image or file. */
export type SessionAttachment = NonNullable<SessionDocument['attachments']>[number]
