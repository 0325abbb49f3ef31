/**
 * What the code of a flow sees of the turn under way. The engine makes one for each turn; nothing in it outlives it.
 */
import type { ModelBlockedError } from '../errors/engine-errors.js'
import type { FilePart, ImagePart } from '../model/message.js'
import type { JsonObject } from '../util/json.js'
import type { StepConstructor } from './base-step.js'

/**
 * What flows need from the application: a database, a mailer. Augment it to type `turn.services`:
 *
 * @example
 * ```ts
 * declare module 'turnkeeper' {
 *   interface FlowServices { mailer: Mailer }
 * }
 * ```
 */
// biome-ignore lint/suspicious/noEmptyInterface: applications add their members by declaration merging
export interface FlowServices {}

/** The session of a turn, read-only. */
export interface TurnSession {
  /** For a new session, the ID it will be stored under. */
  readonly id: string
  readonly flowName: string
  /** Whether this turn is the session's first. */
  readonly isNew: boolean
  /** The principal that the session belongs to, where there is one. */
  readonly owner?: string
  /** ISO 8601, UTC. */
  readonly createdAt: string
}

/** Where `turn.log` writes to: the engine option `logger`. `console` is one. */
export interface FlowLogger {
  /** What only its author looks at. `fields` holds facts beside the text: the session, the flow, the turn, the step. */
  debug(text: string, fields?: Readonly<Record<string, unknown>>): void
  /** What an operator may want to know. */
  info(text: string, fields?: Readonly<Record<string, unknown>>): void
  /** What somebody should look into. */
  warn(text: string, fields?: Readonly<Record<string, unknown>>): void
  /** What went wrong. */
  error(text: string, fields?: Readonly<Record<string, unknown>>): void
}

/** The turn under way. */
export interface Turn {
  /** The user's message, or what `withMessage` put in its place for this step. */
  readonly message: string
  /** The images and files that came with the message, in every step of the turn; `[]` where none did. Frozen. */
  readonly attachments: readonly (ImagePart | FilePart)[]
  /** Counted from 1. */
  readonly number: number
  /** Whether the current step was entered in this pass: tells asking from answering. */
  readonly entered: boolean
  /** Fires when the turn is given up: at its deadline, or when the caller went away. Pass it to what can be cancelled. */
  readonly signal: AbortSignal
  /** The flow's context, with what the server laid over it for this turn. Frozen. */
  readonly context: JsonObject
  readonly services: FlowServices
  readonly session: TurnSession
  /** For what the steps of one turn hand to each other. Gone at its end. */
  readonly transient: Map<string, unknown>
  /** Writes to the engine's logger, with the session, the flow, the turn and the step beside the text. */
  readonly log: FlowLogger
  /** The state of another step of this flow, live: what is written to it is stored with the turn. */
  stateOf<Target extends StepConstructor>(step: Target): InstanceType<Target>['state']
}

/** What a model that refused is known by. */
export interface ModelBlockedDetails {
  readonly provider: string
  readonly model: string
  /** The step that asked. */
  readonly step: string
  readonly error: ModelBlockedError
}
