/** What every route is given. */
import type { FlowRunInput } from '../../../src/index.js'
import type { HeaderRecord } from '../header-names.js'
import type { StatusMode } from '../reply/statuses.js'
import type { AuthorizedCaller } from '../request/authorize.js'
import type { BodyReader } from '../request/body.js'
import type { ServedEngine } from '../served-engine.js'

/** What is the same for all requests: made once, from the options. */
export interface RouteContext {
  readonly engine: ServedEngine
  readonly statuses: StatusMode
  readonly heartbeatMs: number
  /** What becomes of a turn whose client goes away; `undefined` where its key decides. */
  readonly onDisconnect: 'cancel' | 'finish' | undefined
  readonly readBody: BodyReader
  /** The safety headers of a raw reply. */
  readonly rawHeaders: (contentType: string) => Readonly<HeaderRecord>
  /** Passes an error that the client must not see to `onError`. */
  readonly report: (error: unknown) => void
}

/** One request that was let in. */
export interface RoutedRequest {
  readonly request: Request
  /** Who sent it; `undefined` where there is no `authorize`. */
  readonly caller: AuthorizedCaller | undefined
  readonly corsHeaders: HeaderRecord | undefined
  /** Keeps the runtime alive for what the turn leaves behind; `undefined` if nothing can. */
  readonly waitUntil: FlowRunInput['waitUntil'] | undefined
}
