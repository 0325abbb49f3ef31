// Simulation for flow authors: what is right passes, and each wrong flow or store is found, made short, and printed.
import { describe, expect, test, vi } from 'vitest'
import {
  EndStep,
  Flow,
  type FlowConstructor,
  FlowEngine,
  finish,
  go,
  LogicStep,
  reply,
  type SessionDocument,
  type SessionSaveHint,
  type SessionStore,
  Step,
  type StepConstructor,
  type Turn,
  tool,
} from '../../src/index.js'
import { Conversation } from '../conversation/conversation.js'
import { ExpectationError } from '../expectations/expectation-error.js'
import type { Actor } from './plan.js'
import { simulate } from './simulate.js'
import type { SimulateOptions } from './simulate-options.js'
import type { Invariant } from './simulated-turn.js'
import { SimulatedWorld } from './simulated-world.js'

class AskName extends LogicStep<{ name?: string }> {
  static override readonly id: string = 'AskName'
  override run(turn: Turn) {
    if (turn.entered) return reply('What is your name?')
    this.state.name = turn.message.trim()
    return go(Confirm)
  }
}
class Confirm extends LogicStep<{ asked: number }> {
  static override readonly id: string = 'Confirm'
  override initialState() {
    return { asked: 0 }
  }
  override run(turn: Turn) {
    this.state.asked++
    if (turn.entered) return reply(`Are you ${turn.stateOf(AskName).name}?`)
    return turn.message === 'yes' ? finish('Welcome.') : go(AskName)
  }
}
class Onboarding extends Flow {
  static override readonly id: string = 'Onboarding'
  override steps(): StepConstructor[] {
    return [AskName, Confirm]
  }
}

const polite: readonly Actor[] = [({ pick }) => pick(['Ada', 'no', 'yes'])]

/** What a simulation fails with. */
async function failureOf(flow: FlowConstructor, options: SimulateOptions = {}): Promise<string> {
  const error = await simulate(flow, { actors: polite, ...options }).then(
    () => undefined,
    (thrown: unknown) => thrown,
  )
  if (!ExpectationError.isInstance(error)) throw new Error('The simulation found nothing.', { cause: error })
  return error.message
}

/** Nothing but what is said. */
const calm: SimulateOptions = { faults: false, restarts: false, together: false }

describe('a flow that is right', () => {
  test('passes, and the result says how much was tried', async () => {
    const result = await simulate(Onboarding, { actors: polite, seeds: 150 })
    expect(result.conversations).toBe(150)
    for (const count of [result.turns, result.disturbed, result.together, result.completed]) {
      expect(count).toBeGreaterThan(10)
    }
  })

  test('passes with the texts of anyone', async () => {
    const said: string[] = []
    await simulate(Onboarding, {
      seeds: 30,
      invariants: {
        'what was said': (_document, transcript) => {
          said.push(transcript.at(-1)?.said ?? '')
        },
      },
    })
    expect(new Set(said).size).toBeGreaterThan(5)
  })

  test('passes the same way for the same seeds, without a look at the machine', async () => {
    const taken = [vi.spyOn(Math, 'random'), vi.spyOn(Date, 'now'), vi.spyOn(crypto, 'getRandomValues')]
    const traceOf = async (seeds: number[]): Promise<string> => {
      const trace: unknown[] = []
      const invariants = {
        trace: (document: SessionDocument, transcript: readonly unknown[]) => {
          trace.push([document, transcript])
        },
      }
      await simulate(Onboarding, { actors: polite, seeds, invariants })
      return JSON.stringify(trace)
    }
    const first = await traceOf([3, 1, 4])
    expect(await traceOf([3, 1, 4])).toBe(first)
    expect(await traceOf([1, 5, 9])).not.toBe(first)
    for (const source of taken) {
      expect(source).not.toHaveBeenCalled()
      source.mockRestore()
    }
  })

  test('passes the same way if its model fails and answers at another attempt', async () => {
    class Talk extends Step {
      static override readonly id = 'Talk'
    }
    class Talking extends Flow {
      static override readonly id = 'Talking'
      override model() {
        return { provider: 'openai', name: 'gpt-5-mini' }
      }
      override steps(): StepConstructor[] {
        return [Talk]
      }
    }
    const luck = vi.spyOn(Math, 'random')
    const attempts: number[] = []
    const result = await simulate(Talking, {
      actors: polite,
      seeds: 40,
      model({ origin }, pick) {
        attempts.push(origin.attempt)
        return origin.attempt < 3 ? pick(['Hello.', { failure: 503 }, { text: 'Hello', cutAfter: 1 }]) : 'Hello.'
      },
    })
    expect(luck).not.toHaveBeenCalled()
    luck.mockRestore()
    expect(attempts.filter((attempt) => attempt > 1).length).toBeGreaterThan(10)
    expect(result.together).toBeGreaterThan(10)
  })

  test('passes if a message interrupts the one before it', async () => {
    class Echo extends LogicStep {
      static override readonly id = 'Echo'
      override async run(turn: Turn) {
        // The other message comes meanwhile.
        await Promise.resolve()
        return reply(`You said: ${turn.message}`)
      }
    }
    class Interrupted extends Flow {
      static override readonly id = 'Interrupted'
      static override readonly busy = 'interrupt'
      override steps() {
        return [Echo]
      }
    }
    const result = await simulate(Interrupted, { actors: polite, seeds: 100, mayFail: ['TURN_SUPERSEDED'] })
    expect(result.together).toBeGreaterThan(10)
  })

  test('shows its users what they see', async () => {
    const seen: unknown[] = []
    await simulate(Onboarding, {
      ...calm,
      seeds: 20,
      actors: [
        ({ pick: _pick, ...view }) => {
          seen.push(view)
          return view.turn === 3 ? 'yes' : 'Ada'
        },
      ],
    })
    for (const view of [
      { reply: undefined, success: true, completed: false, turn: 1 },
      { reply: 'What is your name?', success: true, completed: false, turn: 2 },
      { reply: 'Are you Ada?', success: true, completed: false, turn: 3 },
      { reply: 'Welcome.', success: true, completed: true, turn: 4 },
    ]) {
      expect(seen).toContainEqual(view)
    }
  })
})

