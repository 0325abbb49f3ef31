/** The checked input of a turn, made by `input/check-input.ts`. */
import type { Turn } from '../../flow/turn.js'
import type { FilePart, ImagePart } from '../../model/message.js'
import type { JsonObject, JsonValue } from '../../util/json.js'
import type { FlowRunInput } from './engine-options.js'

/** The digests of an idempotency key. A receipt contains the first two. */
export interface RequestKey {
  readonly key: string
  /** The digest of the key and the request together. Without the key it reveals nothing about the request. */
  readonly request: string
  /**
   * The digest of the key, the owner and the flow. A store keeps the ID of the session that the request starts under
   * it.
   */
  readonly claim: string
}

/** The event of a turn, checked. */
export interface TurnEvent {
  readonly name: string
  /** Frozen; `undefined` if there is none. */
  readonly payload: JsonValue | undefined
  readonly source: 'server' | 'user' | 'timer'
  /** What flow code sees of it: `Turn.event`. The first attempt at the turn adds an ID, if it has none. Frozen. */
  seen: Omit<NonNullable<Turn['event']>, 'id'> & { readonly id?: string }
  readonly only?: { readonly step: string; readonly entry: string } | undefined
}

/** The input of one turn, checked. */
export interface TurnInput {
  readonly flowName: string
  readonly userMessage: string
  /** Frozen, as its parts are. */
  readonly attachments: readonly (ImagePart | FilePart)[]
  /** `undefined` for a new session. */
  readonly sessionId: string | undefined
  /** For the flow context of a new session. */
  readonly context: JsonObject | undefined
  /** The idempotency key of the request; `undefined` if it has none. */
  readonly idempotency: RequestKey | undefined
  readonly signal: AbortSignal | undefined
  readonly owner: string | undefined
  readonly requestId: string | undefined
  /** `true` if the caller may not run the flow. */
  readonly hideFlow: true | undefined
  readonly serverContext: JsonObject | undefined
  readonly waitUntil: FlowRunInput['waitUntil'] | undefined
  /** `true` if a completed session must not be replaced by a new one. */
  readonly rejectsEnded: true | undefined
  /** The option that the user chose; `undefined` if none was named. */
  readonly choice: FlowRunInput['choice'] | undefined
  /** `undefined` in the turn of a message. */
  readonly event: TurnEvent | undefined
}
