/** What `simulate` takes, and what it returns. */
import type { FlowErrorCode, JsonValue, ModelRequest, SessionStore } from '../../src/index.js'
import type { ScriptedReply } from '../scripted-model/scripted-model.js'
import type { Actor, ActorView } from './plan.js'
import type { Invariant, SimulationSurroundings } from './simulated-turn.js'

/** The options of `simulate`. Everything is optional. */
export interface SimulateOptions extends SimulationSurroundings {
  /** How many conversations, with the seeds 1, 2, 3 and so on; or the seeds themselves. Default 100. */
  readonly seeds?: number | readonly number[]
  /**
   * The users; one of them is chosen for each turn. While a list of choices is open, every other message is one of its
   * buttons. A form mostly gets answers in their place: of its fields' schemas, buttons and questions, some wrong ones,
   * corrections, and a yes. Default: one that sends short texts from a list.
   */
  readonly actors?: readonly Actor[]
  /** What must hold after each turn, by name: a function that throws or returns `false` if it does not. */
  readonly invariants?: Readonly<Record<string, Invariant>>
  /**
   * The answers of models. Draw with `pick`, or a seed would not repeat them. Default: `'All right.'`; the model of a form
   * reads most messages into the field that is asked.
   */
  readonly model?: (request: ModelRequest, pick: ActorView['pick']) => ScriptedReply | Promise<ScriptedReply>
  /**
   * Makes the payload of each event that has an `input`, by its name: `{ decision: (pick) => ({ approved: pick([true,
   * false]) }) }`. A flow with events gets them between messages, and time passes up to its timers. Default: none, so
   * that an event with an `input` is never sent, and the simulation fails for that. Only the submission of a form has a
   * payload without it; if you make one, `{ Booking: (pick) => ({ day: pick(days) }) }`, users give its values to the
   * questions, too.
   */
  readonly payloads?: Readonly<Record<string, (pick: ActorView['pick']) => JsonValue>>
  /**
   * The maximum number of turns and restarts in one conversation. Default 8, and three more for each field of the longest
   * form.
   */
  readonly maxActions?: number
  /** Whether the store sometimes fails: before or after a call took effect, or by a rival's write. Default `true`. */
  readonly faults?: boolean
  /** Whether the engine is sometimes restarted. Default `true`. */
  readonly restarts?: boolean
  /** Whether two users sometimes send at once, to one engine or to two. Default `true`. */
  readonly together?: boolean
  /**
   * Codes of intended errors: turns may fail with them. A flow whose `busy` is `'interrupt'` needs
   * `'TURN_SUPERSEDED'` here, one whose `busy` is `'reject'` needs `'SESSION_BUSY'`. Default: none.
   */
  readonly mayFail?: readonly FlowErrorCode[]
  /** Wraps the memory store in another store. Default: no wrapper. */
  readonly wrapStore?: (store: SessionStore) => SessionStore
  /**
   * Milliseconds of real time in which nothing happens, after which a turn hangs, or an invariant: that fails.
   * `Infinity`: never. Default 2 000.
   */
  readonly hangAfterMs?: number
}

/** The size of a simulation without a failure: a small number means that little was tried. */
export interface SimulationResult {
  readonly conversations: number
  readonly turns: number
  /** Turns in which the store had a fault. */
  readonly disturbed: number
  /** Turns that ran at the same time as another one. */
  readonly together: number
  /** Turns that took an event, of the application or of the clock. */
  readonly events: number
  /** Turns that completed a session. */
  readonly completed: number
}
