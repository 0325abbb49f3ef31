/** One server process of the race. It may be killed at any moment. */
import { type ExecuteResult, FlowEngine, type SessionDocument } from '../../../src/index.js'
import { openStore, type StoreOrder } from '../storm/open-store.js'
import { Refund } from './race-flow.js'

/** What a worker is asked to do. */
export type RaceTask =
  | { readonly do: 'begin' }
  | { readonly do: 'approve' | 'decline' | 'withdraw' | 'read'; readonly session: string }

/** A task with a number, which its answer has, too. */
export type RaceRequest = RaceTask & { readonly number: number }

/** The answer to a task. */
export interface RaceAnswer {
  readonly number: number
  readonly session?: string
  readonly reply?: string
  readonly code?: string
  readonly document?: SessionDocument | undefined
}

async function answer(engine: FlowEngine, task: RaceTask): Promise<Omit<RaceAnswer, 'number'>> {
  if (task.do === 'read') return { document: await engine.getSession(task.session) }
  const { response, error } = await outcomeOf(engine, task)
  return { session: response.session, reply: response.message, ...(error && { code: error.code }) }
}

function outcomeOf(engine: FlowEngine, task: Exclude<RaceTask, { do: 'read' }>): Promise<ExecuteResult> {
  const turn = { flowName: 'Refund', whenEnded: 'reject' as const }
  if (task.do === 'begin') return engine.execute({ ...turn, userMessage: 'refund' })
  const { session: sessionId } = task
  if (task.do === 'withdraw') return engine.execute({ ...turn, userMessage: 'withdraw', sessionId })
  return engine.sendEvent({ sessionId, event: 'decision', payload: { approved: task.do === 'approve' }, by: 'Ada' })
}

process.once('message', async (store: StoreOrder) => {
  const logger = { debug() {}, info() {}, warn() {}, error() {} }
  const engine = new FlowEngine({ flows: [Refund], sessionStore: await openStore(store), logger })
  process.on('message', async ({ number, ...task }: RaceRequest) => {
    process.send?.({ number, ...(await answer(engine, task as RaceTask)) } satisfies RaceAnswer)
  })
  process.send?.({ number: -1 } satisfies RaceAnswer)
})
process.on('disconnect', () => process.exit())