describe('a flow that is wrong', () => {
  test('is found by an invariant that returns false', async () => {
    const invariants = {
      'nobody is asked more than twice': ({ flow }: SessionDocument) =>
        Number(flow.steps.Confirm?.state.asked ?? 0) <= 2,
    }
    expect(await failureOf(Onboarding, { invariants })).toMatchInlineSnapshot(`
      "A conversation with flow 'Onboarding' breaks a promise: nobody is asked more than twice.
        The invariant returned false.

      Seed 1, shortened 47 times. To repeat it alone: simulate(Onboarding, { ..., seeds: [1] })

      The shortest conversation found, as a test:

      const conversation = new Conversation(Onboarding)
      await conversation.say('Ada')
      await conversation.say('Ada')
      await conversation.say('Ada')
      await conversation.say('Ada')
      // Here it breaks: nobody is asked more than twice. The invariant returned false."
    `)
  })

  test('is found by an invariant that throws, and the code that is printed does what it says', async () => {
    const invariants = {
      'a name is more than spaces': ({ flow }: SessionDocument) => {
        if (flow.steps.AskName?.state.name === '') throw new Error('The name is empty.')
      },
    }
    const text = await failureOf(Onboarding, { actors: [({ pick }) => pick(['it\'s "me"', '  ', 'no'])], invariants })
    expect(text).toMatchInlineSnapshot(`
      "A conversation with flow 'Onboarding' breaks a promise: a name is more than spaces.
        The name is empty.

      Seed 1, shortened 30 times. To repeat it alone: simulate(Onboarding, { ..., seeds: [1] })

      The shortest conversation found, as a test:

      const conversation = new Conversation(Onboarding)
      await conversation.say('it\\'s "me"')
      await conversation.say('  ')
      // Here it breaks: a name is more than spaces. The name is empty."
    `)
    const code = text.slice(text.indexOf('const conversation'))
    const run = new Function('Conversation', 'Onboarding', `return (async () => {\n${code}\nreturn conversation\n})()`)
    const conversation: Conversation = await run(Conversation, Onboarding)
    conversation.expectState(AskName, { name: '' })
  })

  test('is found if it throws', async () => {
    class Fragile extends AskName {
      override run(turn: Turn) {
        if (turn.message === 'no') throw new Error('Nobody is called no.')
        return super.run(turn)
      }
    }
    class Breaks extends Onboarding {
      override steps() {
        return [Fragile, Confirm]
      }
    }
    expect(await failureOf(Breaks)).toMatchInlineSnapshot(`
      "A conversation with flow 'Onboarding' breaks a promise: a turn fails only because of a fault.
        The turn "no" failed with FLOW_ERROR without a fault of the store: Nobody is called no.
        If that is meant: simulate(..., { mayFail: ['FLOW_ERROR'] }).

      Seed 1, shortened 19 times. To repeat it alone: simulate(Breaks, { ..., seeds: [1] })

      The shortest conversation found, as a test:

      const conversation = new Conversation(Breaks)
      await conversation.say('no')
      // Here it breaks: a turn fails only because of a fault. The turn "no" failed with FLOW_ERROR without a fault of the store: Nobody is called no.
      // If that is meant: simulate(..., { mayFail: ['FLOW_ERROR'] })."
    `)
    await simulate(Breaks, { actors: polite, mayFail: ['FLOW_ERROR'] })
  })

  test('is found if a model and a tool bring it there', async () => {
    class Chat extends Step<{ notes: number }> {
      static override readonly id = 'Chat'
      override initialState() {
        return { notes: 0 }
      }
      override tools() {
        const execute = () => {
          this.state.notes++
          return { noted: true }
        }
        return [tool({ name: 'note', description: 'Write it down.', execute })]
      }
    }
    class Chats extends Onboarding {
      override model() {
        return { provider: 'openai', name: 'gpt-5-mini' }
      }
      override steps() {
        return [Chat]
      }
    }
    const text = await failureOf(Chats, {
      model: (_request, pick) => pick(['Go on.', { toolCalls: [{ name: 'note' }] }]),
      invariants: { 'two notes at most': ({ flow }) => Number(flow.steps.Chat?.state.notes) < 2 },
    })
    expect(text).toMatchInlineSnapshot(`
      "A conversation with flow 'Onboarding' breaks a promise: two notes at most.
        The invariant returned false.

      Seed 1, shortened 33 times. To repeat it alone: simulate(Chats, { ..., seeds: [1] })

      The shortest conversation found, as a test:

      const conversation = new Conversation(Chats, { script: [{ toolCalls: [{ name: 'note' }] }, 'Go on.', { toolCalls: [{ name: 'note' }] }, 'Go on.'] })
      await conversation.say('Ada')
      await conversation.say('Ada')
      // Here it breaks: two notes at most. The invariant returned false."
    `)
  })

  test('is found if its model says what no step offers', async () => {
    class Silent extends Step {}
    class Chats extends Onboarding {
      override model() {
        return { provider: 'openai', name: 'gpt-5-mini' }
      }
      override steps() {
        return [Silent]
      }
    }
    expect(
      await failureOf(Chats, { ...calm, model: () => ({ toolCalls: [{ name: 'note' }] }) }),
    ).toMatchInlineSnapshot(`
      "A conversation with flow 'Onboarding' breaks a promise: the model of the simulation fits the flow.
        The script calls a tool that the step does not offer: 'note' (flow 'Onboarding', step 'Silent', turn 1, call 1 of the turn).
          asked: user "Ada"
          tools offered: none
        Correct the name, or set offered: false if the model is meant to be wrong.

      Seed 1, shortened 9 times. To repeat it alone: simulate(Chats, { ..., seeds: [1] })

      The shortest conversation found, as a test:

      const conversation = new Conversation(Chats, { script: [{ toolCalls: [{ name: 'note' }] }] })
      await conversation.say('Ada')
      // Here it breaks: the model of the simulation fits the flow. The script calls a tool that the step does not offer: 'note' (flow 'Onboarding', step 'Silent', turn 1, call 1 of the turn).
      //   asked: user "Ada"
      //   tools offered: none
      // Correct the name, or set offered: false if the model is meant to be wrong."
    `)
  })

  test('is found if it puts something that is not JSON into a session that it restores: the turn is refused', async () => {
    class Dates extends Onboarding {
      override onRestore(document: SessionDocument) {
        const { flow } = document
        const state = { since: new Date(0) as unknown as string }
        return { ...document, flow: { ...flow, steps: { ...flow.steps, Old: { state } } } }
      }
    }
    expect(await failureOf(Dates)).toMatchInlineSnapshot(`
      "A conversation with flow 'Onboarding' breaks a promise: a turn fails only because of a fault.
        The turn "Ada" failed with SESSION_FLOW_INVARIANT without a fault of the store: Session 'session-2' is malformed: the flow's onRestore returned what cannot be stored: flow.steps.Old.state.since is an instance of Date, which JSON cannot carry: use date.toISOString().
        If that is meant: simulate(..., { mayFail: ['SESSION_FLOW_INVARIANT'] }).

      Seed 1, shortened 29 times. To repeat it alone: simulate(Dates, { ..., seeds: [1] })

      The shortest conversation found, as a test:

      const conversation = new Conversation(Dates)
      await conversation.say('Ada')
      await conversation.say('Ada')
      // Here it breaks: a turn fails only because of a fault. The turn "Ada" failed with SESSION_FLOW_INVARIANT without a fault of the store: Session 'session-2' is malformed: the flow's onRestore returned what cannot be stored: flow.steps.Old.state.since is an instance of Date, which JSON cannot carry: use date.toISOString().
      // If that is meant: simulate(..., { mayFail: ['SESSION_FLOW_INVARIANT'] })."
    `)
  })
})

