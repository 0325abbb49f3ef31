/** The arguments of every route. */
import type { FlowRunInput, JsonValue, SendEventInput } from '../../../src/index.js'
import type { HeaderRecord } from '../core/header-names.js'
import type { OpenApiDocument } from '../core/openapi-document.js'
import type { ServedEngine } from '../core/served-engine.js'
import type { TextOf } from '../reply/refusal-text.js'
import type { StatusMode } from '../reply/statuses.js'
import type { AttachmentCheck } from '../request/attachments.js'
import type { AuthorizedCaller } from '../request/authorize.js'
import type { FlowCheck } from '../request/authorize-flow.js'
import type { BodyReader } from '../request/body.js'

/** The settings that are the same for all requests, made once from the options. */
export interface RouteContext {
  readonly engine: ServedEngine
  readonly statuses: StatusMode
  /** Whether a client may ask for a stream. */
  readonly streams: boolean
  /** Whether streams name steps and tools. */
  readonly streamDetails: boolean
  readonly heartbeatMs: number
  /** What happens to a turn whose client goes away; `undefined` if its key decides. */
  readonly onDisconnect: 'cancel' | 'finish' | undefined
  readonly readBody: BodyReader
  readonly checkAttachments: AttachmentCheck
  readonly textOf: TextOf
  /** `undefined`: every caller may run every flow. */
  readonly mayRun: FlowCheck | undefined
  /** The safety headers of a raw reply. */
  readonly rawHeaders: (contentType: string) => Readonly<HeaderRecord>
  /** The OpenAPI document of the routes. */
  readonly openApi: OpenApiDocument | false | undefined
  /** Opens tickets. */
  readonly tickets: { open(ticket: string, payload?: JsonValue): Promise<SendEventInput> } | undefined
  /** Passes an error that the client must not see to `onError`. */
  readonly report: (error: unknown) => void
  /** Emits `auth:refused`. Never throws. */
  readonly reportRefused: (refusal: Parameters<NonNullable<ServedEngine['reportRefused']>>[0]) => void
}

/** One admitted request. */
export interface RoutedRequest {
  readonly request: Request
  /** Its sender; `undefined` without `authorize`. */
  readonly caller: AuthorizedCaller | undefined
  /** The ID of the request. */
  readonly requestId: string
  /** The headers of every reply to the request. */
  readonly headers: Readonly<HeaderRecord>
  /** Keeps the runtime alive for work that outlives the reply; `undefined` if the runtime has no such function. */
  readonly waitUntil: FlowRunInput['waitUntil'] | undefined
}
