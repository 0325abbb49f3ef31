// States that another release has stored, and the stateSchema that a step checks them with.
import type { StandardSchemaV1 } from '@standard-schema/spec'
import * as v from 'valibot'
import { afterEach, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { expectNothingLeft, gate, type Harness, harness } from '../../../testing/contract/engine-harness.js'
import { place } from '../../../testing/contract/test-flows.js'
import {
  Flow,
  type FlowConstructor,
  go,
  LogicStep,
  reply,
  type SessionDocument,
  type StepConstructor,
  type Turn,
} from '../../index.js'

afterEach(expectNothingLeft)

type Contact = { name?: string; phone?: string; at?: unknown }

/** A step that answers with its state, under the ID `Contact`. */
function contact(stateSchema?: unknown, aliases: readonly string[] = []): StepConstructor {
  class Shown extends LogicStep<Contact> {
    static override readonly id: string = 'Contact'
    override run(turn: Turn) {
      if (turn.number === 1) this.state = { name: 'Ada' }
      return reply(JSON.stringify(this.state))
    }
  }
  if (stateSchema !== undefined) Object.defineProperty(Shown, 'stateSchema', { value: stateSchema })
  Object.defineProperty(Shown, 'aliases', { value: aliases })
  return Shown
}

class TestFlow extends Flow {
  static override readonly id = 'Test'
  override steps(): readonly StepConstructor[] {
    return []
  }
}

function flowOf(...steps: readonly StepConstructor[]): typeof TestFlow {
  return class extends TestFlow {
    override steps() {
      return steps
    }
  }
}

interface Released extends Harness {
  readonly session: string
  readonly before: string
  say(): ReturnType<Harness['engine']['execute']>
}

/** One turn without a schema, which stored `{ name: 'Ada' }`, and then the session in the hands of the next release. */
async function released(next: FlowConstructor, first: FlowConstructor = flowOf(contact())): Promise<Released> {
  const old = harness({ flows: [first] })
  const session = await old.start('Test')
  await old.engine.close()
  const made = harness({ flows: [next], backing: old.backing })
  const say = () => made.engine.execute({ flowName: 'Test', userMessage: 'Hi', sessionId: session })
  return { ...made, session, before: await made.stored(session), say }
}

/** A Standard Schema made by hand. */
function schema(validate: (value: unknown) => unknown): StandardSchemaV1 {
  return { '~standard': { version: 1, vendor: 'test', validate: validate as never } }
}

describe('stateSchema', () => {
  test.each<readonly [string, StandardSchemaV1]>([
    ['Zod', z.object({ name: z.string(), phone: z.string().default('none') })],
    ['Valibot', v.object({ name: v.string(), phone: v.optional(v.string(), 'none') })],
    ['an asynchronous schema', schema(async (value) => ({ value: { ...(value as object), phone: 'none' } }))],
  ])('its output is the state that the step sees, and that is stored: %s', async (_of, stateSchema) => {
    const { say, document, session, store } = await released(flowOf(contact(stateSchema)))
    expect((await say()).response.message).toBe('{"name":"Ada","phone":"none"}')
    expect((await document(session)).flow.steps.Contact?.state).toEqual({ name: 'Ada', phone: 'none' })
    expect(store.operations).toEqual(['load', 'save'])
  })

  test('a state that does not fit is refused by step and field, without what somebody said', async () => {
    const stateSchema = z.object({
      name: z.literal('Grace'),
      phone: z.string(),
      address: z.object({ city: z.string() }),
    })
    const { say, stored, session, before } = await released(flowOf(contact(stateSchema)))
    const { response, error } = await say()
    expect(error).toMatchObject({ code: 'SESSION_FLOW_INVARIANT', statusCode: 409, sessionId: session })
    expect(response.message).toBe(
      `Session '${session}' is malformed: the state of step 'Contact' does not fit its stateSchema at name, phone, address.`,
    )
    expect(String(error?.cause)).toContain('phone: Invalid input: expected string, received undefined')
    expect(await stored(session)).toBe(before)
  })

  test('names the field of a nested value, the first five fields, and the state itself', async () => {
    const issue = (...path: readonly PropertyKey[]) => ({ message: 'No.', path })
    const problems: string[] = []
    for (const issues of [
      [issue('address', 'lines', 0), issue('address', 'lines', 0)],
      [...'abcdefg'].map((name) => issue(name)),
      [{ message: 'No.' }],
      [{ message: 'No.', path: [{ key: 'a' }, { key: 'b' }] }],
    ]) {
      const { say } = await released(flowOf(contact(schema(() => ({ issues })))))
      problems.push((await say()).error?.message.split(' stateSchema at ')[1] ?? '')
    }
    expect(problems).toEqual(['address.lines.0.', 'a, b, c, d, e and 2 more.', 'its root.', 'a.b.'])
  })

  test('is asked after migrate, onRestore and aliases', async () => {
    const stateSchema = z.object({ name: z.string(), phone: z.string() })
    class Next extends flowOf(contact(stateSchema, ['Person'])) {
      static override readonly version = 2
      static override migrate(document: SessionDocument) {
        const steps = { Person: { state: { name: 'Joan' } } }
        return { ...document, flow: { ...document.flow, currentStep: 'Person', steps } }
      }
      override onRestore({ flow }: SessionDocument) {
        Object.assign(flow.steps.Person?.state as object, { phone: '5' })
      }
    }
    const { say, document, session } = await released(Next)
    expect((await say()).response.message).toBe('{"name":"Joan","phone":"5"}')
    expect(Object.keys((await document(session)).flow.steps)).toEqual(['Contact'])
  })

  test('checks the states of all steps that the session was in, and no initialState()', async () => {
    const checked: unknown[] = []
    const recording = (id: string): StepConstructor => {
      const Step = place(id)
      const stateSchema = schema((value) => {
        checked.push([id, value])
        return { value }
      })
      Object.defineProperty(Step, 'stateSchema', { value: stateSchema })
      return Step
    }
    const { say, rewrite, session } = await released(
      flowOf(recording('Contact'), recording('Never'), recording('Past')),
    )
    await rewrite(session, ({ flow }) =>
      Object.assign(flow.steps as object, { Past: { state: { at: 1 } }, Gone: { state: {} } }),
    )
    expect((await say()).response.success).toBe(true)
    expect(checked).toEqual([
      ['Contact', { name: 'Ada' }],
      ['Past', { at: 1 }],
    ])
  })

  test('may not change the session by what it does to its input', async () => {
    const stateSchema = schema((value) => {
      ;(value as Contact).name = 'changed'
      return { issues: [{ message: 'No.', path: ['name'] }] }
    })
    const { say, stored, session, before } = await released(flowOf(contact(stateSchema)))
    // The stored state is frozen in a memory store: a schema that got it would throw.
    expect((await say()).error?.message).toContain('does not fit its stateSchema at name')
    expect(await stored(session)).toBe(before)
  })

  test('is not stored where the turn fails: the session is aborted as it was loaded', async () => {
    const stateSchema = z.object({ name: z.string(), phone: z.string().default('none') })
    class Failing extends LogicStep {
      static override readonly id = 'Contact'
      static override readonly stateSchema = stateSchema
      override run(): never {
        throw new Error('The step failed.')
      }
    }
    const { say, document, session } = await released(flowOf(Failing))
    await say()
    expect(await document(session)).toMatchObject({ runStatus: 'aborted', flow: { version: 1 } })
    expect((await document(session)).flow.steps.Contact?.state).toEqual({ name: 'Ada' })
  })

  const failed = "the stateSchema of step 'Contact' failed"
  const unstorable = "the stateSchema of step 'Contact' returned a state that cannot be stored"
  test.each<readonly [string, () => unknown, string]>([
    [
      'throws',
      () => {
        throw new Error('no schema')
      },
      failed,
    ],
    ['rejects', () => Promise.reject(new Error('no schema')), failed],
    ['returns nothing', () => undefined, `${unstorable}: it is not a plain object`],
    ['returns a text', () => ({ value: 'Ada' }), `${unstorable}: it is not a plain object`],
    [
      'returns a Date',
      () => ({ value: { at: new Date(0) } }),
      `${unstorable}: state.at is an instance of Date, which JSON cannot carry: use date.toISOString()`,
    ],
  ])('that %s leaves the session as it is', async (_what, validate, problem) => {
    const { say, stored, session, before } = await released(flowOf(contact(schema(validate))))
    expect((await say()).error).toMatchObject({
      code: 'SESSION_FLOW_INVARIANT',
      message: `Session '${session}' is malformed: ${problem}.`,
    })
    expect(await stored(session)).toBe(before)
  })

  test('that never settles ends at the deadline of the turn, and the session stays as it is', async () => {
    const { say, clock, stored, session, before } = await released(flowOf(contact(schema(() => gate().opened))))
    expect((await clock.runUntil(say())).error?.code).toBe('TURN_TIMEOUT')
    expect(await stored(session)).toBe(before)
  })

  test('checks what a turn changes before it is stored: what it refuses could not be loaded again', async () => {
    class Named extends LogicStep<Contact> {
      static override readonly id = 'Contact'
      static override readonly stateSchema = z.object({ name: z.string() })
      override initialState(): Contact {
        return { name: 'nobody' }
      }
      override run({ message }: Turn) {
        if (message === 'forget') delete this.state.name
        return reply(`Hello, ${this.state.name}.`)
      }
    }
    const made = harness({ flows: [flowOf(Named)], onTurnError: 'rollback' })
    const session = await made.start('Test')
    const say = (userMessage: string) => made.engine.execute({ flowName: 'Test', userMessage, sessionId: session })
    expect((await say('forget')).error).toMatchObject({
      code: 'FLOW_ERROR',
      message: "The session cannot be stored: the state of step 'Contact' does not fit its stateSchema at name.",
    })
    expect((await say('Hi')).response).toMatchObject({ success: true, message: 'Hello, nobody.' })
  })

  test('refuses what it made of a state that no step touched, where it would refuse that in the next turn', async () => {
    const stateSchema = z.object({ name: z.string().transform(() => 5) })
    class Other extends LogicStep {
      static override readonly id = 'Other'
      override run() {
        return reply('Other.')
      }
    }
    class Both extends flowOf(contact(stateSchema), Other) {
      override onMessage() {
        return go('Other')
      }
    }
    const { say, stored, session, before } = await released(Both)
    expect((await say()).error).toMatchObject({
      code: 'FLOW_ERROR',
      message: "The session cannot be stored: the state of step 'Contact' does not fit its stateSchema at name.",
    })
    expect((await stored(session)).replace(/"aborted"/, '"running"')).toContain('{"name":"Ada"}')
    expect(before).toContain('{"name":"Ada"}')
  })

  test('that never settles leaves the session as it is where the flow has a hook onRestore, too', async () => {
    class Hooked extends flowOf(contact(schema(() => gate().opened))) {
      override onRestore() {}
    }
    const { say, clock, stored, session, before } = await released(Hooked)
    const result = await clock.runUntil(say())
    expect([result.error?.code, result.sessionState]).toEqual(['TURN_TIMEOUT', 'running'])
    expect(await stored(session)).toBe(before)
  })
})