/** A store that changes what is written, or how. */
function changing(change: {
  readonly document?: (document: SessionDocument) => SessionDocument
  readonly save?: (save: () => Promise<void>) => Promise<void>
}): (store: SessionStore) => SessionStore {
  const { document: changed = (document) => document, save = (write) => write() } = change
  return (store) => ({
    guarantees: store.guarantees,
    load: (id) => store.load(id),
    create: (document) => store.create(changed(document)),
    save: (document, expected, hint?: SessionSaveHint) => save(() => store.save(changed(document), expected, hint)),
    delete: (id, expected) => store.delete(id, expected),
    close: () => store.close(),
    ...(store.claim && { claim: store.claim.bind(store) }),
  })
}

describe('the code that is printed', () => {
  class Asks extends Step {
    static override readonly id = 'Asks'
  }
  class Talks extends Onboarding {
    static override readonly id = 'Talks'
    override model() {
      return { provider: 'openai', name: 'gpt-5-mini' }
    }
    override steps() {
      return [Asks]
    }
  }

  test('has a fault as often as it struck, and not as often as it was prepared', async () => {
    const world = new SimulatedWorld(Onboarding, {
      actors: polite,
      invariants: {},
      model: () => '',
      mayFail: [],
      payloads: {},
      services: undefined,
      wrapStore: (store) => store,
      hangAfterMs: 2000,
    })
    const speech = { actor: 0, picks: [0], modelPicks: [0] }
    const save = { operation: 'save', effect: 'fail-after', times: 3 } as const
    const load = { operation: 'load', effect: 'fail-before', times: 1 } as const
    const faults = [load, save, undefined]
    await world.play({ actions: faults.map((fault) => ({ kind: 'say', speech, fault })) })
    expect(world.played).toMatchObject([{ faults: [] }, { faults: [{ ...save, times: 1 }] }, { faults: [] }])
    expect(world.transcript.map(({ disturbed }) => disturbed)).toEqual([false, true, false])
  })

  test.each<[string, Invariant]>([
    [
      'faults, restarts and two at once',
      (_document, transcript) => {
        const kinds: unknown[] = transcript.map((turn) => (turn.together ? 'two' : turn.disturbed ? turn.success : ''))
        return !['two', true, false].every((kind) => kinds.includes(kind))
      },
    ],
    ['two engines', (_document, transcript) => !transcript.some((turn) => turn.together && turn.code !== undefined)],
  ])('repeats what happened, with %s', async (_name, holds) => {
    let stored: SessionDocument | undefined
    const invariant: Invariant = (document, transcript, stateOf) => {
      if (holds(document, transcript, stateOf) !== false) return true
      stored = document
      return false
    }
    const model = (_request: unknown, pick: <Choice>(choices: readonly Choice[]) => Choice) => pick(['One.', 'Two.'])
    const text = await failureOf(Talks, { seeds: 2000, model, services: () => ({}), invariants: { invariant } })
    const code = text.slice(text.indexOf('const conversation'))
    const body = `return (async () => {\n${code}\nreturn conversation\n})()`
    const run = new Function('Conversation', 'FlowEngine', 'Talks', 'services', body)
    const conversation: Conversation = await run(Conversation, FlowEngine, Talks, {})
    const saidAndAnswered = ({ history }: SessionDocument): string[][] =>
      history.map(({ message, reply }) => [message, reply])
    expect(saidAndAnswered(await conversation.document())).toEqual(saidAndAnswered(stored as SessionDocument))
    expect(code).toMatch(/^await conversation\.clock/m)
  })
})

