/**
 * What the tests of `busy` share: one flow whose turns wait at gates of their message, under a policy, and turns in
 * short. It asserts nothing.
 */
import type { ExecuteResult, FlowConstructor, FlowEngineOptions, FlowRunInput } from '../../src/index.js'
import { type GatedFlow, gatedFlow, type Harness, harness } from './engine-harness.js'
import { type RecordedEvent, recordEvents } from './event-recorder.js'

/** A policy, as engine and flow take it. */
export type Policy = NonNullable<FlowEngineOptions['busy']>

/** A stored session of the flow `Talk`, in which nothing runs. */
export interface BusyTalk extends Harness, Pick<GatedFlow, 'journal' | 'open'> {
  readonly session: string
  readonly events: RecordedEvent[]
  /** Begins a turn of the session. */
  say(userMessage: string, more?: Partial<FlowRunInput>): Promise<ExecuteResult>
  /** The messages that are stored. */
  messages(): Promise<readonly string[]>
}

/** Makes the session. `change` may derive another class from the flow. */
export async function busyTalk(
  options: FlowEngineOptions = {},
  owner?: string,
  change: (flow: FlowConstructor) => FlowConstructor = (flow) => flow,
): Promise<BusyTalk> {
  const { flow, journal, open } = gatedFlow()
  const made = harness({ ...options, flows: [change(flow), ...((options.flows as FlowConstructor[]) ?? [])] })
  const named = owner === undefined ? {} : { owner }
  const { session } = await made.engine.run({ flowName: 'Talk', userMessage: 'start', ...named })
  return {
    ...made,
    journal,
    open,
    session,
    events: recordEvents(made.engine),
    say: (userMessage, more = {}) =>
      made.engine.execute({ flowName: 'Talk', userMessage, sessionId: session, ...named, ...more }),
    messages: async () => (await made.document(session)).history.map(({ message }) => message),
  }
}

/** The outcome of a turn: `ok`, or the code of its failure. */
export function outcomeOf({ error }: Pick<ExecuteResult, 'error'>): string {
  return error?.code ?? 'ok'
}
