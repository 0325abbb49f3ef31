/** What the tests of `turn.once` share: a conversation of one step, and work that notes its attempts. */
import type { Flow, FlowEngine, FlowEngineOptions, FlowRunInput, SessionDocument, Turn } from '../../src/index.js'
import { type FlowHooks, flowOf, type Harness, harness, type OnlyRun } from './engine-harness.js'
import { type RecordedEvent, recordEvents } from './event-recorder.js'

/** What work gets. */
export type Attempt = Parameters<Parameters<Turn['once']>[1]>[0]

/** An engine with one flow, `Talk`. */
export interface Talking extends Harness {
  readonly events: RecordedEvent[]
  say(userMessage: string, sessionId?: string, more?: Partial<FlowRunInput>): ReturnType<FlowEngine['execute']>
}

/** A conversation whose one step is `run`. A failed turn is rolled back. */
export function talking(
  run: OnlyRun,
  options: FlowEngineOptions & { readonly backing?: Map<string, SessionDocument> } = {},
  hooks: FlowHooks & { readonly onError?: Flow['onError'] } = {},
): Talking {
  const { onError, ...more } = hooks
  const construct = (flow: Flow): void => void (onError && Object.assign(flow, { onError }))
  const made = harness({ flows: [flowOf('Talk', run, { construct, ...more })], onTurnError: 'rollback', ...options })
  return {
    ...made,
    events: recordEvents(made.engine),
    say: (userMessage, sessionId, input = {}) =>
      made.engine.execute({
        flowName: 'Talk',
        userMessage,
        ...(sessionId === undefined ? {} : { sessionId }),
        ...input,
      }),
  }
}

/** Work that notes each attempt. */
export function payments(result: (attempt: Attempt) => unknown = () => ({ id: 'p-1' })): {
  readonly attempts: Attempt[]
  work(attempt: Attempt): unknown
} {
  const attempts: Attempt[] = []
  const work = (attempt: Attempt): unknown => {
    attempts.push(attempt)
    return result(attempt)
  }
  return { attempts, work }
}

/** Both kinds of effects, for `test.each`. */
export const either: readonly (readonly [title: string, durable: boolean])[] = [
  ['kept in memory until the turn ends', false],
  ['durable', true],
]
