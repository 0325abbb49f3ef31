// Whatever a flow does and a model says: what was streamed is the reply, or it was taken back; and a streamed turn is
// the same turn as one by `execute`.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { harness } from '../../../testing/contract/engine-harness.js'
import { type RecordedEvent, recordEvents } from '../../../testing/contract/event-recorder.js'
import { answer, calling, delta, modelStep, modelsOf, shortly } from '../../../testing/contract/stream-harness.js'
import { TestFlow } from '../../../testing/contract/test-flows.js'
import {
  EndStep,
  type ExecuteResult,
  type FlowStreamEvent,
  finish,
  go,
  type ModelProviderAdapter,
  type ModelResponse,
  type ModelSelection,
  type ModelStreamPart,
  reply,
  retry,
  type StepConstructor,
  stay,
  type Tool,
  type Transition,
  tool,
} from '../../index.js'

/** What one attempt at a model comes to. */
type Said = 'text' | 'json' | 'other text' | 'nothing' | 'cut' | 'busy' | 'broken' | 'refusal' | 'garbage' | ToolName
type ToolName = 'look' | 'move' | 'move with a reply' | 'end' | 'say it' | 'break'
type Hook = 'none' | 'same' | 'other' | 'retry' | 'move' | 'move with it' | 'end' | 'end with it' | 'page' | 'break'

interface StepPlan {
  readonly streams: boolean | undefined
  readonly onReply: Hook
  readonly hasOutput: boolean
  readonly onModelError: 'none' | 'say' | 'move'
}

interface Plan {
  readonly steps: readonly [StepPlan, StepPlan]
  /** What each attempt comes to, over and over. */
  readonly said: readonly Said[]
  readonly models: 1 | 2
  readonly canStream: boolean
  readonly maxAttempts: number
  /** Letters in a piece. */
  readonly pieceLength: number
  /** Whether the reader now and then lets the model run ahead. */
  readonly isSlow: boolean
  readonly messages: number
}

const stepPlan: fc.Arbitrary<StepPlan> = fc.record({
  streams: fc.constantFrom(undefined, undefined, true, false),
  onReply: fc.constantFrom<Hook>(
    'none',
    'none',
    'same',
    'other',
    'retry',
    'move',
    'move with it',
    'end',
    'end with it',
    'page',
    'break',
  ),
  hasOutput: fc.constantFrom(false, false, false, true),
  onModelError: fc.constantFrom('none', 'say', 'move'),
})
const plan: fc.Arbitrary<Plan> = fc.record({
  steps: fc.tuple(stepPlan, stepPlan),
  said: fc.array(
    fc.constantFrom<Said>(
      'text',
      'text',
      'text',
      'json',
      'other text',
      'nothing',
      'cut',
      'cut',
      'busy',
      'broken',
      'refusal',
      'garbage',
      'look',
      'look',
      'move',
      'move with a reply',
      'end',
      'say it',
      'break',
    ),
    { minLength: 1, maxLength: 6 },
  ),
  models: fc.constantFrom(1, 2),
  canStream: fc.constantFrom(true, true, true, false),
  maxAttempts: fc.constantFrom(1, 2, 3),
  pieceLength: fc.constantFrom(1, 3, 100),
  isSlow: fc.boolean(),
  messages: fc.constantFrom(1, 2, 3),
})

const busy = Object.assign(new Error('busy'), { statusCode: 503 })
const toolNames: readonly ToolName[] = ['look', 'move', 'move with a reply', 'end', 'say it', 'break']

/** A model that says what is planned, whole or in pieces: the same either way. */
function provider({ said, canStream, pieceLength }: Plan): ModelProviderAdapter {
  let calls = 0
  const next = (): { readonly text: string; readonly response: ModelResponse | Error } => {
    const what = said[calls % said.length] as Said
    const text = what === 'json' ? '{"is":"good"}' : `What I say in call ${calls++}.`
    if (what === 'json') calls++
    if (what === 'busy') return { text: '', response: busy }
    if (what === 'broken') return { text, response: new Error('broken') }
    if (what === 'cut') return { text: text.slice(0, 7), response: busy }
    if (what === 'nothing') return { text: '', response: answer('') }
    if (what === 'garbage') return { text, response: {} as ModelResponse }
    if (what === 'refusal') return { text, response: { ...answer(text), finishReason: 'content-filter' } }
    if (what === 'other text') return { text, response: answer('Something else.') }
    if (what === 'text' || what === 'json') return { text, response: answer(text) }
    return { text, response: calling(what.replaceAll(' ', '_'), text) }
  }
  const generate = async (): Promise<ModelResponse> => {
    const { response } = next()
    if (response instanceof Error) throw response
    return response
  }
  async function* stream(): AsyncGenerator<ModelStreamPart> {
    const { text, response } = next()
    for (let at = 0; at < text.length; at += pieceLength) yield delta(text.slice(at, at + pieceLength))
    if (response instanceof Error) throw response
    yield { type: 'finish', response }
  }
  return modelsOf(canStream ? { generate, stream } : { generate })
}

function toolNamed(name: ToolName, other: string): Tool {
  const execute = (): unknown => {
    if (name === 'look') return 'Seen.'
    if (name === 'move') return go(other)
    if (name === 'move with a reply') return go(other).withReply('I moved.')
    if (name === 'end') return finish()
    if (name === 'say it') return reply('As I said.')
    throw new Error('The tool broke.')
  }
  return tool({ name: name.replaceAll(' ', '_'), description: name, execute: execute as () => Transition })
}

