/**
 * The failures of a turn, and what the session, the client and the user get: the table of `docs/failures.md`, and how
 * each failure is brought about. `failures.test.ts` proves every row and compares the page with them.
 */
import type { ExecuteResult, FlowErrorCode } from '../../../src/index.js'
import type { FailureWorld, Seen, Send } from './failure-world.js'

/** The effect on the stored session. */
export type Fate =
  /** Byte for byte as before. */
  | 'as before'
  /** The turn may have been stored: the store did not say. */
  | 'as before, or with the turn'
  /** What another request stored stays. */
  | "the other request's"
  | 'aborted'
  /** As before, with the text of the error and what was spent. */
  | 'rolled back'

/** One value under `onTurnError: 'abort'` and one under `'rollback'`. */
export interface UnderBoth<T> {
  readonly abort: T
  readonly rollback: T
}

/** A row of the table. In texts `<id>` stands for the session ID, and `<turn>` for the turn ID. */
export interface FailureRow {
  readonly failure: string
  readonly code: FlowErrorCode
  /** The HTTP status under `statuses: 'contract'` and `'precise'`. */
  readonly status: { readonly contract: 400; readonly precise: number }
  readonly session: UnderBoth<Fate>
  readonly state: UnderBoth<ExecuteResult['sessionState']>
  /** What the user reads under `errorText: 'full'` and `'flow'`. */
  readonly text: { readonly full: string; readonly flow: string }
  /** Brings the failure about, in a session that has had one turn. */
  readonly run: (world: FailureWorld, send: Send) => Promise<Seen>
}

const fixed = 'Something went wrong. Reference: <turn>.'
const fixedBeforeTurn = 'Something went wrong.'

const asBefore: UnderBoth<Fate> = { abort: 'as before', rollback: 'as before' }
const ended: UnderBoth<Fate> = { abort: 'aborted', rollback: 'rolled back' }
const stillRunning: FailureRow['state'] = { abort: 'running', rollback: 'running' }
const abortedOrRunning: FailureRow['state'] = { abort: 'aborted', rollback: 'running' }
const nobodyKnows: FailureRow['state'] = { abort: 'unknown', rollback: 'unknown' }

