// The coverage of flows: what is counted, what is missed and said to be, and what cannot be known.
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import {
  End,
  EndStep,
  Flow,
  FlowEngine,
  finish,
  go,
  InvalidInputError,
  LogicStep,
  reply,
  Step,
  type StepConstructor,
  stay,
  ToolError,
  type Turn,
  tool,
} from '../../src/index.js'
import { Conversation } from '../conversation/conversation.js'
import { coverageOf } from './flow-coverage.js'

const Name = z.object({ name: z.string() })

class AskName extends Step<{ name?: string }> {
  static override readonly id: string = 'AskName'
  static override get next(): readonly (StepConstructor | string)[] {
    return [Confirm, Leave]
  }
  override tools() {
    return [
      tool({
        name: 'capture_name',
        description: 'Record the full name.',
        input: Name,
        execute: ({ name }) => {
          this.state.name = name
          return go(Confirm)
        },
      }),
      tool({ name: 'give_up', description: 'End it.', execute: () => go(Leave) }),
    ]
  }
}
class Confirm extends LogicStep {
  static override readonly id: string = 'Confirm'
  static override readonly next: readonly string[] = ['Done', 'AskName']
  override run(turn: Turn) {
    if (turn.entered) return reply('Is that right?')
    return turn.message === 'no' ? go(AskName).withReply('Again, please.') : finish('Thank you.')
  }
}
class Done extends EndStep {
  static override readonly id = 'Done'
}
class Leave extends EndStep {
  static override readonly id = 'Leave'
}
class Onboarding extends Flow {
  static override readonly id: string = 'Onboarding'
  override model() {
    return { provider: 'openai', name: 'gpt-5-mini' }
  }
  override tools() {
    return [tool({ name: 'call_human', description: 'Help.', execute: () => stay('Somebody comes.') })]
  }
  override steps(): StepConstructor[] {
    return [AskName, Confirm, Done, Leave]
  }
}

const capture = { toolCalls: [{ name: 'capture_name', input: { name: 'Ada' } }] }

/** The happy path, and nothing else. */
async function happyPath(coverage: ReturnType<typeof coverageOf>, flow = Onboarding): Promise<void> {
  await using conversation = new Conversation(flow, { onEngine: coverage.watch, script: ['Your name?', capture] })
  await conversation.say('Hello')
  await conversation.say('Ada')
  await conversation.restart()
  await conversation.say('yes')
  conversation.expectCompleted()
}

/** Everything that the happy path leaves out. */
async function otherPaths(coverage: ReturnType<typeof coverageOf>): Promise<void> {
  const script = [{ toolCalls: [{ name: 'call_human' }] }, 'And?', capture, { toolCalls: [{ name: 'give_up' }] }]
  await using conversation = new Conversation(Onboarding, { onEngine: coverage.watch, script })
  for (const text of ['help', 'Ada', 'no', 'bye']) await conversation.say(text)
  conversation.expectCompleted()
}

