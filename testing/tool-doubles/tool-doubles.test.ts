import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { type ExecuteResult, Flow, FlowEngine, go, Step, type Tool, ToolError, tool } from '../../src/index.js'
import { scriptedProvider } from '../scripted-model/scripted-model.js'
import { ToolDoubles } from './tool-doubles.js'

const OrderNumber = z.object({ orderNumber: z.string().trim() })

function untouched(): never {
  throw new Error('The real tool was called.')
}
const refund = tool({ name: 'refund', description: 'Pays back.', execute: untouched })

class Desk extends Step<{ found?: boolean }> {
  static override readonly id = 'Desk'
  override async tools(): Promise<readonly Tool[]> {
    return [tool({ name: 'find_order', description: 'Finds.', input: OrderNumber, execute: untouched })]
  }
}
class Closing extends Step {
  static override readonly id = 'Closing'
}
class Support extends Flow {
  static override readonly id = 'Support'
  override model() {
    return { provider: 'scripted', name: 'any' }
  }
  override steps() {
    return [Desk, Closing]
  }
  override tools() {
    return [refund]
  }
}

/** One turn in which the model makes these calls and then says `Done.`. */
function run(doubles: ToolDoubles, ...calls: readonly { name: string; input?: { orderNumber: never } }[]) {
  const script = [...calls.map((call) => ({ toolCalls: [call] })), 'Done.']
  const provider = scriptedProvider(script)
  const engine = new FlowEngine({ flows: [doubles.replaceIn(Support)], providers: [provider] })
  const result: Promise<ExecuteResult> = engine.execute({ flowName: 'Support', userMessage: 'Hi' })
  return { result, provider, engine }
}
const findOrder = { name: 'find_order', input: { orderNumber: ' A-1 ' as never } }

/** The result of the model's last call. */
async function receivedBy(doubles: ToolDoubles, ...calls: readonly (typeof findOrder)[]): Promise<unknown> {
  const { result, provider } = run(doubles, ...calls)
  await result
  return provider.requests.at(-1)?.messages.at(-1)?.parts[0]
}

describe('a double', () => {
  test('replaces a tool of a step, with validated arguments, and is recorded', async () => {
    const doubles = new ToolDoubles({ find_order: { state: 'lost' } })
    expect(await receivedBy(doubles, findOrder)).toMatchObject({ output: { state: 'lost' } })
    expect(doubles.calls('find_order')).toEqual([
      { tool: 'find_order', args: { orderNumber: 'A-1' }, turn: 1, result: { state: 'lost' } },
    ])
    expect(doubles.calls()).toHaveLength(1)
    expect(doubles.calls('refund')).toEqual([])
    doubles.assertDone()
  })

  test('is not called with arguments that do not fit the schema of the tool', async () => {
    const doubles = new ToolDoubles({ find_order: 'never' })
    expect(await receivedBy(doubles, { name: 'find_order', input: { orderNumber: 7 as never } })).toMatchObject({
      isError: true,
      output: expect.stringContaining('Invalid arguments: orderNumber'),
    })
    expect(doubles.calls()).toEqual([])
  })

  test('replaces a tool of the flow; the other tools run themselves', async () => {
    const doubles = new ToolDoubles({ refund: null })
    expect((await run(doubles, { name: 'refund' }).result).response.message).toBe('Done.')
    expect((await run(doubles, findOrder).result).response.message).toBe('The real tool was called.')
  })

  test('may be a list: each result once, in order', async () => {
    const doubles = new ToolDoubles({ find_order: [new ToolError('Try later.'), [1, 2]] })
    expect(await receivedBy(doubles, findOrder, findOrder)).toMatchObject({ output: [1, 2] })
    expect(doubles.calls().map(({ error, result }) => error ?? result)).toEqual([new ToolError('Try later.'), [1, 2]])
    doubles.assertDone()
  })

  test('may be a function of the arguments, the turn and the call', async () => {
    const doubles = new ToolDoubles({
      find_order: async ({ orderNumber }: { orderNumber: string }, turn, call) => [
        orderNumber,
        turn.message,
        call.name,
      ],
    })
    expect(await receivedBy(doubles, findOrder)).toMatchObject({ output: ['A-1', 'Hi', 'find_order'] })
  })

  test('may move the conversation', async () => {
    const doubles = new ToolDoubles({ find_order: go('Closing') })
    const { result, engine } = run(doubles, findOrder)
    const { session } = (await result).response
    expect((await engine.getSession(session))?.flow.currentStep).toBe('Closing')
  })

  test('may fail the turn', async () => {
    const doubles = new ToolDoubles({ find_order: new Error('The database is down.') })
    expect((await run(doubles, findOrder).result).error).toMatchObject({
      code: 'TOOL_ERROR',
      message: 'The database is down.',
    })
    expect(doubles.calls()).toMatchObject([{ error: { message: 'The database is down.' } }])
  })
})

