// What a step and its flow may make of a model that did not answer.
import { afterEach, describe, expect, test } from 'vitest'
import { expectNothingLeft, never } from '../../../../testing/contract/engine-harness.js'
import {
  type Act,
  calls,
  chatOf,
  chatOn,
  hello,
  type ModelHarness,
  modelHarness,
  status,
  Talk,
  toolThat,
} from '../../../../testing/contract/model-harness.js'
import { lines, place } from '../../../../testing/contract/test-flows.js'
import {
  type BudgetExceededError,
  type FlowEngineOptions,
  FlowError,
  finish,
  go,
  type ModelBlockedDetails,
  ModelBlockedError,
  ModelError,
  reply,
  type StepConstructor,
  stay,
  type Transition,
  type Turn,
} from '../../../index.js'

afterEach(expectNothingLeft)

const refusal: Act = () => ({ parts: [], finishReason: 'content-filter' })

type Hook = (given: ModelError | BudgetExceededError | ModelBlockedDetails, turn: Turn) => unknown

interface Hooks {
  readonly ofStep?: Hook
  readonly ofFlow?: Hook
  readonly more?: readonly StepConstructor[]
  readonly tool?: () => unknown
}

/** A flow whose step and flow do this if a model did not answer, for any reason. */
function hooked(acts: readonly Act[], { ofStep, ofFlow, more = [], tool }: Hooks, options: FlowEngineOptions = {}) {
  class Hooked extends Talk {
    override tools() {
      return tool === undefined ? [] : [toolThat('work', tool)]
    }
    override onModelError(error: ModelError | BudgetExceededError, turn: Turn) {
      return ofStep?.(error, turn) as Transition
    }
    override onModelBlocked(details: ModelBlockedDetails, turn: Turn) {
      return ofStep?.(details, turn) as Transition
    }
  }
  class HookedFlow extends chatOf(Hooked, ...more) {
    override onModelError(error: ModelError | BudgetExceededError, turn: Turn) {
      return ofFlow?.(error, turn) as Transition
    }
    override onModelBlocked(details: ModelBlockedDetails, turn: Turn) {
      return ofFlow?.(details, turn) as Transition
    }
  }
  return modelHarness({ 'own/small': acts }, { flows: [HookedFlow], modelRetry: { maxAttempts: 1 }, ...options })
}

async function memoryOf(made: ModelHarness, session: string): Promise<string[]> {
  return lines((await made.document(session)).flow.memory.Talk?.messages)
}

const failing: readonly [string, Act][] = [
  ['failed', status(500)],
  ['refused', refusal],
]

