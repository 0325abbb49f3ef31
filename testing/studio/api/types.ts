/** What the studio's server and its page say to each other: JSON. Times are milliseconds since the epoch. */
import type {
  FilePart,
  FlowRunInput,
  ImagePart,
  JsonValue,
  ReplyPart,
  SessionDocument,
  ToolDefinition,
} from '../../../src/index.js'
import type { DiagramStep, DiagramTransition } from '../../flow-coverage/mermaid.js'

/** A type while it is being filled. */
export type Writable<Type> = { -readonly [Key in keyof Type]: Type[Key] }

/** What a turn was given: a message, or an event and who sent it. */
export interface TurnInput {
  readonly text: string
  readonly choice?: FlowRunInput['choice']
  readonly attachments?: readonly (ImagePart | FilePart)[]
  readonly event?: { readonly name: string; readonly payload?: JsonValue; readonly by?: string }
  readonly sender?: 'user' | 'application' | 'clock'
  /** The flow has replaced what was sent, or a mask has. */
  readonly isHidden?: true
}

/** A call of a tool, or the work of a `turn.once`. */
export interface EffectCall {
  readonly kind: 'tool' | 'once'
  readonly name: string
  readonly input?: JsonValue
  /** Absent if it returned nothing, failed, or moved the conversation on. */
  readonly result?: JsonValue
  readonly error?: string
  /** The model got the error, and the turn went on. */
  readonly isToolError?: true
  readonly durationMs: number
  /** It changed the session or moved on, so a fork and a saved test have to run it again. */
  readonly mustRun?: true
  /** It had not ended when its turn did. */
  readonly isOpen?: true
  /** An earlier line had this result, and nothing ran. */
  readonly isRecorded?: true
}

/** An attempt at a model call, as the model got it. Without an `answer` it failed. */
export interface ModelCall {
  readonly provider: string
  readonly model: string
  readonly step: string
  readonly system?: string
  readonly messages: readonly { readonly role: string; readonly parts: readonly unknown[] }[]
  readonly tools: readonly Pick<ToolDefinition, 'name' | 'description' | 'inputSchema'>[]
  readonly answer?: readonly unknown[]
  readonly inputTokens?: number
  readonly outputTokens?: number
  readonly cost?: number
  readonly durationMs?: number
}

/** A turn as the conversation shows it. */
export interface TurnView {
  readonly input: TurnInput
  /** The time of the line's clock. */
  readonly at: number
  readonly reply: string
  readonly contentType: string
  readonly encoding?: 'base64'
  readonly parts?: readonly ReplyPart[]
  /** Its number in the session, for a button. */
  readonly number?: number
  /** The step at the end of the turn. */
  readonly step: string
  /** The steps that the turn passed, in order. A call is a level higher. */
  readonly path: SessionDocument['flow']['sequence']
  readonly error?: { readonly code: string; readonly text: string; readonly frames: readonly string[] }
  /** What differs from the turn that was played again: `message`, `reply`, `parts`, `step`, `tools`, `state`. */
  readonly differs?: readonly string[]
  readonly durationMs: number
}

/** A turn as a line keeps it. */
export interface StoredTurn extends TurnView {
  /** The session after the turn. Absent if nothing was stored. */
  readonly document?: SessionDocument
  readonly calls: readonly EffectCall[]
  readonly models: readonly ModelCall[]
}

/** What has changed in a document: a node has `children`, or what was there `before` and `after`. */
export interface DocumentChange {
  readonly key: string
  readonly kind: 'added' | 'removed' | 'changed'
  readonly before?: JsonValue
  readonly after?: JsonValue
  readonly children?: readonly DocumentChange[]
}

/** A turn as the inspector shows it. */
export interface TurnDetail extends Omit<StoredTurn, 'document'> {
  readonly changes: readonly DocumentChange[]
  readonly frames: readonly JsonValue[]
  readonly usage?: SessionDocument['usage']
}

/** A tool or an effect that waits for permission. */
export interface Question extends Pick<EffectCall, 'kind' | 'name' | 'input'> {
  readonly id: string
  /** Why it has to run again, though it ran in the earlier line. Absent if it is new. */
  readonly reason?: string
}

/** A line in the list: one run of a conversation. */
export interface LineSummary {
  readonly id: string
  readonly flow: string
  readonly turns: number
  readonly parent?: { readonly line: string; readonly turn: number }
  /** It is a stored session that was opened. */
  readonly isReadOnly?: true
}

/** A step of the map. */
export type MapStep = DiagramStep & { readonly seen: number }

/** A move of the map, and how often it was seen in all lines of the flow. */
export interface MapMove extends DiagramTransition {
  readonly seen: number
  /** Whether this line has taken it. */
  readonly isOnPath: boolean
}

/** One line, whole. */
export interface LineView extends LineSummary {
  /** The time of the line, which stands still until it is moved. */
  readonly now: number
  readonly state: 'new' | 'running' | 'completed' | 'aborted'
  readonly step: string
  readonly history: readonly TurnView[]
  /** The events that the session takes now; with JSON Schema, if the event has an input that has one. */
  readonly events: readonly { readonly name: string; readonly byUser: boolean; readonly schema?: JsonValue }[]
  /** The number of the turn whose buttons can be pressed. Absent if there is none. */
  readonly choices?: number
  readonly timers: readonly { readonly name: string; readonly step: string; readonly at: number }[]
  readonly map: { readonly steps: readonly MapStep[]; readonly moves: readonly MapMove[] }
  readonly isBusy: boolean
  /** What the turn under way was given. */
  readonly pending?: TurnInput
  readonly question?: Question
}

/** What the server says without being asked, a line of JSON each. `reset` takes back the text under way. */
export type StudioUpdate =
  | {
      readonly type: 'lines'
      readonly flows: readonly string[]
      readonly lines: readonly LineSummary[]
      /** Names the process. */
      readonly run: string
    }
  /** Something of the line under way. After a turn, `lines` says it. */
  | { readonly type: 'changed'; readonly line: string }
  | { readonly type: 'text' | 'reset' | 'tool'; readonly line: string; readonly text: string }

type Line<More = unknown> = { line: string } & More
type Done = { problem?: string | undefined }

/** `POST /api/<name>`: what each route takes and returns. Turns count from 1. A refusal is `{ problem }`, status 400. */
export interface StudioRoutes {
  begin: [{ flow: string }, Line]
  line: [Line, LineView]
  turn: [Line<{ turn: number }>, TurnDetail]
  /** A message, or an event of the user. Answers when the turn has ended; `problem` if there was none. */
  send: [Line<TurnInput>, Done]
  /** An event of the application. */
  event: [Line<NonNullable<TurnInput['event']>>, Done]
  /** Moves the time by `ms`, or to the next timer. */
  advance: [Line<{ ms?: number }>, Done]
  stop: [Line, Done]
  /** Goes back to the end of a turn (0: the beginning), in a new line. */
  fork: [Line<{ turn: number }>, Line]
  /** Plays a turn and those after it through the code as it is now, in a new line. */
  replay: [Line<{ turn: number }>, Line]
  answer: [Line<{ question: string; answer: 'run' | 'run-all' | 'refuse' }>, Done]
  save: [Line<{ as: 'test' | 'scenario'; name: string }>, { files: readonly string[] }]
  /** Opens a stored session to be read. */
  open: [{ document: JsonValue }, Line]
}
