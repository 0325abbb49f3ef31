// A text that every turn speaks of, in all places, and that must reach neither the store nor an event.
import { inspect } from 'node:util'
import Keyv from 'keyv'
import { describe, expect, test } from 'vitest'
import { recordEvents } from '../../../testing/contract/event-recorder.js'
import { VirtualClock } from '../../../testing/index.js'
import { rollingSummary, slidingWindow } from '../../compaction/index.js'
import {
  type ExecuteResult,
  Flow,
  FlowEngine,
  type FlowEngineOptions,
  type FlowRunInput,
  go,
  LogicStep,
  MemorySessionStore,
  type ModelRequest,
  type ModelResponse,
  reply,
  type SessionStore,
  Step,
  type Tool,
  type Turn,
  tool,
} from '../../index.js'
import { KeyvSessionStore } from '../../stores/keyv/index.js'

/** A store, and every text that was ever written to it. */
interface Watched {
  readonly sessionStore: SessionStore
  readonly written: string[]
}

const stores: Readonly<Record<string, (clock: VirtualClock) => Watched>> = {
  'the memory store'(clock) {
    const written: string[] = []
    const store = new MemorySessionStore({ clock })
    const watch =
      (value: (...args: unknown[]) => unknown) =>
      (...args: unknown[]): unknown => {
        written.push(inspect(args, { depth: Number.POSITIVE_INFINITY, maxStringLength: null, maxArrayLength: null }))
        return Reflect.apply(value, store, args)
      }
    const get = (_: object, key: string): unknown => {
      const value: unknown = Reflect.get(store, key, store)
      return typeof value === 'function' ? watch(value as () => unknown) : value
    }
    return { sessionStore: new Proxy(store, { get } as ProxyHandler<MemorySessionStore>), written }
  },
  'a Keyv store'() {
    const written: string[] = []
    class Recording extends Map<string, unknown> {
      override set(key: string, value: unknown): this {
        written.push(`${key} ${typeof value === 'string' ? value : JSON.stringify(value)}`)
        return super.set(key, value)
      }
    }
    return { sessionStore: new KeyvSessionStore({ keyv: new Keyv({ store: new Recording() }) }), written }
  },
}

const canary = `canary${crypto.randomUUID().replaceAll('-', '')}`

/** Looks something up; fails or hangs if the arguments say so. */
const look = tool({
  name: 'look',
  description: 'Looks.',
  execute(input) {
    const text = JSON.stringify(input)
    if (text.includes('tool fails')) throw new Error(`not found: ${canary}`, { cause: new Error(canary) })
    if (text.includes('hangs') && !text.includes('go on')) return new Promise(() => undefined)
    return { found: canary, [canary]: [canary] }
  },
})

function answer({ messages }: ModelRequest): ModelResponse {
  const part = messages.at(-1)?.parts[0]
  const said = part?.type === 'text' ? part.text : ''
  if (said.includes('model fails')) throw Object.assign(new Error(`refused: ${canary}`), { isRetryable: false })
  if (part?.type === 'tool-result') return { parts: [{ type: 'text', text: `It is ${canary}.` }] }
  const reasoning = { type: 'reasoning', text: canary, providerData: { own: { signed: canary } } } as const
  const toolCallId = `call-${messages.length}`
  const input = { for: `${canary} ${said}`, [canary]: true }
  return { parts: [reasoning, { type: 'tool-call', toolCallId, toolName: 'look', input }] }
}

class Entry extends LogicStep {
  static override readonly id = 'Entry'
  override run(turn: Turn) {
    if (turn.message.includes('code fails')) throw new Error(`cannot: ${canary}`)
    if (turn.message.includes('json')) return reply({ [canary]: canary })
    return go(Talk).withMessage(`${turn.message} and ${canary}`)
  }
}

class Talk extends Step {
  static override readonly id = 'Talk'
  override async onEnter(turn: Turn) {
    await turn.once(`work ${turn.number}`, () => 'done')
  }
  override tools(): readonly Tool[] {
    return [look]
  }
  override prompt(): string {
    return `Speak of ${canary}.`
  }
}

