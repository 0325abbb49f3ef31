/** What a turn was asked, checked: `input/check-input.ts` makes it. */
import type { FilePart, ImagePart } from '../../model/message.js'
import type { JsonObject } from '../../util/json.js'
import type { FlowRunInput } from './engine-options.js'

/** The digests of an idempotency key. The first two are what a receipt has. */
export interface RequestKey {
  readonly key: string
  /** Of the key and the request together: without the key it says nothing about the request. */
  readonly request: string
  /** Of the key, the owner and the flow: under it a store keeps the ID of the session that the request starts. */
  readonly claim: string
}

/** The input of one turn, checked. */
export interface TurnInput {
  readonly flowName: string
  readonly userMessage: string
  /** Frozen, as its parts are. */
  readonly attachments: readonly (ImagePart | FilePart)[]
  /** `undefined` where a new session was asked for. */
  readonly sessionId: string | undefined
  /** For the flow context of a new session. */
  readonly context: JsonObject | undefined
  /** Names the request, so that it can be sent again. `undefined` where it has no key. */
  readonly idempotency: RequestKey | undefined
  readonly signal: AbortSignal | undefined
  readonly owner: string | undefined
  readonly requestId: string | undefined
  /** `true` where the caller may not run the flow. */
  readonly hideFlow: true | undefined
  readonly serverContext: JsonObject | undefined
  readonly waitUntil: FlowRunInput['waitUntil'] | undefined
}