describe('a suite', () => {
  test('that reaches everything is complete, over several engines and conversations', async () => {
    const coverage = coverageOf(Onboarding)
    await happyPath(coverage)
    await otherPaths(coverage)
    coverage.expectFull()
    expect(coverage.text()).toMatchInlineSnapshot(`
      "Onboarding, 7 turns
        steps       2 of 2
        end steps   2 of 2
        tools       3 of 3
        transitions 4 of 4
        nothing is missing"
    `)
  })

  test('that leaves something out lists it', async () => {
    const coverage = coverageOf([Onboarding])
    await happyPath(coverage)
    expect(() => coverage.expectFull()).toThrowErrorMatchingInlineSnapshot(`
      [ExpectationError: The conversations did not reach everything: 4 gaps.

      Onboarding, 3 turns
        steps       2 of 2
        end steps   1 of 2
        tools       1 of 3
        transitions 2 of 4
        missing:
        - end step Leave: no conversation ended there
        - tool Onboarding.call_human: never called
        - tool AskName.give_up: never called
        - transition Confirm -> AskName: declared, and never seen

      Add a conversation that goes there, or leave it out by name: expectFull({ except: ['Leave'] }).]
    `)
  })

  test.each<readonly [unknown, string]>([
    [{ except: 'Leave' }, 'expectFull: except must be a list of names, as in { except: [\'Leave\'] }; got "Leave".'],
    [{ except: [Leave] }, "expectFull: except must be a list of names, as in { except: ['Leave'] }; got [null]."],
    [{ exept: ['Leave'] }, "expectFull: there is no option 'exept'. The options are except. Did you mean 'except'?"],
  ])('refuses %j as what may be missing', (options, text) => {
    expect(() => coverageOf(Onboarding).expectFull(options as never)).toThrow(new InvalidInputError({ message: text }))
  })

  test('that reaches nothing lists the steps, without their tools and moves', () => {
    expect(
      coverageOf(Onboarding)
        .report()
        .flows[0]?.gaps.map(({ name }) => name),
    ).toEqual(['AskName', 'Confirm', 'Done', 'Leave', 'Onboarding.call_human'])
  })

  test('may leave things out by name, as long as they are missing', async () => {
    const coverage = coverageOf([Onboarding])
    await happyPath(coverage)
    const except = ['Onboarding/Leave', 'AskName.give_up', 'Onboarding.call_human', 'Confirm -> AskName']
    coverage.expectFull({ except })
    expect(() => coverage.expectFull({ except: [...except, 'Confirm'] })).toThrowErrorMatchingInlineSnapshot(
      `[ExpectationError: Left out by name, and not missing: Confirm. Take it out of except.]`,
    )
  })

  test('is counted from the moment an engine is watched, and only once', async () => {
    const coverage = coverageOf(Onboarding)
    const engine = new FlowEngine({ flows: [Plain] })
    expect(coverage.watch(coverage.watch(engine))).toBe(engine)
    const plain = coverageOf(Plain)
    plain.watch(plain.watch(engine))
    await engine.run({ flowName: 'Plain', userMessage: 'Hello' })
    expect(plain.report().flows[0]?.steps).toEqual([
      { id: 'Greet', kind: 'logic', seen: 1 },
      { id: 'End', kind: 'end', seen: 0 },
    ])
    expect(coverage.report().flows[0]?.turns).toBe(0)
  })
})

describe('a report', () => {
  test('of another process is added', async () => {
    const [first, second, sum] = [coverageOf(Onboarding), coverageOf(Onboarding), coverageOf(Onboarding)]
    await happyPath(first)
    await otherPaths(second)
    sum.add(JSON.parse(JSON.stringify(first))).add(JSON.parse(JSON.stringify(second)))
    sum.add(coverageOf(Plain).report())
    sum.expectFull()
    expect(sum.report().flows[0]).toEqual({
      flow: 'Onboarding',
      turns: 7,
      steps: [
        { id: 'AskName', kind: 'model', next: ['Confirm', 'Leave'], seen: 3 },
        { id: 'Confirm', kind: 'logic', next: ['Done', 'AskName'], seen: 2 },
        { id: 'Done', kind: 'end', seen: 1 },
        { id: 'Leave', kind: 'end', seen: 1 },
      ],
      tools: [
        { step: null, name: 'call_human', calls: 1, succeeded: 1 },
        { step: 'AskName', name: 'capture_name', calls: 2, succeeded: 2 },
        { step: 'AskName', name: 'give_up', calls: 1, succeeded: 1 },
      ],
      transitions: [
        { from: 'AskName', to: 'Confirm', seen: 2, declared: true },
        { from: 'AskName', to: 'Leave', seen: 1, declared: true },
        { from: 'Confirm', to: 'Done', seen: 1, declared: true },
        { from: 'Confirm', to: 'AskName', seen: 1, declared: true },
      ],
      toolsNotKnown: [],
      gaps: [],
    })
  })

  test('sees a session go on in a step that it never saw entered', async () => {
    const coverage = coverageOf(Onboarding)
    await using conversation = new Conversation(Onboarding, { script: ['Your name?', 'Pardon?'] })
    await conversation.say('Hello')
    coverage.watch(conversation.engine)
    await conversation.say('Hm')
    expect(coverage.report().flows[0]?.steps[0]).toMatchObject({ id: 'AskName', kind: 'model', seen: 1 })
  })
})

class Greet extends LogicStep {
  static override readonly id: string = 'Greet'
  override run() {
    return reply('Hello.')
  }
}
class Plain extends Flow {
  static override readonly id: string = 'Plain'
  override steps(): StepConstructor[] {
    return [Greet]
  }
}

/** Its steps say one thing and do another. */
class Wrong extends Onboarding {
  static override readonly id: string = 'Wrong'
  override steps() {
    return [AsksWrongly, Confirm, Done, Leave]
  }
}
class AsksWrongly extends AskName {
  static override readonly id: string = 'AskName'
  static override get next(): readonly (StepConstructor | string)[] {
    return ['Confrim', Leave, End]
  }
  override tools(turn?: Turn) {
    // Depends on the turn: nobody can ask for these without one.
    return turn?.number === 1 ? [] : super.tools()
  }
}