class Speaking extends Flow {
  static override readonly id: string = 'Speaking'
  override model() {
    return { provider: 'own', name: 'small' }
  }
  override steps() {
    return [Entry, Talk]
  }
}

class Summing extends Speaking {
  static override readonly id = 'Summing'
  static override readonly compaction = {
    Talk: rollingSummary({ above: 4, keep: 2, model: { provider: 'own', name: 'summarist' } }),
  }
}

class Sliding extends Speaking {
  static override readonly id = 'Sliding'
  static override readonly compaction = { Talk: slidingWindow({ above: 4, keep: 2 }) }
}

class Kind extends Speaking {
  static override readonly id = 'Kind'
  override onError() {
    return reply(`Sorry about ${canary}.`)
  }
}

class Batch extends Speaking {
  static override readonly id = 'Batch'
  override isBatch(): boolean {
    return true
  }
}

type Say = (text: string, more?: Partial<FlowRunInput>) => Promise<ExecuteResult>

/** A scene, and the codes of its turns; `ok` is a success. */
interface Scene {
  readonly flow?: string
  readonly options?: FlowEngineOptions
  readonly expected: readonly string[]
  play(
    say: Say,
    world: { readonly engine: FlowEngine; readonly clock: VirtualClock },
  ): Promise<readonly ExecuteResult[]>
}

/** One turn after the other. */
const inOrder =
  (...texts: readonly string[]): Scene['play'] =>
  async (say) => {
    const results: ExecuteResult[] = []
    for (const text of texts) results.push(await say(text))
    return results
  }

const scenes: Readonly<Record<string, Scene>> = {
  success: { expected: ['ok', 'ok', 'ok'], play: inOrder('one', 'two', 'three') },
  'a reply in JSON': { expected: ['ok'], play: inOrder('json') },
  'a batch flow': { flow: 'Batch', expected: ['ok', 'TOOL_ERROR'], play: inOrder('one', 'tool fails') },
  abort: { expected: ['ok', 'TOOL_ERROR'], play: inOrder('one', 'tool fails') },
  'abort by flow code': { expected: ['FLOW_ERROR'], play: inOrder('code fails') },
  rollback: {
    options: { onTurnError: 'rollback' },
    expected: ['ok', 'TOOL_ERROR', 'MODEL_ERROR', 'ok'],
    play: inOrder('one', 'tool fails', 'model fails', 'two'),
  },
  'a flow that answers for its failure': { flow: 'Kind', expected: ['ok', 'ok'], play: inOrder('one', 'tool fails') },
  'a mask that fails': {
    options: { onTurnError: 'rollback' },
    expected: ['ok', 'FLOW_ERROR', 'ok'],
    play: inOrder('one', 'mask fails', 'two'),
  },
  'summaries, of this turn and of earlier ones': {
    flow: 'Summing',
    expected: ['ok', 'ok', 'ok'],
    async play(say, { engine }) {
      const results: ExecuteResult[] = []
      for (const text of ['one', 'two', 'three']) {
        results.push(await say(text))
        await engine.settled()
      }
      return results
    },
  },
  'a window, and what it trims': { flow: 'Sliding', expected: ['ok', 'ok'], play: inOrder('one', 'two') },
  'limits, and what they trim': {
    options: { limits: { maxHistoryTurns: 1, maxMemoryBytes: 400 } },
    expected: ['ok', 'ok', 'ok'],
    play: inOrder('one', 'two', 'three'),
  },
  interrupted: {
    options: { busy: 'interrupt' },
    expected: ['ok', 'TURN_SUPERSEDED', 'ok'],
    async play(say, { clock }) {
      const first = await say('one')
      const { session: sessionId } = first.response
      const hanging = say('hangs', { sessionId, idempotencyKey: 'a-key-of-16-chars' })
      await clock.settle()
      return [first, ...(await Promise.all([hanging, say('go on', { sessionId })]))]
    },
  },
  cancelled: {
    expected: ['ok', 'TURN_ABORTED'],
    async play(say, { engine, clock }) {
      const first = await say('one')
      const hanging = say('hangs')
      await clock.settle()
      await engine.cancel(first.response.session)
      return [first, await hanging]
    },
  },
  'joined and replayed': {
    expected: ['ok', 'ok', 'ok'],
    async play(say) {
      const more = { idempotencyKey: 'a-key-of-16-chars' }
      const both = await Promise.all([say('one', more), say('one', more)])
      return [...both, await say('one', more)]
    },
  },
  'a replayed failure': {
    expected: ['TOOL_ERROR', 'TOOL_ERROR'],
    async play(say) {
      const more = { idempotencyKey: 'a-key-of-16-chars' }
      return [await say('tool fails', more), await say('tool fails', more)]
    },
  },
  'a stream': {
    expected: ['ok'],
    async play(_say, { engine }) {
      for await (const event of engine.stream({ flowName: 'Speaking', userMessage: canary })) {
        if (event.type !== 'result') continue
        const { type: _, ...result } = event
        return [result]
      }
      return []
    },
  },
}

