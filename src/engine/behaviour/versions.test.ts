// Sessions that an older or a newer version of their flow has stored: migrate, outdated, onRestore,
// and what stays untouched.
import { afterEach, describe, expect, test } from 'vitest'
import { expectNothingLeft, gate, type Harness, harness } from '../../../testing/contract/engine-harness.js'
import { readAll } from '../../../testing/contract/stream-harness.js'
import {
  Flow,
  type FlowConstructor,
  type FlowEngineOptions,
  finish,
  go,
  LogicStep,
  reply,
  type SessionDocument,
  type StepConstructor,
  type Transition,
  type Turn,
} from '../../index.js'

afterEach(expectNothingLeft)

type Migrate = NonNullable<FlowConstructor['migrate']>

interface Statics {
  readonly version?: number
  readonly migrate?: Migrate
  readonly outdated?: 'refuse' | 'restart'
  readonly aliases?: readonly string[]
}

class Ask extends LogicStep<{ asked?: number }> {
  static override readonly id: string = 'Ask'
  override run(turn: Turn): Transition | Promise<Transition> {
    if (turn.message === 'fail') throw new Error('The step failed.')
    if (turn.message === 'done') return finish('Goodbye.')
    this.state.asked = (this.state.asked ?? 0) + 1
    return reply(`Asked ${this.state.asked}.`)
  }
}

class TalkFlow extends Flow {
  static override readonly id: string = 'Talk'
  override steps(): readonly StepConstructor[] {
    return [Ask]
  }
}

/** The flow `Talk` in some version. */
function talk(statics: Statics, steps: readonly StepConstructor[] = [Ask], hooks: Partial<Flow> = {}): typeof TalkFlow {
  class Talk extends TalkFlow {
    override steps() {
      return steps
    }
  }
  for (const [name, value] of Object.entries(statics)) Object.defineProperty(Talk, name, { value })
  Object.assign(Talk.prototype, hooks)
  return Talk
}

interface Released extends Harness {
  readonly session: string
  /** The stored bytes of the session that version 1 left. */
  readonly before: string
  say(userMessage: string): ReturnType<Harness['engine']['execute']>
}

/** One turn with version 1 of the flow, and then the session in the hands of the next release. */
async function released(
  next: FlowConstructor,
  options: FlowEngineOptions = {},
  first: FlowConstructor = talk({}),
): Promise<Released> {
  const old = harness({ flows: [first] })
  const session = await old.start('Talk')
  await old.engine.close()
  const made = harness({ ...options, flows: [next], backing: old.backing })
  const say = (userMessage: string) => made.engine.execute({ flowName: 'Talk', userMessage, sessionId: session })
  return { ...made, session, before: await made.stored(session), say }
}

/** The document with another state of `Ask`. */
function asked(document: SessionDocument, count: number): SessionDocument {
  const { flow } = document
  return { ...document, flow: { ...flow, steps: { ...flow.steps, Ask: { state: { asked: count } } } } }
}

function circular(): object {
  const circle: Record<string, unknown> = {}
  circle.own = circle
  return circle
}

const toTen: Migrate = (document) => asked(document, 10)