describe.each(failing)('a model that %s', (_name, act) => {
  test('leads to what the step says', async () => {
    const made = hooked([act], { ofStep: () => reply('Later, please.'), ofFlow: () => reply('Not this.') })
    const { message, success, session } = await made.engine.run(hello)
    expect([message, success]).toEqual(['Later, please.', true])
    expect(await memoryOf(made, session)).toEqual(['user: Hello', 'assistant: Later, please.'])
    expect((await made.document(session)).usage.modelCalls).toBe(1)
  })

  test('leads to what the flow says where the step returns nothing', async () => {
    const asked: string[] = []
    const made = hooked([act], {
      ofStep: () => void asked.push('step'),
      ofFlow: () => {
        asked.push('flow')
        return reply('Later, please.')
      },
    })
    expect((await made.engine.run(hello)).message).toBe('Later, please.')
    expect(asked).toEqual(['step', 'flow'])
  })

  test('fails the turn where neither says anything', async () => {
    const made = hooked([act], {})
    const { error, response } = await made.engine.execute(hello)
    expect(error?.code).toMatch(/^MODEL_(ERROR|BLOCKED)$/)
    expect((await made.document(response.session)).runStatus).toBe('aborted')
  })

  test.each<[string, () => Transition, string, boolean]>([
    ['another step', () => go('Desk'), 'At Desk.', false],
    ['another step with a reply', () => go('Desk').withReply('One moment.'), 'One moment.', false],
    ['stay with a text', () => stay('Say that again?'), 'Say that again?', false],
    ['the end', () => finish('Goodbye.'), 'Goodbye.', true],
  ])('may lead to %s', async (_where, transition, text, completed) => {
    const made = hooked([act], { ofStep: transition, more: [place('Desk')] })
    expect(await made.engine.run(hello)).toMatchObject({ success: true, message: text, completed })
  })

  test('is waited for where the hook takes time', async () => {
    const made = hooked([act], { ofStep: () => Promise.resolve(), ofFlow: () => Promise.resolve(reply('Late.')) })
    expect((await made.engine.run(hello)).message).toBe('Late.')
  })

  test.each<[string, unknown]>([
    ['null', null],
    ['a text', 'Later.'],
    ['false', false],
    ['an object', {}],
  ])('fails the turn where a hook returns %s', async (_what, returned) => {
    const own = await hooked([act], { ofStep: () => returned }).engine.execute(hello)
    expect(own.error?.code).toBe('FLOW_ERROR')
    expect(own.response.message).toMatch(
      /^onModel(Error|Blocked) of step 'Talk' must return nothing or a transition\.$/,
    )
    const shared = await hooked([act], { ofFlow: () => Promise.resolve(returned) }).engine.execute(hello)
    expect(shared.response.message).toMatch(
      /^onModel(Error|Blocked) of flow 'Chat' must return nothing or a transition\.$/,
    )
  })

  test('fails the turn with what a hook throws', async () => {
    const throwing: Hook = () => {
      throw new Error('The hook failed.')
    }
    const { error } = await hooked([act], { ofStep: throwing, ofFlow: () => reply('Not this.') }).engine.execute(hello)
    expect([error?.code, error?.message]).toEqual(['FLOW_ERROR', 'The hook failed.'])
  })

  test('is ended by the deadline of the turn where the hook never comes back', async () => {
    const made = hooked([act], { ofStep: () => never(), ofFlow: () => reply('Not this.') })
    expect((await made.clock.runUntil(made.engine.execute(hello))).error?.code).toBe('TURN_TIMEOUT')
  })

  test('does not call for ever: the same step again and again is bounded', async () => {
    const made = hooked(
      Array.from({ length: 50 }, () => act),
      { ofStep: () => go('Talk') },
      {
        limits: { maxModelCallsPerTurn: 1_000 },
        circuitBreaker: { failureThreshold: Number.POSITIVE_INFINITY },
      },
    )
    const { error, response } = await made.engine.execute(hello)
    expect([error?.code, made.asked.length]).toEqual(['LIMIT_EXCEEDED', 33])
    expect(response.message).toContain('maxTransitionsPerTurn')
  })

  test('after tools leaves every call with its result', async () => {
    const made = hooked([calls('work'), act, 'Fine.'], { ofStep: () => reply('Later.'), tool: () => 'Done.' })
    const { session } = await made.engine.run(hello)
    expect(await memoryOf(made, session)).toEqual([
      'user: Hello',
      'assistant: work({})',
      'tool: work = "Done."',
      'assistant: Later.',
    ])
    expect((await made.engine.run({ ...hello, sessionId: session })).message).toBe('Fine.')
  })

  test('leads to the hook with the turn under way', async () => {
    const seen: unknown[] = []
    const made = hooked([act], {
      ofStep: (_given, turn) => {
        seen.push(turn.message, turn.number, turn.signal.aborted)
        return reply('Later.')
      },
    })
    await made.engine.run(hello)
    expect(seen).toEqual(['Hello', 1, false])
  })
})

