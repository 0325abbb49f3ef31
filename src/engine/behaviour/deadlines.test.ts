import { afterEach, describe, expect, test } from 'vitest'
import { expectNothingLeft, flowOf, gate, harness, never } from '../../../testing/contract/engine-harness.js'
import { scriptedProvider } from '../../../testing/index.js'
import { Flow, type FlowConstructor, go, LogicStep, reply, Step, type Tool, type Turn, tool } from '../../index.js'

afterEach(expectNothingLeft)

const limits = { turnTimeoutMs: 1000 }
const sentence = 'The turn took longer than the limit turnTimeoutMs (1000 ms).'
const timedOut = (session: string) => ({
  success: false,
  completed: true,
  message: sentence,
  session,
  contentType: 'text/plain',
})

/** What a turn may hang in. `late` opens after the deadline, so that the hook comes back to a turn that is over. */
function hangingIn(where: string, late: Promise<void>, journal: string[]): FlowConstructor {
  const at = async (here: string): Promise<void> => {
    if (here !== where) return
    journal.push('hangs')
    await late
    journal.push('comes back')
  }
  class Ask extends LogicStep<{ late?: string }> {
    static override readonly id = 'Ask'
    override async run(turn: Turn) {
      if (turn.message === 'start') return reply('started')
      await at('run')
      this.state.late = 'written'
      return turn.message === 'answer' ? reply('answered') : go(Talk)
    }
    override async onRestore(): Promise<void> {
      await at('step.onRestore')
    }
    override async onExit(): Promise<void> {
      await at('onExit')
    }
  }
  class Talk extends Step<{ late?: string }> {
    static override readonly id = 'Talk'
    override async onEnter(): Promise<void> {
      await at('onEnter')
      this.state.late = 'written'
    }
    override async prompt(): Promise<string> {
      await at('prompt')
      return 'Talk.'
    }
    override async onReply(text: string): Promise<string> {
      await at('onReply')
      return text
    }
    override tools(): readonly Tool[] {
      const execute = async (): Promise<string> => {
        await at('tool')
        journal.push('tool ran')
        return 'done'
      }
      return [tool({ name: 'look', description: 'Look.', execute })]
    }
  }
  return class extends Flow {
    static override readonly id: string = 'Slow'
    override steps() {
      return [Ask, Talk]
    }
    override model() {
      return { provider: 'scripted', name: 'model' }
    }
    override async init(): Promise<void> {
      if (journal.includes('started')) await at('init')
    }
    override async onRestore(): Promise<void> {
      await at('flow.onRestore')
    }
    override async tools(): Promise<readonly Tool[]> {
      await at('flow.tools')
      return []
    }
  }
}

const places = [
  'init',
  'flow.onRestore',
  'step.onRestore',
  'run',
  'onExit',
  'onEnter',
  'flow.tools',
  'prompt',
  'model',
  'tool',
  'onReply',
]