describe('a store that is wrong', () => {
  test('is found if it forgets', async () => {
    const wrapStore = changing({ save: async () => undefined })
    expect(await failureOf(Onboarding, { wrapStore })).toMatchInlineSnapshot(`
      "A conversation with flow 'Onboarding' breaks a promise: every reply is committed.
        The turn "Ada" was answered with "Are you Ada?", and what is stored has 1 other turn (session 'session-2').

      Seed 1, shortened 29 times. To repeat it alone: simulate(Onboarding, { ..., seeds: [1] })

      The shortest conversation found, as a test:

      // The store was wrapped: give the conversation one like it, with createStore.
      const conversation = new Conversation(Onboarding)
      await conversation.say('Ada')
      await conversation.say('Ada')
      // Here it breaks: every reply is committed. The turn "Ada" was answered with "Are you Ada?", and what is stored has 1 other turn (session 'session-2')."
    `)
  })

  test('is found if it keeps a turn twice', async () => {
    const wrapStore = changing({
      document: (document) => {
        const last = document.history.at(-1)
        if (last?.turn !== 2) return document
        return { ...document, history: [...document.history, { ...last, turn: 3 }] }
      },
    })
    expect(await failureOf(Onboarding, { wrapStore })).toMatchInlineSnapshot(`
      "A conversation with flow 'Onboarding' breaks a promise: no turn is stored twice.
        The turn "Ada" is in the history of session 'session-2' twice: as turn 2, and as turn 3.

      Seed 1, shortened 29 times. To repeat it alone: simulate(Onboarding, { ..., seeds: [1] })

      The shortest conversation found, as a test:

      // The store was wrapped: give the conversation one like it, with createStore.
      const conversation = new Conversation(Onboarding)
      await conversation.say('Ada')
      await conversation.say('Ada')
      // Here it breaks: no turn is stored twice. The turn "Ada" is in the history of session 'session-2' twice: as turn 2, and as turn 3."
    `)
  })

  test('is found if it numbers turns anew', async () => {
    const wrapStore = changing({
      document: (document) => ({ ...document, history: document.history.map((entry) => ({ ...entry, turn: 1 })) }),
    })
    expect(await failureOf(Onboarding, { wrapStore })).toMatchInlineSnapshot(`
      "A conversation with flow 'Onboarding' breaks a promise: no turn is stored twice.
        Entry 2 of the history of session 'session-2' is turn 1: "Ada".

      Seed 1, shortened 29 times. To repeat it alone: simulate(Onboarding, { ..., seeds: [1] })

      The shortest conversation found, as a test:

      // The store was wrapped: give the conversation one like it, with createStore.
      const conversation = new Conversation(Onboarding)
      await conversation.say('Ada')
      await conversation.say('Ada')
      // Here it breaks: no turn is stored twice. Entry 2 of the history of session 'session-2' is turn 1: "Ada"."
    `)
  })

  test('is found if it does not keep that a session was completed', async () => {
    const wrapStore = changing({ document: (document) => ({ ...document, runStatus: 'running' }) })
    expect(await failureOf(Onboarding, { wrapStore })).toMatchInlineSnapshot(`
      "A conversation with flow 'Onboarding' breaks a promise: every reply is committed.
        The turn "yes" was answered as the last one, and session 'session-2' is stored as 'running'.

      Seed 3, shortened 35 times. To repeat it alone: simulate(Onboarding, { ..., seeds: [3] })

      The shortest conversation found, as a test:

      // The store was wrapped: give the conversation one like it, with createStore.
      const conversation = new Conversation(Onboarding)
      await conversation.say('Ada')
      await conversation.say('Ada')
      await conversation.say('yes')
      // Here it breaks: every reply is committed. The turn "yes" was answered as the last one, and session 'session-2' is stored as 'running'."
    `)
  })

  test('is found if it opens a completed session again', async () => {
    class Ends extends EndStep {
      static override readonly id = 'Ends'
    }
    class AtOnce extends LogicStep {
      static override readonly id = 'AtOnce'
      override run(turn: Turn) {
        return turn.number === 1 ? reply('Hello.') : finish('Bye.')
      }
    }
    class Short extends Onboarding {
      override steps() {
        return [AtOnce, Ends]
      }
    }
    const reopening = (store: SessionStore): SessionStore => {
      let reads = 0
      return {
        ...changing({})(store),
        async load(id) {
          const document = await store.load(id)
          // The first caller gets the true answer.
          if (document?.runStatus !== 'completed' || reads++ === 0) return document
          return { ...document, runStatus: 'running' }
        },
      }
    }
    const text = await failureOf(Short, { ...calm, wrapStore: reopening })
    expect(text).toMatchInlineSnapshot(`
      "A conversation with flow 'Onboarding' breaks a promise: a completed session never continues.
        The turn "Ada" was answered in session 'session-2', which was completed in turn 2.

      Seed 1, shortened 24 times. To repeat it alone: simulate(Short, { ..., seeds: [1] })

      The shortest conversation found, as a test:

      // The store was wrapped: give the conversation one like it, with createStore.
      const conversation = new Conversation(Short)
      await conversation.say('Ada')
      await conversation.say('Ada')
      await conversation.say('Ada')
      // Here it breaks: a completed session never continues. The turn "Ada" was answered in session 'session-2', which was completed in turn 2."
    `)
  })

  test('is found if it lets a late writer win', async () => {
    const overwriting = (store: SessionStore): SessionStore => ({
      ...changing({})(store),
      async save(document) {
        const stored = await store.load(document.id)
        await store.save(document, stored?.revision ?? '')
      },
    })
    const options = { faults: false, restarts: false, wrapStore: overwriting, seeds: 300 }
    expect(await failureOf(Onboarding, options)).toMatchInlineSnapshot(`
      "A conversation with flow 'Onboarding' breaks a promise: every reply is committed.
        The turn "Ada" was answered with "Are you Ada?", and what is stored has 2 other turns (session 'session-2').

      Seed 25, shortened 27 times. To repeat it alone: simulate(Onboarding, { ..., seeds: [25] })

      The shortest conversation found, as a test:

      // The store was wrapped: give the conversation one like it, with createStore.
      const conversation = new Conversation(Onboarding)
      await conversation.say('Ada')
      const elsewhere = new FlowEngine({ flows: [Onboarding], sessionStore: conversation.store, clock: conversation.clock })
      conversation.store.delayNext('load', 10)
      conversation.store.delayNext('save', 10)
      await conversation.clock.runUntil(
        Promise.all([
          conversation.engine.execute({ flowName: Onboarding.id, userMessage: 'Ada', sessionId: conversation.sessionId }),
          elsewhere.execute({ flowName: Onboarding.id, userMessage: 'Ada', sessionId: conversation.sessionId }),
        ]),
      )
      // Here it breaks: every reply is committed. The turn "Ada" was answered with "Are you Ada?", and what is stored has 2 other turns (session 'session-2')."
    `)
  })
})

