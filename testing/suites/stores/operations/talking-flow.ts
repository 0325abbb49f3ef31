/** A flow for the cases that drive an engine: a model that repeats the last message, and a few words that do more. */

import { rollingSummary, slidingWindow } from '../../../../src/compaction/index.js'
import {
  type ExecuteResult,
  Flow,
  type FlowCompaction,
  type FlowConstructor,
  FlowEngine,
  finish,
  type ModelProviderAdapter,
  type ModelSelection,
  type SessionDocument,
  type SessionStore,
  Step,
  type StepConstructor,
  type Transition,
  type Turn,
} from '../../../../src/index.js'
import { fail } from '../../cases/failure.js'

const flowName = 'Talking'

class Talk extends Step<{ turns?: number }> {
  static override readonly id: string = 'Talk'
  override onReply(text: string, turn: Turn): string | Transition {
    this.state.turns = (this.state.turns ?? 0) + 1
    if (turn.message === 'fail') throw new Error('It failed on purpose.')
    return turn.message === 'bye' ? finish('Goodbye.') : text
  }
}

/** The same step under a new ID; it keeps its memory. */
class Chat extends Talk {
  static override readonly id: string = 'Chat'
  static override readonly aliases: readonly string[] = ['Talk']
}

/** A flow of one step, {@link Talk}. */
class TalkingFlow extends Flow {
  static override readonly id: string = flowName
  override model(): ModelSelection {
    return { provider: 'echo', name: 'echo' }
  }
  override steps(): readonly StepConstructor[] {
    return [Talk]
  }
}

/** The flow after its step was renamed. */
export class RenamedFlow extends TalkingFlow {
  override steps(): readonly StepConstructor[] {
    return [Chat]
  }
}

/** The flow with a memory of its last turns only. */
export class WindowFlow extends TalkingFlow {
  static override readonly compaction: FlowCompaction = { Talk: slidingWindow({ above: 6, keep: 3 }) }
}

/** The flow with a memory of a summary by its model, and of its last turns. */
export class SummaryFlow extends TalkingFlow {
  static override readonly compaction: FlowCompaction = {
    Talk: rollingSummary({ above: 6, keep: 2, model: { provider: 'echo', name: 'echo' } }),
  }
}

/** The flow after a change: each turn starts with only the last entry of each list. */
export class ForgettingFlow extends TalkingFlow {
  override onRestore(document: SessionDocument): SessionDocument {
    const memory = Object.entries(document.flow.memory).map(([name, { messages }]) => [
      name,
      { messages: messages.slice(-1) },
    ])
    const flow = { ...document.flow, memory: Object.fromEntries(memory) }
    return { ...document, flow, history: document.history.slice(-1) }
  }
}

const echo: ModelProviderAdapter = {
  provider: 'echo',
  resolve: ({ provider, name }) => ({
    provider,
    name,
    async generate({ messages }) {
      const texts = messages.map(({ parts }) => parts.map((part) => (part.type === 'text' ? part.text : '')).join(''))
      return {
        parts: [{ type: 'text', text: `${texts.length}: ${texts.at(-1) ?? ''}` }],
        usage: { inputTokens: texts.length, outputTokens: 1 },
      }
    },
  }),
}

/**
 * An engine over a store, without its leases: with them no two engines would race, and a swap that is broken would not
 * show.
 */
export function engineOver(store: SessionStore, flow: FlowConstructor = TalkingFlow): FlowEngine {
  return new FlowEngine({ flows: [flow], providers: [echo], sessionStore: withoutLease(store) })
}

function withoutLease(store: SessionStore): SessionStore {
  if (store.lease === undefined) return store
  const { claim, isDeleted, hold, onEvicted, onUnderReplicated } = store
  return {
    guarantees: store.guarantees,
    load: (sessionId) => store.load(sessionId),
    create: (...create) => store.create(...create),
    save: (...save) => store.save(...save),
    delete: (...remove) => store.delete(...remove),
    close: () => store.close(),
    ...(claim && { claim: claim.bind(store) }),
    ...(isDeleted && { isDeleted: isDeleted.bind(store) }),
    ...(hold && { hold: hold.bind(store) }),
    ...(onEvicted && { onEvicted: onEvicted.bind(store) }),
    ...(onUnderReplicated && { onUnderReplicated: onUnderReplicated.bind(store) }),
  }
}

/** One turn, whatever its result. */
export function runTurn(engine: FlowEngine, sessionId: string, userMessage: string): Promise<ExecuteResult> {
  return engine.execute({ flowName, sessionId, userMessage })
}

/** One turn that must succeed in the same session; returns the session's ID. */
export async function say(engine: FlowEngine, sessionId: string, userMessage: string): Promise<string> {
  const { response, error } = await runTurn(engine, sessionId, userMessage)
  if (!response.success) fail('the turn to succeed', `'${response.message}' (${String(error?.cause ?? error?.code)})`)
  if (sessionId !== '' && response.session !== sessionId) fail('the turn to go on in its session', 'a new session')
  return response.session
}