describe('a session of an older version', () => {
  test('is migrated, and stored with the turn and not before', async () => {
    const { say, store, document, session } = await released(talk({ version: 3, migrate: toTen }))
    expect(await say('Hi')).toMatchObject({ response: { success: true, message: 'Asked 11.', session } })
    expect(store.operations).toEqual(['load', 'save'])
    expect((await document(session)).flow).toMatchObject({ version: 3, steps: { Ask: { state: { asked: 11 } } } })
  })

  test('is migrated once: the next turn finds the version of the flow', async () => {
    const from: number[] = []
    const migrate: Migrate = (document, version) => {
      from.push(version)
      return document
    }
    const { say } = await released(talk({ version: 2, migrate }))
    await say('Hi')
    expect((await say('Hi')).response.message).toBe('Asked 3.')
    expect(from).toEqual([1])
  })

  test('is waited for, and `this` is the class', async () => {
    class Next extends talk({ version: 2 }) {
      static readonly by = 5
      static override async migrate(document: SessionDocument) {
        await Promise.resolve()
        return asked(document, this.by)
      }
    }
    const { say } = await released(Next)
    expect((await say('Hi')).response.message).toBe('Asked 6.')
  })

  test('is migrated before onRestore, which sees the version of this release', async () => {
    const seen: unknown[] = []
    const onRestore = ({ flow }: SessionDocument): void => void seen.push([flow.version, flow.steps])
    const { say } = await released(talk({ version: 2, migrate: toTen }, [Ask], { onRestore }))
    await say('Hi')
    expect(seen).toEqual([[2, { Ask: { state: { asked: 10 } } }]])
  })

  test.each<readonly [string, unknown]>([
    ['context', { circle: circular() }],
    ['state', { at: new Date(0) }],
  ])('is refused, and stays, where migrate returns a %s that JSON cannot carry', async (where, bad) => {
    const migrate = (document: SessionDocument) => ({
      ...document,
      flow: {
        ...document.flow,
        ...(where === 'context' ? { context: bad } : { steps: { Ask: { state: bad } } }),
      },
    })
    const { say, stored, session, before } = await released(talk({ version: 2, migrate: migrate as Migrate }))
    const { error, sessionState } = await say('Hi')
    expect([error?.code, sessionState]).toEqual(['SESSION_FLOW_INVARIANT', 'running'])
    expect(error?.message).toContain("the flow's migrate returned what cannot be stored: flow.")
    expect(await stored(session)).toBe(before)
  })

  test('is migrated out of a step that no longer exists; its state stays, unchecked', async () => {
    class Other extends LogicStep {
      static override readonly id = 'Other'
      override run(turn: Turn) {
        return reply(turn.entered ? 'What else?' : 'Other.')
      }
    }
    const migrate: Migrate = (document) => ({ ...document, flow: { ...document.flow, currentStep: 'Other' } })
    const { say, document, session } = await released(talk({ version: 2, migrate }, [Other]))
    // What the user said was an answer to the step that is gone: the new one asks first.
    expect((await say('Hi')).response.message).toBe('What else?')
    expect((await say('Hi')).response.message).toBe('Other.')
    expect((await document(session)).flow.steps).toEqual({ Ask: { state: { asked: 1 } }, Other: { state: {} } })
  })

  test('may be repaired by onRestore alone, which raises the version', async () => {
    const onRestore = (document: SessionDocument) => ({ ...asked(document, 7), flow: { ...document.flow, version: 2 } })
    const { say, document, session } = await released(talk({ version: 2 }, [Ask], { onRestore }))
    expect((await say('Hi')).response.message).toBe('Asked 2.')
    expect((await document(session)).flow.version).toBe(2)
  })

  test('is not stored where the turn is refused or cancelled', async () => {
    const { engine, stored, session, before } = await released(talk({ version: 2, migrate: toTen }))
    const { error } = await engine.execute({
      flowName: 'Talk',
      userMessage: 'Hi',
      sessionId: session,
      signal: AbortSignal.abort(),
    })
    expect(error?.code).toBe('TURN_ABORTED')
    expect(await stored(session)).toBe(before)
  })

  test('is stored as it was loaded, and not migrated, where the turn aborts it', async () => {
    const { say, document, session } = await released(talk({ version: 2, migrate: toTen }))
    expect((await say('fail')).error?.message).toBe('The step failed.')
    expect(await document(session)).toMatchObject({
      runStatus: 'aborted',
      error: ['The step failed.'],
      turns: 1,
      flow: { version: 1, steps: { Ask: { state: { asked: 1 } } } },
    })
  })

  test('is stored as it was loaded where the turn is rolled back, and migrated again in the next one', async () => {
    const { say, document, session } = await released(talk({ version: 2, migrate: toTen }), { onTurnError: 'rollback' })
    expect(await say('fail')).toMatchObject({ sessionState: 'running', response: { session } })
    const { error, runStatus, flow } = await document(session)
    expect([error, runStatus, flow.version, flow.steps.Ask?.state]).toEqual([
      ['The step failed.'],
      'running',
      1,
      { asked: 1 },
    ])
    expect((await say('Hi')).response.message).toBe('Asked 11.')
  })

  test('is migrated for `onError` of the flow, too', async () => {
    const onError = () => reply('Sorry.')
    const { say, document, session } = await released(talk({ version: 2, migrate: toTen }, [Ask], { onError }))
    expect((await say('fail')).response.message).toBe('Sorry.')
    expect((await document(session)).flow).toMatchObject({ version: 2, steps: { Ask: { state: { asked: 10 } } } })
  })

  test('is migrated for `onError` of the flow, which does not leave the step that migrate chose: it was not entered', async () => {
    const left: string[] = []
    class Other extends LogicStep {
      static override readonly id = 'Other'
      override run(): never {
        throw new Error('It broke.')
      }
      override onExit() {
        left.push('Other')
      }
    }
    const migrate: Migrate = (document) => ({ ...document, flow: { ...document.flow, currentStep: 'Other' } })
    const onError = () => go(Ask)
    const { say } = await released(talk({ version: 2, migrate }, [Ask, Other], { onError }))
    expect((await say('Hi')).response.message).toBe('Asked 2.')
    expect(left).toEqual([])
  })

  test('is stored as it was loaded in the checkpoint of a batch flow, too', async () => {
    const seen: SessionDocument['flow'][] = []
    class Looking extends Ask {
      override async run(turn: Turn) {
        seen.push((await document(session)).flow)
        return super.run(turn)
      }
    }
    const next = talk({ version: 2, migrate: toTen }, [Looking], { isBatch: () => true })
    const { say, store, document, session } = await released(next)
    expect((await say('Hi')).response.message).toBe('Asked 11.')
    expect(store.operations).toEqual(['load', 'save', 'save'])
    expect(seen).toMatchObject([{ version: 1, steps: { Ask: { state: { asked: 1 } } } }])
  })

  test('gets no hint of its lists where migrate changed them, and they are stored as it returned them', async () => {
    const migrate: Migrate = (document) => ({ ...document, history: [] })
    const { say, document, session } = await released(talk({ version: 2, migrate }))
    await say('Hi')
    expect((await document(session)).history).toMatchObject([{ turn: 2 }])
    await say('Hi')
    expect((await document(session)).history).toMatchObject([{ turn: 2 }, { turn: 3 }])
  })

  test('may be changed in the copy that migrate gets, which an aborted session does not keep', async () => {
    const migrate: Migrate = (document) => {
      Object.assign(document.flow.context, { currency: 'EUR' })
      return document
    }
    const { say, document, session } = await released(talk({ version: 2, migrate }))
    await say('fail')
    expect((await document(session)).flow.context).toEqual({})
    const other = await released(talk({ version: 2, migrate }))
    await other.say('Hi')
    expect((await other.document(other.session)).flow.context).toEqual({ currency: 'EUR' })
  })
})