function stepOf(id: string, other: string, { streams, onReply, hasOutput, onModelError }: StepPlan): StepConstructor {
  let retries = 0
  const hook = (value: unknown): string | Transition => {
    const text = typeof value === 'string' ? value : JSON.stringify(value)
    if (onReply === 'other') return `${text} And more.`
    if (onReply === 'retry') return ++retries % 2 === 1 ? retry('Again, please.') : text
    if (onReply === 'move') return go(other)
    if (onReply === 'move with it') return go(other).withReply(text)
    if (onReply === 'end') return finish()
    if (onReply === 'end with it') return finish(text)
    if (onReply === 'page') return reply(text).withContentType('text/html')
    if (onReply === 'break') throw new Error('The hook broke.')
    return text
  }
  const output = {
    '~standard': {
      version: 1,
      vendor: 'test',
      validate: (value: unknown) =>
        typeof value === 'object' ? { value } : { issues: [{ message: 'must be an object' }] },
    },
  }
  const rescue = (): Transition | undefined =>
    onModelError === 'none' ? undefined : onModelError === 'say' ? stay('Sorry.') : go(other)
  return modelStep(
    {
      stream: streams,
      tools: () => toolNames.map((name) => toolNamed(name, other)),
      onModelError: rescue,
      onModelBlocked: rescue,
      ...(onReply === 'none' ? {} : { onReply: hook }),
      ...(hasOutput ? { output: output as never, outputJsonSchema: { type: 'object' } } : {}),
    },
    id,
  )
}

class Farewell extends EndStep {
  static override readonly id = 'Farewell'
  override message(): string {
    return 'Farewell.'
  }
}

interface Played {
  /** By turn; of an execute, none. */
  readonly events: readonly (readonly FlowStreamEvent[])[]
  readonly results: readonly ExecuteResult[]
  readonly received: readonly RecordedEvent[]
  readonly documents: readonly unknown[]
}

async function play(planned: Plan, isStreamed: boolean): Promise<Played> {
  const model = { provider: 'scripted', name: 'scripted' }
  const steps = [stepOf('One', 'Two', planned.steps[0]), stepOf('Two', 'One', planned.steps[1]), Farewell]
  class Planned extends TestFlow {
    override model(): ModelSelection {
      return (planned.models === 1 ? model : [model, model]) as ModelSelection
    }
    override steps(): readonly StepConstructor[] {
      return steps
    }
  }
  let ids = 0
  const { engine, clock, backing, document } = harness({
    flows: [Planned],
    providers: [provider(planned)],
    modelRetry: { maxAttempts: planned.maxAttempts, baseDelayMs: 100 },
    circuitBreaker: { failureThreshold: Number.POSITIVE_INFINITY },
    limits: { maxModelCallsPerTurn: 8, maxTransitionsPerTurn: 5 },
    generateId: (kind) => `${kind}-${++ids}`,
    random: () => 0.5,
  })
  const received = recordEvents(engine)
  const events: FlowStreamEvent[][] = []
  const results: ExecuteResult[] = []
  let sessionId: string | undefined
  for (let turn = 1; turn <= planned.messages; turn++) {
    const input = {
      flowName: 'Test',
      userMessage: `message ${turn}`,
      ...(sessionId === undefined ? {} : { sessionId }),
    }
    if (isStreamed) {
      const seen: FlowStreamEvent[] = []
      const read = async (): Promise<void> => {
        for await (const event of engine.stream(input)) {
          seen.push(event)
          if (planned.isSlow && seen.length % 20 === 0) await new Promise<void>((resolve) => clock.setTimer(resolve, 0))
        }
      }
      await clock.runUntil(read())
      events.push(seen)
      const { type, ...result } = seen.at(-1) as FlowStreamEvent & ExecuteResult
      results.push(result)
    } else results.push(await clock.runUntil(engine.execute(input)))
    sessionId = results.at(-1)?.response.session
    expect([engine.getFlowSession().locked, clock.pending]).toEqual([0, 0])
  }
  return { events, results, received, documents: await Promise.all([...backing.keys()].sort().map(document)) }
}

function checkTurn(events: readonly FlowStreamEvent[]): void {
  expect(events[0]?.type).toBe('session')
  expect(events.filter(({ type }) => type === 'session')).toHaveLength(1)
  expect(events.findIndex(({ type }) => type === 'result' || type === 'error')).toBe(events.length - 1)
  let text = ''
  let before: FlowStreamEvent | undefined
  for (const event of events) {
    if (event.type === 'text-delta') text += event.text
    if (event.type === 'text-delta') expect(event.text).not.toBe('')
    if (before?.type === 'reset') {
      // What follows fits the reason.
      if (before.reason === 'step') expect(event.type).toBe('step')
      if (before.reason === 'reply') expect(event.type).toBe('result')
    }
    if (event.type === 'reset') {
      expect(text).not.toBe('')
      text = ''
    }
    if (event.type === 'result') expect(['', event.response.message]).toContain(text)
    before = event
  }
}

test('the texts since the last reset are the reply, or there are none; and the turn is that of execute', async () => {
  const seen = new Set<string>()
  await fc.assert(
    fc.asyncProperty(plan, async (planned) => {
      const streamed = await play(planned, true)
      for (const events of streamed.events) {
        checkTurn(events)
        for (const word of shortly(events)) seen.add(word)
      }
      const { events: _events, ...outcome } = streamed
      const { events: _none, ...expected } = await play(planned, false)
      expect(outcome).toEqual(expected)
    }),
    { numRuns: 150 },
  )
  // A run that never takes text back would prove little. One that meets all six reasons is not certain.
  expect([...seen].filter((word) => word.startsWith('reset')).length).toBeGreaterThanOrEqual(4)
}, 60_000)