describe('a conversation that cannot go on', () => {
  /** Fails with the seed, and with what was thrown as the cause. */
  async function thrownBy(options: SimulateOptions): Promise<string> {
    const error = await simulate(Onboarding, { ...calm, ...options }).then(
      () => undefined,
      (thrown: unknown) => thrown,
    )
    expect(error).toBeInstanceOf(ExpectationError)
    expect((error as Error).cause).toMatchObject({ message: 'It is out of order.' })
    return (error as Error).message.replaceAll(/ at .*simulate\.test\.ts:\d+:\d+\)?/g, ' at a line of the author')
  }
  function outOfOrder(): never {
    throw new Error('It is out of order.')
  }

  test('fails if an actor throws', async () => {
    const actors: Actor[] = [({ turn }) => (turn < 2 ? 'Hello' : outOfOrder())]
    expect(await thrownBy({ actors, seeds: [3] })).toMatchInlineSnapshot(`
      "A conversation with flow 'Onboarding' cannot go on.
        Error: It is out of order.
          at a line of the author
          at a line of the author

      Seed 3, shortened 20 times. To repeat it alone: simulate(Onboarding, { ..., seeds: [3] })

      The shortest conversation found, as a test:

      const conversation = new Conversation(Onboarding)
      await conversation.say('Hello')
      // Here it cannot go on: Error: It is out of order.
      //   at a line of the author
      //   at a line of the author"
    `)
  })

  test('fails if services throws, or wrapStore', async () => {
    expect(await thrownBy({ services: outOfOrder, seeds: [1] })).toMatchInlineSnapshot(`
      "A conversation with flow 'Onboarding' cannot go on.
        Error: It is out of order.
          at a line of the author

      Seed 1, shortened 9 times. To repeat it alone: simulate(Onboarding, { ..., seeds: [1] })"
    `)
    expect(await thrownBy({ wrapStore: outOfOrder, seeds: [1] })).toContain('Error: It is out of order.')
  })

  test('fails if a turn hangs, at once: each shorter one would hang as well', async () => {
    let hanging = 0
    class Hangs extends LogicStep {
      static override readonly id = 'AskName'
      override run(turn: Turn) {
        if (turn.message !== 'no') return reply('Hm')
        hanging++
        return new Promise<never>(() => undefined)
      }
    }
    class Waits extends Onboarding {
      override steps() {
        return [Hangs]
      }
    }
    const text = await failureOf(Waits, { ...calm, seeds: [4], hangAfterMs: 40 })
    expect(text).toMatchInlineSnapshot(`
      "A conversation with flow 'Onboarding' cannot go on.
        Nothing has happened for 40 ms of real time, and a turn is still under way.
          - #2 turn of flow 'Onboarding' is under way, in step 'AskName'
        Open the gate, settle the promise or advance the clock that it waits for. If it is only slow, raise the option hangAfterMs.

      Seed 4, shortened 0 times, and no further because it hangs. To repeat it alone: simulate(Waits, { ..., seeds: [4] })

      The shortest conversation found, as a test:

      const conversation = new Conversation(Waits)
      await conversation.say('yes')
      await conversation.say('no')
      // Here it cannot go on: Nothing has happened for 40 ms of real time, and a turn is still under way.
      //   - #2 turn of flow 'Onboarding' is under way, in step 'AskName'
      // Open the gate, settle the promise or advance the clock that it waits for. If it is only slow, raise the option hangAfterMs."
    `)
    expect(hanging).toBe(1)
  })

  test('fails if one of two turns at the same time hangs', async () => {
    class Hangs extends LogicStep {
      static override readonly id = 'AskName'
      override run() {
        return new Promise<never>(() => undefined)
      }
    }
    class Waits extends Onboarding {
      override steps() {
        return [Hangs]
      }
    }
    const seeds = Array.from({ length: 40 }, (_, index) => index + 1)
    const texts: string[] = []
    for (const seed of seeds) {
      if (texts.some((text) => text.includes('Promise.all'))) break
      texts.push(await failureOf(Waits, { ...calm, together: true, seeds: [seed], hangAfterMs: 20 }))
    }
    expect(texts.at(-1)).toContain('await conversation.clock.runUntil(\n  Promise.all([')
  })

  test('fails if an invariant does not settle, at once', async () => {
    let asked = 0
    const invariants = {
      'the name is known': (_document: unknown, transcript: readonly unknown[]) => {
        if (transcript.length < 2) return true
        asked++
        return new Promise(() => undefined)
      },
    }
    const text = await failureOf(Onboarding, { ...calm, invariants, seeds: [4], hangAfterMs: 40 })
    expect(text).toMatchInlineSnapshot(`
      "A conversation with flow 'Onboarding' cannot go on.
        The invariant 'the name is known' has not settled for 40 ms of real time. Settle the promise that it returns. If it is only slow, raise the option hangAfterMs.

      Seed 4, shortened 0 times, and no further because it hangs. To repeat it alone: simulate(Onboarding, { ..., seeds: [4] })

      The shortest conversation found, as a test:

      const conversation = new Conversation(Onboarding)
      await conversation.say('yes')
      await conversation.say('no')
      // Here it cannot go on: The invariant 'the name is known' has not settled for 40 ms of real time. Settle the promise that it returns. If it is only slow, raise the option hangAfterMs."
    `)
    expect(asked).toBe(1)
  })
})