describe.each(Object.entries(stores))('over %s', (_store, makeStore) => {
  test.each(Object.entries(scenes))('%s', async (_scene, { flow = 'Speaking', options, expected, play }) => {
    const clock = new VirtualClock()
    const { sessionStore, written } = makeStore(clock)
    const asked: ModelRequest[] = []
    const provider = {
      provider: 'own',
      resolve: ({ name }: { readonly name: string }) => ({
        provider: 'own',
        name,
        async generate(request: ModelRequest): Promise<ModelResponse> {
          asked.push(request)
          if (name === 'summarist')
            return { parts: [{ type: 'text', text: `Sum of ${JSON.stringify(request.messages)}` }] }
          return answer(request)
        },
      }),
    }
    const engine = new FlowEngine({
      clock,
      sessionStore,
      providers: [provider],
      flows: [Speaking, Summing, Sliding, Kind, Batch],
      logger: {
        debug() {},
        info() {},
        warn() {},
        error: (...line: unknown[]) => events.push(['turn:error', { line }]),
      },
      mask(text) {
        if (text.includes('mask fails')) throw new Error(text)
        return text.replaceAll(canary, '[masked]')
      },
      ...options,
    })
    const events = recordEvents(engine)
    let sessionId: string | undefined
    const say: Say = async (text, more) => {
      const input = { flowName: flow, userMessage: `${text} ${canary}`, ...more }
      const { idempotencyKey } = input
      const result = await engine.execute(
        sessionId === undefined || idempotencyKey !== undefined ? input : { sessionId, ...input },
      )
      if (result.response.session !== '') sessionId = result.response.session
      return result
    }
    const results = await play(say, { engine, clock })
    await engine.settled()
    expect(results.map(({ error }) => error?.code ?? 'ok')).toEqual(expected)

    // The test speaks of the canary, and the user gets it.
    const replies = results.filter(({ replayed }) => replayed !== true).map(({ response }) => response.message)
    expect(replies.join()).toContain(canary)
    // Neither the store nor a listener does.
    expect(written.length).toBeGreaterThan(0)
    expect(written.join('\n')).not.toContain(canary)
    expect(
      inspect(events, { depth: Number.POSITIVE_INFINITY, maxStringLength: null, maxArrayLength: null }),
    ).not.toContain(canary)
    // Models see it in messages of this turn only, and what writes summaries never.
    for (const { messages, origin } of asked) {
      const isSummary = origin.stepId.startsWith('memory:')
      const turn = Math.max(...messages.map((one) => one.turn))
      const earlier = messages.filter((one) => isSummary || one.turn < turn)
      expect(JSON.stringify(earlier)).not.toContain(canary)
    }
    await engine.close()
  })
})