describe('the flow with doubles', () => {
  test('is the flow in all else: its name, its steps, their classes', async () => {
    const replaced = new ToolDoubles({}).replaceIn(Support)
    expect(replaced.id).toBe('Support')
    expect(new replaced()).toBeInstanceOf(Support)
    const [DeskClass] = new replaced().steps()
    expect(DeskClass?.id).toBe('Desk')
    const step = DeskClass === undefined ? undefined : new DeskClass()
    expect(step?.constructor).toBe(Desk)
    expect(new replaced().steps()[0]).toBe(new replaced().steps()[0])
  })

  test('leaves a faulty list of steps to the engine', async () => {
    class Broken extends Support {
      override steps() {
        return [undefined] as never
      }
    }
    const engine = new FlowEngine({ flows: [new ToolDoubles({}).replaceIn(Broken)], providers: [scriptedProvider([])] })
    const { response } = await engine.run({ flowName: 'Support', userMessage: 'Hi' }).then((r) => ({ response: r }))
    expect(response.message).toBe(
      "Flow 'Support': steps() must list step classes; got undefined. Extend Step, LogicStep or EndStep.",
    )
  })
})

describe('assertDone', () => {
  test('reports a name that no step offers, with the names they offer', async () => {
    const doubles = new ToolDoubles({ find_ordr: 1, refund: 2 })
    await run(doubles).result
    expect(() => doubles.assertDone()).toThrowErrorMatchingInlineSnapshot(`
      [ExpectationError: No step offered a tool with the name of a double: find_ordr.
        tools offered: refund, find_order
      Correct the name, or have the conversation reach the step that offers it.]
    `)
    expect(doubles.notOffered).toEqual(['find_ordr'])
  })

  test('reports a call that found no result', async () => {
    const doubles = new ToolDoubles({ find_order: [{ state: 'sent' }] })
    const { error } = await run(doubles, findOrder, findOrder).result
    expect(error?.code).toBe('TOOL_ERROR')
    expect(() => doubles.assertDone()).toThrowErrorMatchingInlineSnapshot(`
      [ExpectationError: The double of 'find_order' was called once more than it has results: turn 1, with {"orderNumber":"A-1"}.
        results: {"state":"sent"}
      Add a result, or find out why the model calls it again.]
    `)
    expect(doubles.complaint).toBe(error?.cause)
  })

  test('reports results that are left', async () => {
    const doubles = new ToolDoubles({ find_order: ['one', () => 'two', 'three'] })
    await run(doubles, findOrder).result
    expect(() => doubles.assertDone()).toThrowErrorMatchingInlineSnapshot(
      `[ExpectationError: The results of the double of 'find_order' were not used up: 2 results of 3 left; the next is a function.]`,
    )
  })
})

test('a fork continues with the remaining results', async () => {
  const doubles = new ToolDoubles({ find_order: ['one', 'two'], refund: 'always' })
  await run(doubles, findOrder).result
  const fork = doubles.fork()
  expect(fork.notOffered).toEqual([])
  expect(() => fork.assertDone()).toThrow('\'find_order\' were not used up: 1 result of 2 left; the next is "two".')
  expect(await receivedBy(fork, findOrder)).toMatchObject({ output: 'two' })
  expect(fork.calls()).toHaveLength(1)
  fork.assertDone()
})