describe('migrate that fails', () => {
  test.each<readonly [string, Migrate]>([
    [
      'throws',
      () => {
        throw new Error('no migration')
      },
    ],
    ['rejects', () => Promise.reject(new Error('no migration'))],
  ])('and %s leaves the session as it is, so that the next release can go on with it', async (_how, migrate) => {
    const { say, stored, session, before } = await released(talk({ version: 2, migrate }))
    const { response, error } = await say('Hi')
    expect(error).toMatchObject({
      code: 'SESSION_FLOW_INVARIANT',
      message: `Session '${session}' is malformed: the flow's migrate failed on a session of version 1.`,
      cause: { message: 'no migration' },
    })
    expect(response.session).toBe(session)
    expect(await stored(session)).toBe(before)
  })

  test('by returning nothing is refused: it has forgotten a version', async () => {
    const { say, stored, session, before } = await released(talk({ version: 2, migrate: (() => undefined) as never }))
    expect((await say('Hi')).error?.message).toBe(
      `Session '${session}' is malformed: the flow's migrate returned nothing for a session of version 1.`,
    )
    expect(await stored(session)).toBe(before)
  })

  test('by taking too long ends at the deadline of the turn, and the session stays as it is', async () => {
    const { opened } = gate()
    const migrate: Migrate = async (document) => {
      await opened
      return document
    }
    const { say, clock, stored, session, before } = await released(talk({ version: 2, migrate }))
    const { error } = await clock.runUntil(say('Hi'))
    expect(error?.code).toBe('TURN_TIMEOUT')
    expect(await stored(session)).toBe(before)
  })
})