describe('a hook is given', () => {
  test('the error of the last model, with what it threw as the cause', async () => {
    let given: unknown
    const remember: Hook = (error) => {
      given = error
      return reply('Later.')
    }
    class Two extends chatOn('own/small', 'own/large') {
      override onModelError(error: ModelError | BudgetExceededError, turn: Turn) {
        return remember(error, turn) as Transition
      }
    }
    const acts = { 'own/small': [status(400)], 'own/large': [status(401)] }
    const made = modelHarness(acts, { flows: [Two] })
    await made.engine.run(hello)
    expect(given).toBeInstanceOf(ModelError)
    expect(given).toMatchObject({ code: 'MODEL_ERROR', model: 'large', cause: { statusCode: 401 } })
  })

  test('who refused, in which step, and the error', async () => {
    let given: unknown
    const made = hooked([refusal], {
      ofStep: (details) => {
        given = details
        return reply('Later.')
      },
    })
    await made.engine.run(hello)
    expect(given).toEqual({ provider: 'own', model: 'small', step: 'Talk', error: expect.any(ModelBlockedError) })
  })

  test('a budget that is used up, and may answer without a model', async () => {
    const seen: unknown[] = []
    const made = hooked(
      ['One.'],
      {
        ofFlow: (error) => {
          seen.push((error as BudgetExceededError).code, (error as BudgetExceededError).amount)
          return finish('That is all for today.')
        },
      },
      { budgets: { session: { modelCalls: 1 } } },
    )
    const { session } = await made.engine.run(hello)
    const { message, completed } = await made.engine.run({ ...hello, sessionId: session })
    expect([message, completed, ...seen]).toEqual(['That is all for today.', true, 'BUDGET_EXCEEDED', 'modelCalls'])
  })

  test('a breaker that is open', async () => {
    const made = hooked(
      [status(500)],
      { ofStep: (error) => reply((error as ModelError).message) },
      { circuitBreaker: { failureThreshold: 1 } },
    )
    const { session } = await made.engine.run(hello)
    expect((await made.engine.run({ ...hello, sessionId: session })).message).toContain('failed too often')
  })
})

describe('no hook is asked', () => {
  const mustNot: Hook = () => {
    throw new Error('A hook was asked.')
  }
  const hooks = { ofStep: mustNot, ofFlow: mustNot }
  const asModelError = (): never => {
    throw new ModelError({ provider: 'a tool', model: 'of its own' })
  }

  test.each<[string, readonly Act[], Hooks, FlowEngineOptions, string]>([
    ['for a tool that throws', [calls('work')], { tool: () => Promise.reject(new Error('No.')) }, {}, 'TOOL_ERROR'],
    ['for a tool that throws a ModelError', [calls('work')], { tool: asModelError }, {}, 'MODEL_ERROR'],
    [
      'for a limit',
      [calls('work'), calls('work')],
      { tool: () => 'Done.' },
      { limits: { maxModelCallsPerTurn: 1 } },
      'LIMIT_EXCEEDED',
    ],
    ['for the deadline of the turn', [() => never()], {}, { limits: { turnTimeoutMs: 1_000 } }, 'TURN_TIMEOUT'],
    [
      'for another error of the engine that a provider throws',
      [() => Promise.reject(new FlowError({ code: 'INVALID_INPUT', message: 'No.' }))],
      {},
      {},
      'INVALID_INPUT',
    ],
  ])('%s', async (_name, acts, more, options, code) => {
    const made = hooked(acts, { ...hooks, ...more }, options)
    expect((await made.clock.runUntil(made.engine.execute(hello))).error?.code).toBe(code)
  })

  test('for a caller that went away', async () => {
    const made = hooked([() => never()], hooks)
    const controller = new AbortController()
    const turn = made.engine.execute({ ...hello, signal: controller.signal })
    await made.clock.settle()
    controller.abort()
    expect((await turn).error?.code).toBe('TURN_ABORTED')
  })

  test.each(['prompt', 'onReply'] as const)('for a ModelError thrown in %s', async (hook) => {
    class Throwing extends Talk {
      override onModelError(): never {
        throw new Error('A hook was asked.')
      }
    }
    Object.assign(Throwing.prototype, { [hook]: asModelError })
    const made = modelHarness({ 'own/small': ['Hi.'] }, { flows: [chatOf(Throwing)] })
    expect((await made.engine.execute(hello)).error?.code).toBe('MODEL_ERROR')
  })
})
