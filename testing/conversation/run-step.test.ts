// Steps and tools alone.
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import {
  EndStep,
  finish,
  go,
  LogicStep,
  reply,
  retry,
  Step,
  stay,
  type Tool,
  ToolError,
  type Turn,
  tool,
} from '../../src/index.js'
import { AskName, Confirm } from '../contract/onboarding.js'
import { VirtualClock } from '../virtual-clock/virtual-clock.js'
import { callTool, runStep } from './run-step.js'

class Hub extends LogicStep<{ visits: number }> {
  static override readonly id = 'Hub'
  override initialState() {
    return { visits: 0 }
  }
  override run(turn: Turn) {
    this.state.visits++
    if (turn.entered) return reply('Where to?')
    if (turn.message === 'ask') return go(AskName).withState({ name: 'Ada' })
    if (turn.message === 'later') return go('AskName').withReply('Later.')
    if (turn.message === 'again') return go(Hub).withReply('Again.')
    if (turn.message === 'end') return finish('Bye.')
    if (turn.message === 'photo') return reply(String(turn.attachments.length))
    if (turn.message === 'name') return reply(turn.stateOf(AskName).name ?? 'none')
    if (turn.message === 'bug') throw new Error('a bug')
    return undefined as never
  }
}

describe('runStep', () => {
  test('enters a step without a message', async () => {
    expect(await runStep(Hub)).toMatchObject({
      reply: 'Where to?',
      next: undefined,
      state: { visits: 1 },
      toolCalls: [],
    })
  })

  test('goes on in it with one', async () => {
    const photo = { type: 'image', mediaType: 'image/png', data: 'AAAA' } as const
    const { reply, state } = await runStep(Hub, { message: 'photo', attachments: [photo], state: { visits: 3 } })
    expect([reply, state]).toEqual(['1', { visits: 4 }])
  })

  test('does not run the step that it moves to, and shows what that one would find', async () => {
    const { reply, next, document } = await runStep(Hub, { message: 'ask' })
    expect([reply, next]).toEqual(['', 'AskName'])
    expect(document.flow).toMatchObject({
      currentStep: 'AskName',
      steps: { Hub: { state: { visits: 1 } }, AskName: { state: { name: 'Ada' } } },
      sequence: [{ step: 'Hub' }, { step: 'AskName' }],
    })
    expect(document.history).toMatchObject([{ message: 'ask', reply: '', step: 'AskName' }])
    expect(document.flow.steps).not.toHaveProperty('Elsewhere')
  })

  test('keeps the state of the step that it moves to', async () => {
    const moved = async (message: string) =>
      (await runStep(Hub, { message, stateOf: [[AskName, { name: 'Bob', tries: [1] }]] })).document.flow.steps
    expect((await moved('later')).AskName?.state).toEqual({ name: 'Bob', tries: [1] })
    expect((await moved('ask')).AskName?.state).toEqual({ name: 'Ada', tries: [1] })
    const { document } = await callTool(
      'capture_name',
      { name: 'Ada Lovelace' },
      { step: AskName, stateOf: [[Confirm, { sure: true }]] },
    )
    expect(document.flow.steps.Confirm?.state).toEqual({ sure: true })
  })

  test('has the reply of a move, and knows a move to itself and the end', async () => {
    expect(await runStep(Hub, { message: 'later' })).toMatchObject({ reply: 'Later.', next: 'AskName' })
    expect(await runStep(Hub, { message: 'again' })).toMatchObject({ reply: 'Again.', next: undefined })
    expect(await runStep(Hub, { message: 'end' })).toMatchObject({ reply: 'Bye.', next: 'End' })
  })

  test('reads the states of other steps', async () => {
    expect((await runStep(Hub, { message: 'name', stateOf: [[AskName, { name: 'Ada' }]] })).reply).toBe('Ada')
    expect((await runStep(Confirm, { stateOf: [[AskName, { name: 'Ada' }]] })).reply).toBe('Thank you, Ada.')
    await expect(runStep(Hub, { message: 'name' })).rejects.toThrow(
      "failed with FLOW_ERROR: runStep was given no state of step 'AskName'. Give it one: { stateOf: [[AskName, { ... }]] }.\n  at Hub.run",
    )
    await expect(runStep(Hub, { message: 'name' })).rejects.not.toThrow('Add it to steps()')
  })

  test('asks the model of a model step by the script, and runs its tools', async () => {
    const { toolCalls, next, state } = await runStep(AskName, {
      message: 'Ada',
      history: [['Hello', 'Your name?']],
      script: [
        { toolCalls: [{ name: 'capture_name', input: { name: 'Ada' } }] },
        ({ messages }) => {
          expect(messages).toHaveLength(5)
          return { toolCalls: [{ name: 'capture_name', input: { name: 'Ada Lovelace' } }] }
        },
      ],
    })
    expect(toolCalls).toMatchObject([{ output: 'First and last name, please.' }, { output: 'Done.' }])
    expect([next, state]).toEqual(['Confirm', { name: 'Ada Lovelace' }])
  })

  test('answers for its tools by doubles, also where a tool is an object of a class', async () => {
    const script = [{ toolCalls: [{ name: 'capture_name', input: { name: 'Ada Lovelace' } }] }, 'Thank you.']
    const double = await runStep(AskName, { message: 'Ada', tools: { capture_name: { ok: true } }, script })
    expect(double).toMatchObject({ reply: 'Thank you.', next: undefined, toolCalls: [{ output: { ok: true } }] })
    class Look implements Tool {
      readonly name = 'look'
      readonly input = undefined
      readonly inputSchema = { type: 'object', properties: {} }
      get description() {
        return 'Looks.'
      }
      execute() {
        return go(Hub)
      }
    }
    class Looking extends Step {
      static override readonly id = 'Looking'
      override tools() {
        return [new Look()]
      }
    }
    const look = [{ toolCalls: [{ name: 'look' }] }]
    expect(await runStep(Looking, { message: 'a', script: look })).toMatchObject({ next: 'Hub' })
    const move = { message: 'a', script: look, tools: { look: () => go(AskName) } }
    expect(await runStep(Looking, move)).toMatchObject({ next: 'AskName' })
    const listed = { ...move, tools: { look: [go('Later')] } }
    expect(await runStep(Looking, listed)).toMatchObject({ next: 'Later' })
  })

  test('notes the moves of every hook', async () => {
    class Answers extends Step {
      static override readonly id: string = 'Answers'
      override onReply(text: string) {
        if (text === 'shorter') return retry('Longer, please.')
        return text === 'move' ? go(Hub) : text
      }
      override onModelError() {
        return go('Error')
      }
      override onModelBlocked() {
        return go('Blocked').withReply('Sorry.')
      }
    }
    class Skipped extends Answers {
      static override readonly id = 'Skipped'
      override onEnter() {
        return go('Entered')
      }
    }
    const script = ['shorter', 'move']
    expect(await runStep(Answers, { message: 'a', script })).toMatchObject({ next: 'Hub', reply: '' })
    expect(await runStep(Answers, { message: 'a', script: [new Error('no')] })).toMatchObject({ next: 'Error' })
    expect(await runStep(Answers, { message: 'a', script: [{ refusal: 'no' }] })).toMatchObject({ next: 'Blocked' })
    expect(await runStep(Skipped)).toMatchObject({ next: 'Entered', reply: '' })
  })

  test('runs a closing step', async () => {
    class Bye extends EndStep {
      static override readonly id = 'Bye'
      override message() {
        return 'Bye.'
      }
    }
    expect(await runStep(Bye)).toMatchObject({ reply: 'Bye.', next: undefined })
  })

  test('fails as the engine does, with the line of the step and the transcript', async () => {
    const failure = String(await runStep(Hub, { message: 'bug' }).catch((error: unknown) => error))
    expect(failure).toMatch(/^ExpectationError: The turn "bug" failed with FLOW_ERROR: a bug\n {2}at Hub.run \(/)
    expect(failure).toContain('\n\nThe conversation so far:\n\n# runStep(Hub)\n')
    await expect(runStep(Hub, { message: 'nothing' })).rejects.toThrow("Step 'Hub' returned nothing from run().")
  })

  test('fails for a script that does not fit', async () => {
    await expect(runStep(AskName, { message: 'a', script: ['b', 'c'] })).rejects.toThrow('"c"')
    await expect(runStep(AskName, { message: 'a' })).rejects.toThrow('script')
  })

  test('refuses what the flow would not store', async () => {
    await expect(runStep(AskName, { state: { name: 1n as never } })).rejects.toThrow(
      "runStep: the state of step 'AskName' must be plain JSON, but state.name is a bigint, which JSON cannot carry.",
    )
  })
})

describe('callTool', () => {
  const Order = z.object({ order: z.string() })
  const findOrder = tool({
    name: 'find_order',
    description: 'Finds an order.',
    input: Order,
    execute: ({ order }, turn) => {
      if (order === 'none') throw new ToolError('There is none.')
      if (order === 'bug') throw new Error('a bug')
      if (order === 'function') return { run: () => 1 }
      if (order === 'move') return go(Confirm).withReply('Moved.')
      if (order === 'stay') return stay('Which one?')
      if (order === 'hub') return turn.stateOf(Hub).visits
      return { order, said: turn.message }
    },
  })

  test('has the result that the model receives', async () => {
    expect(await callTool(findOrder, { order: 'A-1' }, { message: 'Where is it?' })).toMatchObject({
      output: { order: 'A-1', said: 'Where is it?' },
      isError: false,
      reply: undefined,
      next: undefined,
    })
  })

  test('has the arguments and the result checked by the engine', async () => {
    expect(await callTool(findOrder, { order: 1 })).toMatchObject({
      isError: true,
      output: expect.stringContaining('Invalid arguments: order'),
    })
    expect(await callTool(findOrder, { order: 'none' })).toMatchObject({ isError: true, output: 'There is none.' })
    await expect(callTool(findOrder, { order: 'bug' })).rejects.toThrow(/failed with TOOL_ERROR: a bug\n {2}at /)
    await expect(callTool(findOrder, { order: 'function' })).rejects.toThrow('returned what cannot be stored')
  })

  test('does not run the step that the tool moves to', async () => {
    const { output, reply, next } = await callTool(findOrder, { order: 'move' })
    expect([output, reply, next]).toEqual(['Done.', 'Moved.', 'Confirm'])
    expect(await callTool(findOrder, { order: 'stay' })).toMatchObject({ output: 'Which one?', next: undefined })
  })

  test('calls the tool of a step by its name, with the state of the step', async () => {
    const { next, state, document } = await callTool('capture_name', { name: 'Ada Lovelace' }, { step: AskName })
    expect([next, state]).toEqual(['Confirm', { name: 'Ada Lovelace' }])
    expect(document.flow.steps.AskName?.state).toEqual(state)
    const kept = await callTool('capture_name', { name: 'Ada' }, { step: AskName, state: { tries: [1] } })
    expect(kept).toMatchObject({ output: 'First and last name, please.', state: { tries: [1] }, next: undefined })
  })

  test('is in the step that offers the tool, with its state and the schema of that', async () => {
    class Counting extends Step<{ calls: number }> {
      static override readonly id = 'Counting'
      static override readonly stateSchema = z.object({ calls: z.number() })
      override initialState() {
        return { calls: 0 }
      }
      override tools() {
        const execute = (_args: unknown, turn: Turn) => {
          this.state = { calls: this.state.calls + 1 }
          turn.stateOf(Counting).calls++
          return go(Counting)
        }
        return [tool({ name: 'count', description: 'Counts.', execute })]
      }
      override prompt(): string {
        throw new Error('only the tool runs')
      }
    }
    const { state, next, document } = await callTool('count', {}, { step: Counting })
    expect([state, next]).toEqual([{ calls: 2 }, undefined])
    expect(document.flow).toMatchObject({ currentStep: 'Counting', steps: { Counting: { state: { calls: 2 } } } })
    const calls = 'many' as unknown as number
    await expect(callTool('count', {}, { step: Counting, state: { calls } })).rejects.toThrow("step 'Counting'")
  })

  test('gives the tool the states of other steps', async () => {
    expect((await callTool(findOrder, { order: 'hub' }, { stateOf: [[Hub, { visits: 2 }]] })).output).toBe(2)
  })

  test('keeps the time that the step gives to its tools', async () => {
    class Slow extends Step {
      static override readonly id = 'Slow'
      override readonly toolTimeoutMs = 1000
      override tools() {
        return [tool({ name: 'wait', description: 'Waits.', execute: () => new Promise(() => undefined) })]
      }
    }
    const clock = new VirtualClock()
    const called = callTool('wait', {}, { step: Slow, clock })
    await expect(clock.runUntil(called, { withinMs: 1000 })).rejects.toThrow(/toolTimeoutMs of tool 'wait' \(1000\)/)
  })

  test('names the tools of a step that has another', async () => {
    const failure = await callTool('other', {}, { step: AskName }).catch((error: unknown) => error)
    expect((failure as Error).message).toBe(
      "callTool: step 'AskName' does not offer a tool 'other'. Its tools: capture_name.",
    )
    await expect(callTool('other', {})).rejects.toThrow(
      "callTool('other') needs the step that offers the tool: { step }.",
    )
  })

  test('says which tool failed, and which step', async () => {
    class Buggy extends LogicStep {
      static override readonly id = 'Buggy'
      override run(): never {
        throw new Error('out of paper')
      }
    }
    class Printing extends AskName {
      override tools() {
        const execute = (): never => new Buggy().run()
        return [tool({ name: 'print', description: 'Prints.', execute })] as never
      }
    }
    await expect(callTool('print', {}, { step: Printing })).rejects.toThrow(
      /^Tool 'print' of step 'AskName' failed with TOOL_ERROR: out of paper\n.*\nWhere: flow 'callTool\(print\)', step 'AskName', turn 1\n/s,
    )
    await expect(runStep(Buggy)).rejects.toThrow(/^Step 'Buggy' failed with FLOW_ERROR: out of paper\n/)
    await expect(runStep(Buggy, { message: 'Go' })).rejects.toThrow(/^The turn "Go" failed with FLOW_ERROR/)
  })
})

test('a step or a tool that hangs is named in the place of the failure', async () => {
  class Idle extends Step {
    static override readonly id = 'Idle'
    override prompt(): Promise<string> {
      return new Promise(() => undefined)
    }
    override tools() {
      return [tool({ name: 'wait', description: 'Waits.', execute: () => new Promise(() => undefined) })]
    }
  }
  const where = async (hanging: Promise<unknown>): Promise<unknown> => {
    const error: Error = await hanging.then(
      () => new Error('nothing failed'),
      (reason) => reason,
    )
    return /^Where: (.*)$/m.exec(error.message)?.[1]
  }
  const hangAfterMs = 40
  const idle = "flow 'runStep(Idle)', step 'Idle', turn 1"
  expect(await where(runStep(Idle, { hangAfterMs, message: 'Hello' }))).toBe(idle)
  expect(await where(runStep(Idle, { hangAfterMs }))).toBe(idle)
  const calling = callTool('wait', {}, { step: Idle, hangAfterMs })
  expect(await where(calling)).toBe("flow 'callTool(wait)', step 'Idle', turn 1")
})