describe('onRestore that throws', () => {
  const onRestore = (): never => {
    throw new Error('no restore')
  }

  test('leaves a session of an older version as it is', async () => {
    const next = talk({ version: 2, migrate: toTen }, [Ask], { onRestore })
    const { say, stored, session, before } = await released(next)
    expect((await say('Hi')).error).toMatchObject({
      code: 'SESSION_FLOW_INVARIANT',
      message: `Session '${session}' is malformed: the flow's onRestore failed on a session of version 1.`,
      cause: { message: 'no restore' },
    })
    expect(await stored(session)).toBe(before)
  })

  test('aborts a session of this version', async () => {
    const { say, document, session } = await released(talk({}, [Ask], { onRestore }))
    expect((await say('Hi')).error).toMatchObject({ code: 'FLOW_ERROR', message: 'no restore' })
    expect((await document(session)).runStatus).toBe('aborted')
  })
})

describe('what a hook may not change', () => {
  const effects = { charge: { begunAt: '2026-01-01T00:00:00.000Z', attempts: 1 } }
  const receipts = [{ key: 'k', request: 'r', turn: 1 }]
  const changes: readonly (readonly [string, (document: SessionDocument) => unknown])[] = [
    ['changed its id', (document) => ({ ...document, id: 'other' })],
    ['changed its revision', (document) => ({ ...document, revision: '9-x' })],
    ['changed its owner', (document) => ({ ...document, owner: 'grace' })],
    ['changed its createdAt', (document) => ({ ...document, createdAt: '2020-01-01T00:00:00.000Z' })],
    ['changed its runStatus', (document) => ({ ...document, runStatus: 'completed' })],
    ['changed its receipts', (document) => ({ ...document, receipts })],
    ['changed its effects', (document) => ({ ...document, effects })],
    ['changed its flow.name', (document) => ({ ...document, flow: { ...document.flow, name: 'Other' } })],
    ['lowered its turns', (document) => ({ ...document, turns: 0 })],
  ]

  test.each(changes)('migrate: %s', async (problem, migrate) => {
    const { say, stored, session, before } = await released(talk({ version: 2, migrate: migrate as Migrate }))
    const { error } = await say('Hi')
    expect(error).toMatchObject({ code: 'SESSION_FLOW_INVARIANT', statusCode: 409 })
    expect(error?.message).toBe(`Session '${session}' is malformed: the flow's migrate ${problem}.`)
    expect(await stored(session)).toBe(before)
  })

  test.each(changes)('onRestore: %s', async (problem, onRestore) => {
    const { say, stored, session, before } = await released(talk({}, [Ask], { onRestore } as never))
    const { error } = await say('Hi')
    expect(error?.code).toBe('SESSION_FLOW_INVARIANT')
    expect(error?.message).toBe(`Session '${session}' is malformed: the flow's onRestore ${problem}.`)
    expect(await stored(session)).toBe(before)
  })

  test('receipts and effects that are there stay, and may be in another object', async () => {
    const migrate: Migrate = (document) => JSON.parse(JSON.stringify(document))
    const made = await released(talk({ version: 2, migrate }))
    await made.rewrite(made.session, (document) => Object.assign(document, { receipts, effects }))
    expect((await made.say('Hi')).response.success).toBe(true)
    expect(await made.document(made.session)).toMatchObject({ receipts, effects, flow: { version: 2 } })
  })

  test('what is returned is checked like a stored document', async () => {
    const migrate: Migrate = (document) => ({ ...document, flow: { ...document.flow, steps: { Ask: {} as never } } })
    const { say, stored, session, before } = await released(talk({ version: 2, migrate }))
    expect((await say('Hi')).error?.message).toBe(
      `Session '${session}' is malformed: flow.steps.Ask.state is missing and not an object.`,
    )
    expect(await stored(session)).toBe(before)
  })
})