describe('what a flow says of itself', () => {
  test('is held against it: a misspelled step, a move that is not declared, tools that only a turn can tell', async () => {
    const coverage = coverageOf(Wrong)
    await happyPath(coverage, Wrong)
    expect(() => coverage.expectFull()).toThrowErrorMatchingInlineSnapshot(`
      [ExpectationError: The conversations did not reach everything: 7 gaps.

      Wrong, 3 turns
        steps       2 of 2
        end steps   1 of 2
        tools       1 of 2
        transitions 1 of 5
        missing:
        - end step Leave: no conversation ended there
        - tool Wrong.call_human: never called
        - tools of AskName: not known, they depend on the turn; name them: coverageOf(..., { tools: { AskName: [...] } })
        - next of AskName: the flow has no step 'Confrim' (its steps: AskName, Confirm, Done, Leave, End)
        - transition AskName -> End: declared, and never seen
        - transition AskName -> Confirm: seen 1 time, and not in the next of AskName
        - transition Confirm -> AskName: declared, and never seen

      Add a conversation that goes there, or leave it out by name: expectFull({ except: ['Leave'] }).]
    `)
  })

  test('may be given, if only a turn knows them', async () => {
    const coverage = coverageOf(Wrong, { tools: { AskName: ['capture_name'], Wrong: [] } })
    await happyPath(coverage, Wrong)
    expect(coverage.report().flows[0]?.tools).toEqual([
      { step: 'AskName', name: 'capture_name', calls: 1, succeeded: 1 },
    ])
  })

  test('does not name a tool that is called nevertheless: it is listed too', async () => {
    const coverage = coverageOf(Wrong, { tools: { AskName: [] } })
    await happyPath(coverage, Wrong)
    expect(coverage.report().flows[0]?.tools).toContainEqual({
      step: 'AskName',
      name: 'capture_name',
      calls: 1,
      succeeded: 1,
    })
  })

  test('is not known if it is asynchronous and rejects', () => {
    class Slow extends Step {
      static override readonly id = 'Slow'
      override async tools(turn: Turn) {
        return turn.number > 1 ? [] : []
      }
    }
    class SlowFlow extends Plain {
      override steps() {
        return [Slow]
      }
    }
    const [flow] = coverageOf(SlowFlow, {}).report().flows
    expect(flow?.gaps.map(({ name }) => name)).toEqual(['Slow', 'End'])
  })

  test('does not count if every call is refused', async () => {
    class Refusing extends Step {
      static override readonly id = 'Refusing'
      override tools() {
        return [
          tool({
            name: 'refuse',
            description: 'No.',
            execute: () => {
              throw new ToolError('No.')
            },
          }),
        ]
      }
    }
    class RefusingFlow extends Onboarding {
      static override readonly id = 'RefusingFlow'
      override tools() {
        return []
      }
      override steps() {
        return [Refusing]
      }
    }
    const coverage = coverageOf(RefusingFlow)
    const script = [{ toolCalls: [{ name: 'refuse' }, { name: 'refuse' }] }, 'Sorry.']
    await using conversation = new Conversation(RefusingFlow, { onEngine: coverage.watch, script })
    await conversation.say('Hello')
    expect(() => coverage.expectFull({ except: ['End'] })).toThrowErrorMatchingInlineSnapshot(`
      [ExpectationError: The conversations did not reach everything: 1 gap.

      RefusingFlow, 1 turn
        steps       1 of 1
        end steps   0 of 1
        tools       0 of 1
        transitions none
        missing:
        - tool Refusing.refuse: called 2 times, and no call succeeded

      Add a conversation that goes there, or leave it out by name: expectFull({ except: ['Refusing.refuse'] }).]
    `)
  })

  test('may be assigned, as code compiled for older targets does, and is that of one class', () => {
    class Assigned extends Greet {}
    Assigned.next = ['Greet']
    expect([Assigned.next, Greet.next]).toEqual([['Greet'], undefined])
  })

  test('has one ID', () => {
    expect(() => coverageOf([Onboarding, Onboarding])).toThrow("coverageOf: two flows have the ID 'Onboarding'.")
  })

  test('refuses names that nothing has', () => {
    expect(() => coverageOf(Onboarding, { tool: {} } as object)).toThrow(
      "coverageOf: there is no option 'tool'. The options are tools. Did you mean 'tools'?",
    )
    expect(() => coverageOf(Onboarding, { tools: { AskNam: ['capture_name'] } })).toThrow(
      "coverageOf: tools names 'AskNam', and there is no such flow or step. There is Onboarding, AskName, Confirm, Done, Leave. Did you mean 'AskName'?",
    )
  })
})
