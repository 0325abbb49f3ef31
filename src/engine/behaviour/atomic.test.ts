import { afterEach, describe, expect, test } from 'vitest'
import { expectNothingLeft, flowOf, gate, harness } from '../../../testing/contract/engine-harness.js'
import { scriptedProvider } from '../../../testing/index.js'
import { End, Flow, type FlowConstructor, reply, Step, type StepConstructor, tool } from '../../index.js'

afterEach(expectNothingLeft)

describe('a turn is committed whole or not at all', () => {
  /** A flow whose tool changes everything it can reach, and then throws if the test says so. */
  function reaching(fails: () => boolean): FlowConstructor {
    class Ask extends Step<{ seen: number }> {
      static override readonly id = 'Ask'
      override initialState() {
        return { seen: 0 }
      }
      override prompt(): string {
        this.state.seen++
        return 'Ask.'
      }
    }
    return class extends Flow {
      static override readonly id: string = 'Reach'
      override steps(): readonly StepConstructor[] {
        return [Ask, End]
      }
      override model() {
        return { provider: 'scripted', name: 'model' }
      }
      override init(): void {
        this.addContext({ cart: { items: ['pear'] } })
      }
      override tools() {
        const execute = (): string => {
          this.addContext({ added: true })
          try {
            ;(this.context.cart as { items: string[] }).items.push('apple')
          } catch {
            // Frozen, which is as good.
          }
          if (fails()) throw new Error('It broke.')
          return 'done'
        }
        return [tool({ name: 'reach', description: 'Reach.', execute })]
      }
    }
  }

  test('[3-3] of a turn that fails nothing stays but its status, its text, and what it spent', async () => {
    let fails = false
    const usage = { inputTokens: 7, outputTokens: 3 }
    const provider = scriptedProvider([
      { text: 'Hello.', usage },
      { toolCalls: [{ name: 'reach' }], usage },
    ])
    const { engine, start, document } = harness({ flows: [reaching(() => fails)], providers: [provider] })
    const session = await start('Reach')
    const before = await document(session)
    expect(before.flow.context).toEqual({ cart: { items: ['pear'] } })
    fails = true
    const { response, error } = await engine.execute({ flowName: 'Reach', userMessage: 'go', sessionId: session })
    expect(response).toMatchObject({ success: false, message: 'It broke.' })
    expect(error?.code).toBe('TOOL_ERROR')
    expect(await document(session)).toEqual({
      ...before,
      runStatus: 'aborted',
      error: ['It broke.'],
      revision: expect.stringMatching(/^2-/),
      usage: { inputTokens: 14, outputTokens: 6, modelCalls: 2 },
    })
    provider.assertDone()
  })

  test('of a first turn that fails, neither', async () => {
    const provider = scriptedProvider([{ toolCalls: [{ name: 'reach' }] }])
    const { engine, document } = harness({ flows: [reaching(() => true)], providers: [provider] })
    const { session } = await engine.run({ flowName: 'Reach', userMessage: 'go' })
    expect(await document(session)).toMatchObject({
      runStatus: 'aborted',
      flow: { context: { cart: { items: ['pear'] } }, steps: {}, memory: {}, currentStep: null },
      history: [],
    })
  })

  test('of a turn that succeeds, everything', async () => {
    const provider = scriptedProvider(['Hello.', { toolCalls: [{ name: 'reach' }] }, 'Done.'])
    const { engine, start, document } = harness({ flows: [reaching(() => false)], providers: [provider] })
    const session = await start('Reach')
    expect(await engine.run({ flowName: 'Reach', userMessage: 'go', sessionId: session })).toMatchObject({
      success: true,
      message: 'Done.',
    })
    const { flow, history } = await document(session)
    expect(flow.context).toMatchObject({ added: true })
    expect(flow.steps.Ask?.state).toEqual({ seen: 3 })
    expect(flow.memory.Ask?.messages).toHaveLength(6)
    expect(history).toHaveLength(2)
  })
})

test('a state kept beyond its turn changes nothing', async () => {
  const held = gate()
  let kept: Record<string, unknown> = {}
  const flow = flowOf('Talk', (_turn, step) => {
    kept = step.state
    kept.list = ['a']
    return reply('kept')
  })
  const { engine, start, stored, store, clock } = harness({ flows: [flow] })
  const session = await start('Talk')
  const before = await stored(session)
  ;(kept.list as string[]).push('b')
  kept.late = true
  expect(await stored(session)).toBe(before)
  // Nor while the store is still writing it.
  store.delayNext('save', 10)
  const running = engine.run({ flowName: 'Talk', userMessage: 'hello', sessionId: session })
  await clock.settle()
  kept.late = true
  held.open()
  await clock.advance(10)
  expect((await running).success).toBe(true)
  expect(await stored(session)).not.toContain('late')
})