describe('a session of an older version without migrate', () => {
  const refusal = (session: string): string =>
    `Session '${session}' is malformed: it was stored by version 1 of flow 'Talk', and this is version 2.`

  test.each<readonly [string, FlowEngineOptions, Statics]>([
    ['by default', {}, {}],
    ['if the engine says so', { outdated: 'refuse' }, {}],
    ['if the flow says so, whatever the engine says', { outdated: 'restart' }, { outdated: 'refuse' }],
  ])('is refused %s, and stays as it is', async (_when, options, statics) => {
    const { say, stored, session, before } = await released(talk({ version: 2, ...statics }), options)
    const { response, error, restarted } = await say('Hi')
    expect(error).toMatchObject({ code: 'SESSION_FLOW_INVARIANT', message: refusal(session) })
    expect([response.session, restarted]).toEqual([session, undefined])
    expect(await stored(session)).toBe(before)
  })

  test.each<readonly [string, FlowEngineOptions, Statics]>([
    ['the engine', { outdated: 'restart' }, {}],
    ['the flow', { outdated: 'refuse' }, { outdated: 'restart' }],
    ['the flow, where unknown sessions are refused,', { unknownSession: 'reject' }, { outdated: 'restart' }],
  ])('restarts if %s says so, and stays as it is', async (_who, options, statics) => {
    const { say, stored, document, session, before } = await released(talk({ version: 2, ...statics }), options)
    const { response, restarted } = await say('Hi')
    expect([response.message, restarted]).toEqual(['Asked 1.', 'outdated'])
    expect(response.session).not.toBe(session)
    expect(await stored(session)).toBe(before)
    expect((await document(response.session)).flow.version).toBe(2)
  })

  test('is migrated, not restarted, where there is a migrate', async () => {
    const { say, session } = await released(talk({ version: 2, migrate: toTen, outdated: 'restart' }))
    const { response, restarted } = await say('Hi')
    expect([response.session, response.message, restarted]).toEqual([session, 'Asked 11.', undefined])
  })

  test('does not ask migrate of the same version, nor of a session that has ended', async () => {
    const migrate: Migrate = () => {
      throw new Error('It was asked.')
    }
    const same = await released(talk({ version: 1, migrate }))
    expect((await same.say('done')).response.message).toBe('Goodbye.')
    const { engine } = harness({ flows: [talk({ version: 2, migrate })], backing: same.backing })
    const { response, restarted } = await engine.execute({
      flowName: 'Talk',
      userMessage: 'Hi',
      sessionId: same.session,
    })
    expect([response.success, restarted]).toEqual([true, 'completed'])
  })
})

describe('a session of a newer version', () => {
  test('is refused by an older process before any hook, and its bytes stay', async () => {
    const hooks: string[] = []
    const older = talk(
      {
        version: 2,
        outdated: 'restart',
        migrate: (document) => {
          hooks.push('migrate')
          return document
        },
      },
      [Ask],
      { onRestore: () => void hooks.push('onRestore') },
    )
    const { say, stored, session, before } = await released(older, { outdated: 'restart' }, talk({ version: 3 }))
    const { response, error } = await say('Hi')
    expect(error?.code).toBe('SESSION_FLOW_INVARIANT')
    expect(response.message).toBe(
      `Session '${session}' is malformed: it was stored by version 3 of flow 'Talk', and this is version 2.`,
    )
    expect(response.session).toBe(session)
    expect(hooks).toEqual([])
    expect(await stored(session)).toBe(before)
  })

  test('and so is one that a hook of this release makes newer', async () => {
    const onRestore = (document: SessionDocument) => ({ ...document, flow: { ...document.flow, version: 4 } })
    const { say, stored, session, before } = await released(
      talk({ version: 2, migrate: toTen, outdated: 'restart' }, [Ask], { onRestore }),
    )
    expect((await say('Hi')).error?.message).toContain('it was stored by version 4')
    expect(await stored(session)).toBe(before)
  })
})