/** The rows, in the order of the page. */
export const failureRows: readonly FailureRow[] = [
  {
    failure: 'Refused input: a message over `maxMessageBytes`',
    code: 'LIMIT_EXCEEDED',
    status: { contract: 400, precise: 422 },
    session: asBefore,
    state: stillRunning,
    text: { full: 'The user message exceeds the limit maxMessageBytes (5000).', flow: fixedBeforeTurn },
    run: (_world, send) => send('x'.repeat(6000)),
  },
  {
    failure: 'Full queue: too many messages wait for the session',
    code: 'LIMIT_EXCEEDED',
    status: { contract: 400, precise: 429 },
    session: asBefore,
    state: stillRunning,
    text: {
      full: 'The number of turns that wait for this session exceeds the limit maxQueuedTurnsPerSession (1).',
      flow: fixedBeforeTurn,
    },
    async run(world, send) {
      const busy = [world.startTurn('wait'), world.startTurn('wait')]
      await world.clock.settle()
      const seen = await send('hello')
      for (const turn of busy) await turn.cancel()
      return seen
    },
  },
  {
    failure: 'Busy engine: it already has `maxConcurrentTurns` turns',
    code: 'ENGINE_BUSY',
    status: { contract: 400, precise: 503 },
    session: asBefore,
    state: nobodyKnows,
    text: {
      full: 'The engine has as many turns under way as the limit maxConcurrentTurns allows (3). Send the message again in a moment.',
      flow: fixedBeforeTurn,
    },
    async run(world, send) {
      const others = [world.startTurn('wait', ''), world.startTurn('wait', ''), world.startTurn('wait', '')]
      await world.clock.settle()
      const seen = await send('hello')
      for (const turn of others) await turn.cancel()
      return seen
    },
  },
  {
    failure: 'Conflict: another process changed the session during the turn',
    code: 'SESSION_CONFLICT',
    status: { contract: 400, precise: 409 },
    session: { abort: "the other request's", rollback: "the other request's" },
    state: stillRunning,
    text: { full: "Session '<id>' was changed or deleted by another request.", flow: fixed },
    async run(world, send) {
      world.store.delayNext('save', 10)
      const sending = send('hello')
      await world.clock.settle()
      await world.change({ revision: '9-theirs' })
      return world.clock.runUntil(sending)
    },
  },
  {
    failure: 'Store outage when the session is loaded',
    code: 'SESSION_STORE_ERROR',
    status: { contract: 400, precise: 500 },
    session: asBefore,
    state: nobodyKnows,
    text: { full: "Session store failed to load session '<id>'.", flow: fixed },
    run(world, send) {
      world.store.failNext('load', { times: Number.POSITIVE_INFINITY })
      return send('hello')
    },
  },
  {
    failure: 'Store outage when the turn is stored',
    code: 'SESSION_STORE_ERROR',
    status: { contract: 400, precise: 500 },
    session: { abort: 'as before, or with the turn', rollback: 'as before, or with the turn' },
    state: nobodyKnows,
    text: {
      full: "Session store failed to save session '<id>'. Whether it took effect is unknown.",
      flow: fixed,
    },
    run(world, send) {
      world.store.failNext('save', { times: Number.POSITIVE_INFINITY })
      world.store.failNext('load', { nth: 2, times: Number.POSITIVE_INFINITY })
      return world.clock.runUntil(send('hello'))
    },
  },
  {
    failure: 'Store that can be read and fails at three writes in a row',
    code: 'SESSION_STORE_ERROR',
    status: { contract: 400, precise: 500 },
    session: ended,
    state: abortedOrRunning,
    text: { full: "Session store failed to save session '<id>'.", flow: fixed },
    run(world, send) {
      world.store.failNext('save', { times: 3 })
      return world.clock.runUntil(send('hello'))
    },
  },
  {
    failure: '`ENGINE_CLOSED`: the process stops',
    code: 'ENGINE_CLOSED',
    status: { contract: 400, precise: 503 },
    session: asBefore,
    state: nobodyKnows,
    text: { full: 'The engine is closed.', flow: fixedBeforeTurn },
    async run(world, send) {
      await world.engine.close()
      return send('hello')
    },
  },
  {
    failure: 'Model outage, after every attempt and every fallback',
    code: 'MODEL_ERROR',
    status: { contract: 400, precise: 502 },
    session: ended,
    state: abortedOrRunning,
    text: { full: "Model 'small' of provider 'own' failed.", flow: fixed },
    run: (_world, send) => send('ask'),
  },
  {
    failure: 'Thrown error: flow code throws an `Error`',
    code: 'FLOW_ERROR',
    status: { contract: 400, precise: 500 },
    session: ended,
    state: abortedOrRunning,
    text: { full: 'The till is jammed.', flow: fixed },
    run: (_world, send) => send('throw'),
  },
  {
    failure: 'Thrown error: flow code throws a `FlowError`',
    code: 'FLOW_ERROR',
    status: { contract: 400, precise: 500 },
    session: ended,
    state: abortedOrRunning,
    text: { full: 'We are closed today.', flow: 'We are closed today.' },
    run: (_world, send) => send('throw a FlowError'),
  },
  {
    failure: 'Tool error: a tool throws an `Error`',
    code: 'TOOL_ERROR',
    status: { contract: 400, precise: 500 },
    session: ended,
    state: abortedOrRunning,
    text: { full: 'The card was refused.', flow: fixed },
    run: (_world, send) => send('pay'),
  },
  {
    failure: 'Turn deadline: the turn takes longer than `turnTimeoutMs`',
    code: 'TURN_TIMEOUT',
    status: { contract: 400, precise: 504 },
    session: ended,
    state: abortedOrRunning,
    text: { full: 'The turn took longer than the limit turnTimeoutMs (120000 ms).', flow: fixed },
    async run(world, send) {
      const sending = send('wait')
      await world.clock.settle()
      await world.clock.advance(120_000)
      return sending
    },
  },
  {
    failure: 'Over-limit turn: the session would exceed `maxSessionBytes`',
    code: 'LIMIT_EXCEEDED',
    status: { contract: 400, precise: 422 },
    session: { abort: 'rolled back', rollback: 'rolled back' },
    state: stillRunning,
    text: { full: 'The session exceeds the limit maxSessionBytes (4000).', flow: fixed },
    run: (_world, send) => send('x'.repeat(4000)),
  },
  {
    failure: 'Over-limit turn: any other limit of a turn',
    code: 'LIMIT_EXCEEDED',
    status: { contract: 400, precise: 422 },
    session: ended,
    state: abortedOrRunning,
    text: {
      full: "The number of moves in one turn (the last one from 'Front' to 'Front') exceeds the limit maxTransitionsPerTurn (3).",
      flow: fixed,
    },
    run: (_world, send) => send('loop'),
  },
  {
    failure: 'Client gone, or the caller cancels',
    code: 'TURN_ABORTED',
    status: { contract: 400, precise: 499 },
    session: asBefore,
    state: stillRunning,
    text: { full: 'The turn was cancelled by its caller.', flow: fixed },
    async run(world, send) {
      const controller = new AbortController()
      const sending = send('wait', controller.signal)
      await world.clock.settle()
      controller.abort()
      return sending
    },
  },
]
