import { describe, expect, test } from 'vitest'
import { flowOf, place, TestFlow } from '../../../../testing/contract/test-flows.js'
import { Conversation } from '../../../../testing/index.js'
import { BaseStep } from '../../../flow/base-step.js'
import { End, EndStep, go, LogicStep, reply, type StepConstructor } from '../../../index.js'

const Start = place('Start')

/** A step class under an ID that TypeScript might not allow. */
function named(id: unknown, aliases: readonly string[] = []): StepConstructor {
  const Named = place('unnamed')
  Object.defineProperty(Named, 'id', { value: id })
  Object.defineProperty(Named, 'aliases', { value: aliases })
  return Named
}

/** A step class with something in place of a schema. */
function withSchema(stateSchema: unknown): StepConstructor {
  return Object.defineProperty(place('Start'), 'stateSchema', { value: stateSchema })
}

describe('a flow is refused before any session is touched', () => {
  const refused: Readonly<Record<string, readonly [unknown, string]>> = {
    'without steps': [[], "Flow 'Test' must return at least one step class from steps()."],
    'with no list of steps': [undefined, "Flow 'Test' must return at least one step class from steps()."],
    'with an object in place of a class': [
      [Start, new Start()],
      "Flow 'Test': steps() must list step classes; got an object. Extend Step, LogicStep or EndStep.",
    ],
    'with an arrow function in place of a class': [
      [() => new Start()],
      "Flow 'Test': steps() must list step classes; got a function without a name. Extend Step, LogicStep or EndStep.",
    ],
    'with a class that is not a step': [
      [class Start {}],
      "Flow 'Test': steps() must list step classes; got the class 'Start'. Extend Step, LogicStep or EndStep.",
    ],
    'with a step of no kind': [
      [class Odd extends BaseStep {}],
      "Flow 'Test': steps() must list step classes; got the class 'Odd'. Extend Step, LogicStep or EndStep.",
    ],
    'with a logic step without run': [
      [class Idle extends (LogicStep as unknown as new () => End) {}],
      "Flow 'Test', step 'Idle': a LogicStep must have a method run(turn) that returns a transition; run is undefined.",
    ],
    'with two steps of one ID': [
      [Start, place('Start')],
      "Flow 'Test' has two steps with the ID or alias 'Start'. Give each a static id.",
    ],
    'with a step listed twice': [
      [Start, Start],
      "Flow 'Test' has two steps with the ID or alias 'Start'. Give each a static id.",
    ],
    'with a class that inherits the ID of another': [
      [Start, class Later extends Start {}],
      "Flow 'Test' has two steps with the ID or alias 'Start'. Give each a static id.",
    ],
    'with a blank ID': [[named(' ')], "Flow 'Test' has a step whose ID is blank. Give it a static id."],
    'with a class without a name': [
      [Start, class extends EndStep {}],
      "Flow 'Test' has a step whose ID is blank. Give it a static id.",
    ],
    'with an ID that is not a string': [[named(7)], "Flow 'Test' has a step whose ID is blank. Give it a static id."],
    'with the ID __proto__': [
      [named('__proto__')],
      "Flow 'Test' has a step with the ID '__proto__', which is reserved.",
    ],
    'with a step of its own called End': [
      [Start, named('End')],
      "Flow 'Test' has a step with the ID 'End', which is reserved.",
    ],
    'with a class that inherits the ID End': [
      [Start, class Bye extends End {}],
      "Flow 'Test' has a step with the ID 'End', which is reserved.",
    ],
    "with a step whose alias is another's ID": [
      [Start, named('Later', ['Start'])],
      "Flow 'Test' has two steps with the ID or alias 'Start'. Give each a static id.",
    ],
    'with a step whose alias is End': [
      [named('Start', ['End'])],
      "Flow 'Test' has two steps with the ID or alias 'End'. Give each a static id.",
    ],
    'with a text as the aliases of a step, which would be one alias for each letter': [
      [named('Start', 'Old' as never)],
      "Flow 'Test', step 'Start': static aliases must be a list of former IDs; got the text 'Old'.",
    ],
    'with an alias that is not an ID': [
      [named('Start', ['Old', ''])],
      "Flow 'Test', step 'Start': static aliases must be a list of former IDs; got a list with the text ''.",
    ],
    'with a stateSchema that is not one': [
      [withSchema({ parse: () => ({}) })],
      "Flow 'Test', step 'Start': static stateSchema must be a Standard Schema (Zod, Valibot, ArkType); got an object.",
    ],
    'with null as stateSchema': [
      [withSchema(null)],
      "Flow 'Test', step 'Start': static stateSchema must be a Standard Schema (Zod, Valibot, ArkType); got null.",
    ],
  }

  test.each(Object.keys(refused))('%s', async (name) => {
    const [steps, message] = refused[name] as (typeof refused)[string]
    class Refused extends TestFlow {
      override steps() {
        return steps as readonly StepConstructor[]
      }
    }
    await using conversation = new Conversation(Refused)
    await conversation.say('Hi', { sessionId: 'an-id' })
    conversation.expectError('FLOW_REGISTRATION', message)
    // Only for the state of the session.
    expect(conversation.store.operations).toEqual(['load'])
  })

  test('with two steps that both take over one former ID', async () => {
    await using conversation = new Conversation(flowOf(named('Left', ['Old']), named('Right', ['Old'])))
    await conversation.say('Hi')
    conversation.expectError(
      'FLOW_REGISTRATION',
      "Flow 'Test' has two steps with the ID or alias 'Old'. Give each a static id.",
    )
  })

  test('with a first step that it does not have', async () => {
    class Lost extends flowOf(Start) {
      override initialStep() {
        return 'Nowhere'
      }
    }
    await using conversation = new Conversation(Lost)
    await conversation.say('Hi')
    conversation.expectError(
      'FLOW_ERROR',
      "Flow 'Test' has no step 'Nowhere'. Its steps: Start, End. Add it to steps().",
    )
    expect(conversation.store.operations).toEqual([])
  })
})