describe('a turn that hangs', () => {
  test.each(places)('in %s is aborted at its deadline, and what comes later changes nothing', async (where) => {
    const late = gate()
    const journal: string[] = []
    const events: string[] = []
    const provider = scriptedProvider(async ({ messages }) => {
      if (where === 'model') {
        journal.push('hangs')
        await late.opened
        journal.push('comes back')
      }
      return messages.some(({ role }) => role === 'tool') ? 'Hello.' : { toolCalls: [{ name: 'look' }] }
    })
    const flow = hangingIn(where, late.opened, journal)
    const { engine, clock, start, document, stored, backing } = harness({
      flows: [flow],
      providers: [provider],
      limits,
    })
    const session = await start('Slow')
    journal.push('started')
    const before = await document(session)
    const listen = ['step:enter', 'step:exit', 'model:start', 'model:end', 'tool:start', 'tool:end'] as const
    for (const name of [...listen, 'session:saved', 'session:created', 'session:completed'] as const) {
      engine.on(name, () => events.push(name))
    }
    const running = engine.execute({ flowName: 'Slow', userMessage: 'go on', sessionId: session })
    await clock.advance(999)
    expect(journal.filter((entry) => entry === 'hangs')).toEqual(['hangs'])
    await clock.advance(1)
    const { response, error } = await running
    expect(response).toEqual(timedOut(session))
    expect(error).toMatchObject({ code: 'TURN_TIMEOUT', statusCode: 400, timeoutMs: 1000 })
    const after = await stored(session)
    const received = [...events]
    const toolRuns = journal.filter((entry) => entry === 'tool ran').length
    late.open()
    await clock.advance(10_000)
    expect(journal).toContain('comes back')
    expect(await stored(session)).toBe(after)
    expect(events).toEqual(received)
    expect(backing.size).toBe(1)
    // A tool that hangs ends by itself, and no tool starts that had not.
    expect(journal.filter((entry) => entry === 'tool ran')).toHaveLength(where === 'tool' ? 1 : toolRuns)
    // The session's own turn begins after the load: before it, the document stays as it was.
    const expected =
      where === 'init'
        ? before
        : {
            ...before,
            runStatus: 'aborted',
            error: [sentence],
            revision: expect.stringMatching(/^2-/),
            savedAt: '2026-01-01T00:00:01.000Z',
            usage: expect.any(Object),
          }
    expect(await document(session)).toEqual(expected)
  })

  test('a rejection after the deadline goes nowhere', async () => {
    const late = gate()
    const flow = flowOf('Slow', async () => {
      await late.opened
      throw new Error('too late')
    })
    const { engine, clock, document } = harness({ flows: [flow], limits })
    const running = engine.run({ flowName: 'Slow', userMessage: 'hello' })
    await clock.advance(1000)
    const { session } = await running
    late.open()
    await clock.advance(1)
    expect((await document(session)).error).toEqual([sentence])
  })

  test('in a first turn: its document is created as aborted', async () => {
    const { engine, clock, document, backing } = harness({ flows: [flowOf('Slow', () => never())], limits })
    const running = engine.run({ flowName: 'Slow', userMessage: 'hello', config: { colour: 'red' } })
    await clock.advance(1000)
    const response = await running
    expect(response).toEqual(timedOut(response.session))
    expect([...backing.keys()]).toEqual([response.session])
    expect(await document(response.session)).toMatchObject({
      runStatus: 'aborted',
      error: [sentence],
      history: [],
      flow: { currentStep: null, context: { config: { colour: 'red' } } },
    })
  })

  test('in the init of a first turn: nothing is created', async () => {
    const flow = flowOf('Slow', undefined, { init: () => never() })
    const { engine, clock, backing } = harness({ flows: [flow], limits })
    const running = engine.run({ flowName: 'Slow', userMessage: 'hello' })
    await clock.advance(1000)
    expect(await running).toEqual(timedOut(''))
    expect(backing.size).toBe(0)
  })

  test('its signal fires at the deadline, with the error', async () => {
    const reasons: unknown[] = []
    const flow = flowOf('Slow', (turn) => {
      turn.signal.addEventListener('abort', () => reasons.push(turn.signal.reason))
      return never()
    })
    const { engine, clock } = harness({ flows: [flow], limits })
    const running = engine.execute({ flowName: 'Slow', userMessage: 'hello' })
    await clock.advance(999)
    expect(reasons).toEqual([])
    await clock.advance(1)
    const { error } = await running
    expect(reasons).toEqual([error])
  })

  test('a signal that is first asked for after the deadline has fired already', async () => {
    const late = gate()
    let seen: AbortSignal | undefined
    const flow = flowOf('Slow', async (turn) => {
      await late.opened
      seen = turn.signal
      return reply('late')
    })
    const { engine, clock } = harness({ flows: [flow], limits })
    const running = engine.execute({ flowName: 'Slow', userMessage: 'hello' })
    await clock.advance(1000)
    const { error } = await running
    late.open()
    await clock.settle()
    expect(seen?.aborted).toBe(true)
    expect(seen?.reason).toBe(error)
  })

  test('two minutes are the limit unless said otherwise', async () => {
    const { engine, clock } = harness({ flows: [flowOf('Slow', () => never())] })
    let settled = false
    const running = engine.execute({ flowName: 'Slow', userMessage: 'hello' }).finally(() => {
      settled = true
    })
    await clock.advance(119_999)
    expect(settled).toBe(false)
    await clock.advance(1)
    expect((await running).error).toMatchObject({ code: 'TURN_TIMEOUT', timeoutMs: 120_000 })
  })

  test('each turn has a deadline of its own', async () => {
    const { engine, clock } = harness({ flows: [flowOf('Slow', () => never())], limits })
    const ended: number[] = []
    const say = (): Promise<unknown> =>
      engine.run({ flowName: 'Slow', userMessage: 'hello' }).then(() => ended.push(clock.now() - Date.UTC(2026, 0, 1)))
    const running = [say()]
    await clock.advance(300)
    running.push(say())
    await clock.advance(300)
    running.push(say())
    await clock.advance(2000)
    await Promise.all(running)
    expect(ended).toEqual([1000, 1300, 1600])
  })

  test('Infinity sets no deadline, and no timer', async () => {
    const held = gate()
    const flow = flowOf('Slow', async () => {
      await held.opened
      return reply('at last')
    })
    const { engine, clock } = harness({ flows: [flow], limits: { turnTimeoutMs: Number.POSITIVE_INFINITY } })
    const running = engine.run({ flowName: 'Slow', userMessage: 'hello' })
    await clock.settle()
    expect(clock.pending).toBe(0)
    await clock.advance(1_000_000_000)
    held.open()
    expect(await running).toMatchObject({ success: true, message: 'at last' })
  })
})

describe('the commit', () => {
  test("stops the turn's deadline: it has time of its own", async () => {
    const { engine, clock, store, start, document } = harness({ flows: [flowOf('Talk')], limits })
    const session = await start('Talk')
    store.delayNext('save', 4_999)
    const running = engine.run({ flowName: 'Talk', userMessage: 'hello', sessionId: session })
    await clock.advance(4_999)
    expect(await running).toMatchObject({ success: true, session })
    expect(await document(session)).toMatchObject({ runStatus: 'running', error: [] })
  })

  test('an abort save has the same', async () => {
    const { engine, clock, store, document } = harness({ flows: [flowOf('Slow', () => never())], limits })
    store.delayNext('create', 4_999)
    const running = engine.run({ flowName: 'Slow', userMessage: 'hello' })
    await clock.advance(1_000 + 4_999)
    const { session } = await running
    expect(await document(session)).toMatchObject({ runStatus: 'aborted' })
  })
})
