import { afterEach, describe, expect, test } from 'vitest'
import { expectNothingLeft, flowOf, harness } from '../../../testing/contract/engine-harness.js'
import { Flow, LogicStep, reply, Step, type StepConstructor, type Transition } from '../../index.js'

afterEach(expectNothingLeft)

describe('a flow that is not put together right', () => {
  class First extends LogicStep {
    static override readonly id: string = 'First'
    override run(): Transition {
      return reply('hello')
    }
  }
  class Second extends LogicStep {
    static override readonly id: string = 'First'
    override run(): Transition {
      return reply('hello')
    }
  }

  test.each<readonly [string, Parameters<typeof flowOf>[2], string, string]>([
    [
      'a constructor that throws',
      {
        construct: () => {
          throw new Error('no flow today')
        },
      },
      'no flow today',
      'FLOW_ERROR',
    ],
    ['an init that rejects', { init: () => Promise.reject(new Error('no init today')) }, 'no init today', 'FLOW_ERROR'],
    [
      'two steps with one ID',
      { steps: () => [First, Second] },
      "Flow 'Talk' has two steps with the ID or alias 'First'. Give each a static id.",
      'FLOW_REGISTRATION',
    ],
    [
      'no steps',
      { steps: () => [] },
      "Flow 'Talk' must return at least one step class from steps().",
      'FLOW_REGISTRATION',
    ],
    [
      'context that JSON cannot carry',
      { init: (flow) => flow.addContext({ now: new Date(0) }) },
      'context.now is an instance of Date, which JSON cannot carry: use date.toISOString().',
      'FLOW_ERROR',
    ],
  ])('%s: nothing is created, and a stored session stays as it was', async (what, hooks, message, code) => {
    const first = harness({ flows: [flowOf('Talk')] })
    const session = await first.start('Talk')
    const { engine, stored, backing } = harness({ flows: [flowOf('Talk', undefined, hooks)], backing: first.backing })
    const before = await stored(session)
    const fresh = await engine.execute({ flowName: 'Talk', userMessage: 'hello' })
    expect(fresh.response).toEqual({ success: false, completed: true, message, session: '', contentType: 'text/plain' })
    expect(fresh.error?.code).toBe(code)
    const later = await engine.run({ flowName: 'Talk', userMessage: 'hello', sessionId: session })
    // Of a stored session the stored context counts, whatever init adds.
    expect(later).toMatchObject(what.startsWith('context') ? { success: true } : { success: false, message, session })
    if (!later.success) expect(await stored(session)).toBe(before)
    expect(backing.size).toBe(1)
  })

  test('[4.4-18] a model that nobody provides is found at session start, before the store is asked', async () => {
    class Ask extends Step {
      static override readonly id = 'Ask'
      override prompt(): string {
        return 'Ask.'
      }
    }
    class Modelled extends Flow {
      static override readonly id: string = 'Talk'
      override steps(): readonly StepConstructor[] {
        return [First, Ask]
      }
      override model() {
        return { provider: 'nobody', name: 'small' }
      }
    }
    const { engine, store } = harness({ flows: [Modelled] })
    const { response, error } = await engine.execute({ flowName: 'Talk', userMessage: 'hello', sessionId: 'given' })
    expect(response).toMatchObject({ success: false, session: 'given' })
    expect(response.message).toContain("'nobody'")
    expect(error?.code).toBe('INVALID_INPUT')
    // Only for the state of the session.
    expect(store.operations).toEqual(['load'])
  })
})