describe('the first step', () => {
  const Second = place('Second')

  test.each([
    ['the first of steps()', undefined, 'At Start.'],
    ['a class', Second, 'At Second.'],
    ['an ID', 'Second', 'At Second.'],
  ])('is what initialStep() says: %s', async (_what, initial, text) => {
    class Starting extends flowOf(Start, Second) {
      override initialStep() {
        return initial
      }
    }
    await using conversation = new Conversation(Starting)
    await conversation.say('Hi')
    conversation.expectReply(text)
  })
})

describe('the steps of a turn', () => {
  test('may have the IDs of anything that objects have', async () => {
    class Odd extends LogicStep<{ count?: number }> {
      static override readonly id = 'constructor'
      override run() {
        this.state.count = (this.state.count ?? 0) + 1
        return reply(`${this.state.count}`)
      }
    }
    await using conversation = new Conversation(flowOf(Odd))
    await conversation.say('a')
    conversation.expectReply('1')
    await conversation.say('b')
    conversation.expectReply('2')
    expect((await conversation.document()).flow.steps).toEqual({ constructor: { state: { count: 2 } } })
  })

  test('are made anew for each turn: what a step keeps in a field is gone', async () => {
    class Counting extends LogicStep {
      static override readonly id = 'Counting'
      count = 0
      override run() {
        return reply(`${++this.count}`)
      }
    }
    await using conversation = new Conversation(flowOf(Counting))
    await conversation.say('a')
    conversation.expectReply('1')
    await conversation.say('b')
    conversation.expectReply('1')
  })

  test('are one object each within a turn, also when entered again', async () => {
    class Counting extends LogicStep {
      static override readonly id = 'Counting'
      count = 0
      override run() {
        return ++this.count < 3 ? go('Counting') : reply(`${this.count}`)
      }
    }
    await using conversation = new Conversation(flowOf(Counting))
    await conversation.say('a')
    conversation.expectReply('3')
  })

  test('may differ from turn to turn', async () => {
    let open = true
    class Changing extends TestFlow {
      override steps() {
        return open ? [Start] : [place('Closed')]
      }
    }
    await using conversation = new Conversation(Changing)
    await conversation.say('Hi')
    open = false
    await conversation.say('Hi')
    conversation.expectError(
      'SESSION_FLOW_INVARIANT',
      `Session '${conversation.sessionId}' is malformed: its current step is 'Start', and the steps of its flow are Closed, End (former IDs belong into static aliases).`,
    )
  })
})