describe('a flow with tools', () => {
  /** A step whose model calls a tool for ever, if it only ever picks the call. */
  class Order extends Step<{ order?: string }> {
    static override readonly id = 'Order'
    override tools() {
      return [
        tool({
          name: 'find_order',
          description: 'Finds an order.',
          execute: async (): Promise<{ order: string }> => {
            throw new Error('no database')
          },
        }),
      ]
    }
  }
  class Orders extends Flow {
    static override readonly id = 'Orders'
    override model() {
      return { provider: 'openai', name: 'gpt-5-mini' }
    }
    override steps(): StepConstructor[] {
      return [Order]
    }
  }
  const find = { toolCalls: [{ name: 'find_order' }] }
  const model: SimulateOptions['model'] = (_request, pick) => pick([find, 'All right.'])

  test('passes with a model that picks', async () => {
    const result = await simulate(Orders, { model, tools: { find_order: { order: 'A-1' } } })
    expect(result.conversations).toBe(100)
  })

  test('has the limits, the config, the owner and the rule for failed turns that it is given', async () => {
    const seen: unknown[] = []
    const calls: string[] = []
    await simulate(Orders, {
      ...calm,
      seeds: 20,
      model: ({ messages }) => (messages.length < 2 ? 'Which order?' : find),
      tools: { find_order: (_args, turn) => calls.push(turn.session.id) },
      limits: { maxModelCallsPerTurn: 2 },
      onTurnError: 'rollback',
      config: { language: 'en' },
      owner: 'ada',
      mayFail: ['LIMIT_EXCEEDED'],
      invariants: {
        see: ({ owner, flow, runStatus }, transcript) => {
          seen.push({ owner, config: flow.context.config, runStatus, code: transcript.at(-1)?.code })
        },
      },
    })
    const session = { owner: 'ada', config: { language: 'en' }, runStatus: 'running' }
    expect(seen).toContainEqual({ ...session, code: undefined })
    expect(seen).toContainEqual({ ...session, code: 'LIMIT_EXCEEDED' })
    expect(calls.length).toBeGreaterThan(10)
  })

  test.each<[string, NonNullable<SimulateOptions['tools']>, string]>([
    ['a list of results', { find_order: ['A-1'] as never }, 'a list of results would be used up'],
    [
      'a tool that no step offers',
      { find_odrer: 'A-1' },
      'with the name of a double: find_odrer.\n  tools offered: find_order',
    ],
  ])('refuses a double for %s', async (_title, tools, message) => {
    await expect(simulate(Orders, { seeds: 3, tools, mayFail: ['TOOL_ERROR'] })).rejects.toThrow(message)
  })
})