describe('restarted', () => {
  test('is absent where no session was asked for, and where the one asked for answers', async () => {
    const { engine, say } = await released(talk({}))
    expect(await engine.execute({ flowName: 'Talk', userMessage: 'Hi' })).not.toHaveProperty('restarted')
    expect(await say('Hi')).not.toHaveProperty('restarted')
    expect(await say('fail')).not.toHaveProperty('restarted')
  })

  test('is `unknown` for an ID that nothing is stored under', async () => {
    const { engine } = harness({ flows: [talk({})] })
    const { response, restarted } = await engine.execute({ flowName: 'Talk', userMessage: 'Hi', sessionId: 'made-up' })
    expect(restarted).toBe('unknown')
    expect(response.session).not.toBe('made-up')
  })

  test.each([
    ['completed', 'done'],
    ['aborted', 'fail'],
  ])('is `%s` for a session that has ended, to its owner only', async (status, message) => {
    const { engine } = harness({ flows: [talk({})] })
    const owned = { flowName: 'Talk', userMessage: 'Hi', owner: 'ada' }
    const sessionId = (await engine.run(owned)).session
    await engine.execute({ ...owned, userMessage: message, sessionId })
    expect((await engine.execute({ ...owned, sessionId })).restarted).toBe(status)
    expect((await engine.execute({ ...owned, owner: 'grace', sessionId })).restarted).toBe('unknown')
    expect((await engine.execute({ flowName: 'Talk', userMessage: 'Hi', sessionId })).restarted).toBe('unknown')
  })

  test.each(['migrate', 'onRestore'])('is `flow` where %s returns null, and the old session stays', async (hook) => {
    const next =
      hook === 'migrate'
        ? talk({ version: 2, migrate: () => null })
        : talk({}, [Ask], { onRestore: () => null } as never)
    const { say, stored, session, before } = await released(next)
    const { response, restarted } = await say('Hi')
    expect([response.message, restarted]).toEqual(['Asked 1.', 'flow'])
    expect(response.session).not.toBe(session)
    expect(await stored(session)).toBe(before)
  })

  test('is with a failure whose turn ran in a new session that is stored, and with no other', async () => {
    const { engine, document } = harness({ flows: [talk({})] })
    const input = { flowName: 'Talk', userMessage: 'fail', sessionId: 'made-up' }
    const { response, restarted } = await engine.execute(input)
    expect([restarted, (await document(response.session)).runStatus]).toEqual(['unknown', 'aborted'])
    const rejecting = harness({ flows: [talk({})], unknownSession: 'reject' })
    expect(await rejecting.engine.execute(input)).not.toHaveProperty('restarted')
    const failing = harness({ flows: [talk({})] })
    failing.store.failNext('create', { times: Number.POSITIVE_INFINITY })
    const lost = await failing.clock.runUntil(failing.engine.execute(input))
    expect(lost.response.success).toBe(false)
    expect(lost).not.toHaveProperty('restarted')
  })

  test('stands in the first and in the last piece of a stream', async () => {
    const { engine } = harness({ flows: [talk({})] })
    const input = { flowName: 'Talk', userMessage: 'Hi', sessionId: 'made-up' }
    const events = await readAll(engine.stream(input))
    expect(events[0]).toEqual({ type: 'session', session: expect.any(String), restarted: 'unknown' })
    expect(events.at(-1)).toMatchObject({ type: 'result', restarted: 'unknown' })
    const failed = await readAll(engine.stream({ ...input, userMessage: 'fail' }))
    expect(failed.at(-1)).toMatchObject({ type: 'error', restarted: 'unknown' })
    const plain = await readAll(engine.stream({ flowName: 'Talk', userMessage: 'Hi' }))
    for (const event of plain) expect(event).not.toHaveProperty('restarted')
  })
})

describe('a former name of a flow', () => {
  const renamed = (): FlowConstructor => {
    class Chat extends talk({ version: 2, migrate: toTen }) {
      static override readonly id = 'Chat'
      static override readonly aliases = ['Talk']
    }
    return Chat
  }

  test('runs it, for a page that was open before the release', async () => {
    const { say, engine, session, document } = await released(renamed())
    expect(await say('Hi')).toMatchObject({ response: { session, message: 'Asked 11.' } })
    expect((await document(session)).flow.name).toBe('Talk')
    expect([engine.getFlowNames(), engine.getFlow('Talk')]).toEqual([['Chat'], undefined])
  })

  test('starts sessions under the present name, and events have that one', async () => {
    const { engine, document } = harness({ flows: [renamed()] })
    const names: string[] = []
    engine.on('turn:start', ({ flowName }) => names.push(flowName))
    const { session } = await engine.run({ flowName: 'Talk', userMessage: 'Hi' })
    expect([(await document(session)).flow.name, ...names]).toEqual(['Chat', 'Chat'])
  })
})

test('the option outdated is one of two', () => {
  expect(() => harness({ flows: [], outdated: 'ignore' as never })).toThrow(
    "FlowEngine: outdated must be 'refuse' or 'restart'.",
  )
})