test('an invariant gets the states of steps by their class', async () => {
  const names: unknown[] = []
  const blank = await failureOf(Onboarding, {
    invariants: {
      'nobody is asked more than twice': (_document, _transcript, stateOf) => {
        names.push(stateOf(AskName).name)
        return stateOf(Confirm).asked <= 2
      },
    },
  })
  expect(blank).toContain('breaks a promise: nobody is asked more than twice.')
  expect(names).toEqual(expect.arrayContaining([undefined, 'Ada']))
})

test('nothing is logged, not by the shorter conversations either', async () => {
  class Loud extends AskName {
    override run(turn: Turn) {
      turn.log.error('loud')
      if (!turn.entered) throw new Error('no database')
      return reply('What is your name?')
    }
  }
  const logged = (['log', 'info', 'warn', 'error'] as const).map((level) => vi.spyOn(console, level))
  expect(
    await failureOf(
      class extends Flow {
        static override readonly id = 'Loudly'
        override steps() {
          return [Loud]
        }
      },
    ),
  ).toContain('failed with FLOW_ERROR')
  for (const level of logged) expect(level).not.toHaveBeenCalled()
})

test('a simulation that is not awaited is an unhandled rejection, which every runner reports', async () => {
  const ofRunner = process.rawListeners('unhandledRejection') as NodeJS.UnhandledRejectionListener[]
  process.removeAllListeners('unhandledRejection')
  try {
    const rejected = new Promise((resolve) => process.once('unhandledRejection', resolve))
    void simulate(Onboarding, { seeds: 1 })
    expect(await rejected).toMatchObject({
      message: expect.stringMatching(
        /^simulate\(\) was not awaited: await simulate\(Onboarding, \.\.\.\)\.\n {2}called at .*simulate\.test\.ts:\d+/,
      ),
    })
  } finally {
    for (const listener of ofRunner) process.on('unhandledRejection', listener)
  }
})

describe('what cannot be simulated', () => {
  test('is reported: with a bound that is not a number', async () => {
    const hangAfterMs = '30s' as unknown as number
    await expect(simulate(Onboarding, { hangAfterMs })).rejects.toThrow('simulate: hangAfterMs must be')
  })

  test('is reported: with an option that there is not', async () => {
    await expect(simulate(Onboarding, { sedes: 5 } as object)).rejects.toThrow("simulate: there is no option 'sedes'")
  })

  test.each([0, -1, 1.5, Number.NaN])('is reported: with %s seeds', async (seeds) => {
    await expect(simulate(Onboarding, { seeds })).rejects.toThrow(
      'simulate: seeds must be a whole number of at least 1',
    )
  })

  test.each<[unknown, string]>([
    ['3', "the text '3'"],
    [['3'], '["3"]'],
    [[1, 1.5], '[1,1.5]'],
    [null, 'null'],
  ])('is reported: with the seeds %j', async (seeds, shown) => {
    await expect(simulate(Onboarding, { seeds } as object)).rejects.toThrow(
      `simulate: seeds must be a number of conversations, or a list of seeds, which are whole numbers; got ${shown}.`,
    )
  })

  test('is reported: with an empty list of seeds', async () => {
    await expect(simulate(Onboarding, { seeds: [] })).rejects.toThrow('simulate: seeds must have at least one seed.')
  })

  test('is reported: without an actor', async () => {
    await expect(simulate(Onboarding, { actors: [] })).rejects.toThrow('simulate: actors must have at least one actor.')
  })

  test('is reported: without fast-check', async () => {
    vi.doMock('fast-check', () => {
      throw new Error('Cannot find package')
    })
    await expect(simulate(Onboarding)).rejects.toThrowErrorMatchingInlineSnapshot(
      `[ExpectationError: simulate() needs fast-check, which is not installed: npm install --save-dev fast-check]`,
    )
    vi.doUnmock('fast-check')
  })
})
