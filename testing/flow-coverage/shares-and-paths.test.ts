// Thresholds of coverage, its table and flowchart, the reports of several processes, and the shortest way to each step.
import { describe, expect, test } from 'vitest'
import {
  EndStep,
  Flow,
  finish,
  go,
  LogicStep,
  reply,
  Step,
  type StepConstructor,
  stay,
  type Turn,
  tool,
} from '../../src/index.js'
import { retryAs } from '../conversation/client.js'
import { Conversation } from '../conversation/conversation.js'
import { keepFewest, noCounts } from './coverage-counts.js'
import { coverageOf } from './flow-coverage.js'
import { lastReports, mergeReports } from './merge-reports.js'
import { pathsOf } from './step-paths.js'

class AskSize extends LogicStep<{ size?: string }> {
  static override readonly id = 'AskSize'
  static override get next(): readonly StepConstructor[] {
    return [Confirm]
  }
  override run(turn: Turn) {
    if (turn.entered) return reply('Which size?')
    this.state.size = turn.message
    return go(Confirm)
  }
}
class Confirm extends LogicStep {
  static override readonly id = 'Confirm'
  static override readonly next = ['AskSize', 'Help', 'Done']
  override run(turn: Turn) {
    if (turn.entered) return reply('Shall I order it?')
    if (turn.message === 'no') return go(AskSize)
    return turn.message === 'help' ? go(Help) : finish('Ordered.')
  }
}
class Help extends Step {
  static override readonly id = 'Help'
  static override readonly next = ['Done', 'Cancelled']
  override tools() {
    return [tool({ name: 'call_human', description: 'Calls somebody.', execute: () => stay('Somebody comes.') })]
  }
}
class Done extends EndStep {
  static override readonly id = 'Done'
}
class Cancelled extends EndStep {
  static override readonly id = 'Cancelled'
}
class Forgotten extends LogicStep {
  static override readonly id = 'Forgotten'
  override run() {
    return finish()
  }
}
class Order extends Flow {
  static override readonly id: string = 'Order'
  override model() {
    return { provider: 'openai', name: 'gpt-5-mini' }
  }
  override steps(): StepConstructor[] {
    return [AskSize, Confirm, Help, Done, Cancelled, Forgotten]
  }
}

async function talk(coverage: ReturnType<typeof coverageOf>, messages: readonly string[]): Promise<void> {
  await using conversation = new Conversation(Order, { coverage })
  for (const message of messages) await conversation.say(message)
}

async function someCoverage(): Promise<ReturnType<typeof coverageOf>> {
  const coverage = coverageOf(Order)
  await talk(coverage, ['Hello', 'large', 'no', 'small', 'yes'])
  await talk(coverage, ['Hello', 'large', 'yes'])
  return coverage
}

describe('thresholds', () => {
  test('hold where as much was reached, and say what was missing where less was', async () => {
    const coverage = await someCoverage()
    coverage.expectAtLeast({ steps: 50, transitions: 50 })
    expect(() =>
      coverage.expectAtLeast({ steps: 51, transitions: 80, tools: 100 }),
    ).toThrowErrorMatchingInlineSnapshot(`
      [ExpectationError: The conversations reached less than they should:

      - Order: 3 of 6 steps (50 %), and the threshold is 51 %
      - Order: 0 of 1 tools (0 %), and the threshold is 100 %
      - Order: 3 of 6 transitions (50 %), and the threshold is 80 %

      Order, 8 turns
        steps       2 of 4
        end steps   1 of 2
        tools       0 of 1
        transitions 3 of 6
        missing:
        - step Help: never reached
        - end step Cancelled: no conversation ended there
        - step Forgotten: never reached]
    `)
  })

  test('are percentages of what has a threshold', () => {
    const coverage = coverageOf(Order)
    expect(() => coverage.expectAtLeast({ steps: 101 })).toThrowErrorMatchingInlineSnapshot(
      `[InvalidInputError: The coverage threshold of steps is 101: expected a percentage from 0 to 100.]`,
    )
    expect(() => coverage.expectAtLeast({ steps: Number.NaN })).toThrowError('from 0 to 100')
    expect(() => coverage.expectAtLeast(90 as unknown as object)).toThrowErrorMatchingInlineSnapshot(
      `[InvalidInputError: The coverage thresholds are 90: expected an object, as in { steps: 90 }.]`,
    )
    expect(() => coverage.expectAtLeast(null as unknown as object)).toThrowError('The coverage thresholds are null')
    expect(() => coverage.expectAtLeast({ steps: null } as object)).toThrowError('of steps is null: expected')
    expect(() => coverage.expectAtLeast({ steps: '90' } as object)).toThrowError("of steps is the text '90': expected")
    expect(() => coverage.expectAtLeast({ step: 90 } as object)).toThrowErrorMatchingInlineSnapshot(
      `[InvalidInputError: A coverage threshold is called 'step': expected one of steps, tools, transitions.]`,
    )
    expect(() => coverage.expectAtLeast('90' as unknown as object)).toThrowError("thresholds are the text '90'")
  })

  test.each([
    [0.9, 90],
    [0.07, 7],
    [0.833, 83.3],
    [1, 100],
  ])('are not fractions: %d', (fraction, meant) => {
    expect(() => coverageOf(Order).expectAtLeast({ tools: fraction })).toThrowError(
      `The coverage threshold of tools is ${fraction}, which means ${fraction} %: expected 0, or a percentage above 1. Did you mean ${meant}?`,
    )
  })

  test.each([{}, { steps: undefined }])('check something: %j', (empty) => {
    expect(() => coverageOf(Order).expectAtLeast(empty as object)).toThrowError(
      'The coverage thresholds are empty, so they check nothing: expected one of steps, tools, transitions, as in { steps: 90 }.',
    )
  })

  test('hold for what a flow has none of', () => {
    class Plain extends Flow {
      static override readonly id = 'Plain'
      override steps() {
        return [Forgotten]
      }
    }
    coverageOf(Plain).expectAtLeast({ tools: 100, transitions: 0 })
    expect(() => coverageOf(Plain).expectAtLeast({ steps: 2 })).toThrowError('0 of 2 steps (0 %)')
  })

  test('of transitions need a step that declares them', () => {
    class Undeclared extends Flow {
      static override readonly id: string = 'Undeclared'
      override steps(): StepConstructor[] {
        return [Forgotten]
      }
    }
    class Alone extends Forgotten {
      static override readonly next = []
    }
    class Declared extends Undeclared {
      static override readonly id = 'Declared'
      override steps() {
        return [Alone]
      }
    }
    expect(() => coverageOf([Undeclared, Declared]).expectAtLeast({ transitions: 2 })).toThrowError(
      'less than they should:\n\n- Undeclared: no step has a static next, and the threshold of transitions is 2 %\n\n',
    )
    coverageOf(Declared).expectAtLeast({ transitions: 100 })
  })

  test('and everything else need a flow', () => {
    expect(() => coverageOf([])).toThrowErrorMatchingInlineSnapshot(
      `[InvalidInputError: coverageOf got no flow: there would be nothing to reach.]`,
    )
  })

  test('of tools do not hold where the tools of a reached step are not known', async () => {
    class Guarded extends LogicStep {
      static override readonly id = 'Guarded'
      override run() {
        return go(Unlock)
      }
    }
    class Unlock extends Step {
      static override readonly id = 'Unlock'
      override tools(turn: Turn) {
        return turn.message === '' ? [] : [tool({ name: 'unlock', description: 'Unlocks.', execute: () => stay() })]
      }
    }
    class Guards extends Order {
      static override readonly id = 'Guards'
      override steps() {
        return [Guarded, Unlock]
      }
    }
    const coverage = coverageOf(Guards)
    coverage.expectAtLeast({ tools: 100 })
    await using conversation = new Conversation(Guards, { coverage, script: ['It is locked.'] })
    await conversation.say('Hello')
    coverage.expectAtLeast({ steps: 60, tools: 0 })
    expect(() => coverage.expectAtLeast({ tools: 2 })).toThrowError(
      '- Guards: tools of Unlock: not known, they depend on the turn; name them: coverageOf(..., { tools: { Unlock: [...] } })',
    )
  })

  test('never round up to all', () => {
    const coverage = coverageOf(Order).add({
      flows: [
        {
          flow: 'Order',
          turns: 1,
          steps: ['AskSize', 'Confirm', 'Help', 'Done', 'Cancelled'].map((id) => ({ id, kind: 'logic', seen: 1 })),
          tools: [],
          transitions: [],
          toolsNotKnown: [],
          gaps: [],
        },
      ],
    })
    expect(coverage.table()).toContain('5 of 6, 83 %')
    expect(() => coverage.expectAtLeast({ steps: 83.5 })).toThrowError('the threshold is 83.5 %')
  })
})

test('a table has a line for each flow', async () => {
  const coverage = await someCoverage()
  expect(`\n${coverage.table()}`).toMatchInlineSnapshot(`
    "
    | flow  | turns | steps        | tools       | transitions  | gaps |
    | ----- | ----- | ------------ | ----------- | ------------ | ---- |
    | Order | 8     | 3 of 6, 50 % | 0 of 1, 0 % | 3 of 6, 50 % | 3    |"
  `)
})

test('a flowchart shows what was taken how often, and what never', async () => {
  const coverage = await someCoverage()
  expect(`\n${coverage.mermaid()}`).toMatchInlineSnapshot(`
    "
    flowchart LR
      subgraph flow1["Order"]
        flow1_step1["AskSize<br>3 times"]
        flow1_step2["Confirm<br>3 times"]
        flow1_step3("Help<br>never")
        flow1_step4(["Done<br>2 times"])
        flow1_step5(["Cancelled<br>never"])
        flow1_step6["Forgotten<br>never"]
        flow1_step1 -->|"3"| flow1_step2
        flow1_step2 -->|"1"| flow1_step1
        flow1_step2 -.->|never| flow1_step3
        flow1_step2 -->|"2"| flow1_step4
        flow1_step3 -.->|never| flow1_step4
        flow1_step3 -.->|never| flow1_step5
      end
      class flow1_step3,flow1_step5,flow1_step6 missed
      classDef missed stroke:#c0392b,stroke-dasharray:4"
  `)
})

test('a flowchart has the IDs of steps as text, whatever characters they have', () => {
  const odd = 'says "no"; [end] | 5 < 6 #1'
  class Odd extends LogicStep {
    static override readonly id = odd
    override run() {
      return finish()
    }
  }
  class OddFlow extends Flow {
    static override readonly id = 'Odd'
    override steps() {
      return [Odd]
    }
  }
  const [, , node] = coverageOf(OddFlow).mermaid().split('\n')
  expect(node).toBe('    flow1_step1["says #34;no#34;#59; #91;end#93; #124; 5 #60; 6 #35;1<br>never"]')
})

describe('reports of several processes', () => {
  test('add up to the report of one', async () => {
    const [first, second, both] = [coverageOf(Order), coverageOf(Order), await someCoverage()]
    await talk(first, ['Hello', 'large', 'no', 'small', 'yes'])
    await talk(second, ['Hello', 'large', 'yes'])
    const reports = [first, second].map((one) => JSON.parse(JSON.stringify(one)))
    expect(mergeReports(reports)).toEqual(both.report())
  })

  test('of test files that share a coverage count once, in any order, and two coverages count both', async () => {
    const [shared, other] = [coverageOf(Order), coverageOf(Order)]
    await talk(shared, ['Hello', 'large', 'no', 'small', 'yes'])
    const first = shared.passedReport()
    await talk(shared, ['Hello', 'large', 'yes'])
    await talk(other, ['Hello'])
    const reports = [shared.passedReport(), first, other.passedReport()]
    const passed: typeof reports = JSON.parse(JSON.stringify(reports))
    expect(mergeReports(lastReports(passed)).flows.map(({ turns }) => turns)).toEqual([9])
    expect(mergeReports(lastReports([...passed].reverse())).flows.map(({ turns }) => turns)).toEqual([9])
    expect(shared.report()).not.toHaveProperty('from')
  })

  test('keep a gap only where every one has it', () => {
    class Guarded extends Step {
      static override readonly id = 'Guarded'
      override tools(turn: Turn) {
        return turn.message === '' ? [] : [tool({ name: 'unlock', description: 'Unlocks.', execute: () => stay() })]
      }
    }
    class GuardedFlow extends Flow {
      static override readonly id = 'GuardedFlow'
      override steps() {
        return [Guarded]
      }
    }
    const unknowing = coverageOf(GuardedFlow)
    const knowing = coverageOf(GuardedFlow, { tools: { Guarded: ['unlock'] } })
    expect(mergeReports([unknowing.report()]).flows[0]?.toolsNotKnown).toEqual(['Guarded'])
    const merged = mergeReports([unknowing.report(), knowing.report()]).flows[0]
    expect(merged?.toolsNotKnown).toEqual([])
    expect(merged?.tools).toEqual([{ step: 'Guarded', name: 'unlock', calls: 0, succeeded: 0 }])
  })
})

describe('the shortest way to a step', () => {
  test('is the fewest messages of a conversation that was there, and from there on the declared transitions', async () => {
    const paths = pathsOf(Order, await someCoverage())
    expect(paths.map(({ step, messages, left, isReachable }) => [step, messages, left, isReachable])).toEqual([
      ['AskSize', ['Hello'], [], true],
      ['Confirm', ['Hello', 'large'], [], true],
      ['Help', ['Hello', 'large'], ['Help'], true],
      ['Done', ['Hello', 'large', 'yes'], [], true],
      ['Cancelled', ['Hello', 'large'], ['Help', 'Cancelled'], true],
      ['Forgotten', [], ['Forgotten'], false],
    ])
  })

  test('is that of the conversation, although a transition is declared from a step nearer to the beginning', async () => {
    const coverage = coverageOf(Order)
    await using conversation = new Conversation(Order, { coverage, script: ['Who can help?'] })
    const messages = ['Hello', 'large', 'no', 'small', 'help']
    for (const message of messages) await conversation.say(message)
    const paths = pathsOf(Order, coverage)
    expect(paths.slice(1, 4).map(({ step, messages, left }) => [step, messages, left])).toEqual([
      ['Confirm', ['Hello', 'large'], []],
      ['Help', messages, []],
      ['Done', ['Hello', 'large'], ['Done']],
    ])
  })

  test('begins with the first step where nothing is covered', () => {
    expect(pathsOf(Order).map(({ step, left }) => [step, left])).toEqual([
      ['AskSize', ['AskSize']],
      ['Confirm', ['AskSize', 'Confirm']],
      ['Help', ['AskSize', 'Confirm', 'Help']],
      ['Done', ['AskSize', 'Confirm', 'Done']],
      ['Cancelled', ['AskSize', 'Confirm', 'Help', 'Cancelled']],
      ['Forgotten', ['Forgotten']],
    ])
  })

  test('is printed as a test', async () => {
    const paths = pathsOf(Order, await someCoverage())
    const code = (step: string) => `\n${paths.find((path) => path.step === step)?.code}`
    expect(code('Cancelled')).toMatchInlineSnapshot(`
      "
      test('reaches Cancelled', async () => {
        await using conversation = new Conversation(Order, { coverage })
        await conversation.say('Hello')
        await conversation.say('large')
        await conversation.say('') // a message that leads to Help
        await conversation.say('') // a message that leads to Cancelled
        conversation.expectStep('Cancelled')
      })"
    `)
    expect(code('Done')).toMatchInlineSnapshot(`
      "
      test('reaches Done', async () => {
        await using conversation = new Conversation(Order, { coverage })
        await conversation.say('Hello')
        await conversation.say('large')
        await conversation.say('yes')
        conversation.expectStep('Done')
      })"
    `)
    expect(code('Forgotten')).toMatchInlineSnapshot(`
      "
      test('reaches Forgotten', async () => {
        await using conversation = new Conversation(Order, { coverage })
        // No step that can be reached lists Forgotten in its static next.
        conversation.expectStep('Forgotten')
      })"
    `)
  })

  test('expects the step at which it ends, where a step is only passed through', async () => {
    class Pay extends LogicStep {
      static override readonly id = "Ada's till"
      static override readonly next = ['Done', 'Help']
      override run() {
        return finish('Paid.')
      }
    }
    class Basket extends LogicStep {
      static override readonly id = 'Basket'
      static override readonly next = [Pay]
      override run({ entered }: Turn) {
        return entered ? reply('Shall I order it?') : go(Pay)
      }
    }
    class Shop extends Order {
      static override readonly id = 'Shop'
      override steps(): StepConstructor[] {
        return [Basket, Pay, Help, Done]
      }
    }
    const coverage = coverageOf(Shop)
    await using conversation = new Conversation(Shop, { coverage })
    for (const message of ['Hello', 'yes']) await conversation.say(message)
    const paths = pathsOf(Shop, coverageOf(Shop).add(JSON.parse(JSON.stringify(coverage))))
    expect(paths.map(({ step, messages, left }) => [step, messages, left])).toEqual([
      ['Basket', ['Hello'], []],
      ["Ada's till", ['Hello', 'yes'], []],
      // Not 'yes', which leads elsewhere.
      ['Help', ['Hello'], ['Help']],
      ['Done', ['Hello', 'yes'], []],
    ])
    expect(`\n${paths[1]?.code}`).toMatchInlineSnapshot(`
      "
      test('reaches Ada\\'s till', async () => {
        await using conversation = new Conversation(Shop, { coverage })
        await conversation.say('Hello')
        await conversation.say('yes')
        // The last message passes through Ada's till.
        conversation.expectStep('Done')
      })"
    `)
  })

  test('prefers messages that end in the step to as many that pass through it', () => {
    const counts = noCounts()
    const ways = [{ messages: ['a', 'b'] }, { messages: ['c'], endsAt: 'B' }, { messages: ['d'] }]
    for (const way of ways) {
      keepFewest(counts, 'A', way)
      expect(counts.messages.get('A')).toBe(way)
    }
    keepFewest(counts, 'A', { messages: ['e'], endsAt: 'B' })
    expect(counts.messages.get('A')).toBe(ways[2])
  })

  test('goes through the reports of other processes', async () => {
    const report = JSON.parse(JSON.stringify(await someCoverage()))
    expect(pathsOf(Order, coverageOf(Order).add(report))).toEqual(pathsOf(Order, await someCoverage()))
  })

  test('has no messages of a session whose first turns were removed', async () => {
    const coverage = coverageOf(Order)
    await using conversation = new Conversation(Order, { coverage, limits: { maxHistoryTurns: 2 } })
    for (const message of ['Hello', 'large', 'no', 'small', 'yes']) await conversation.say(message)
    expect(pathsOf(Order, coverage).map(({ step, left }) => [step, left])).toEqual([
      ['AskSize', []],
      ['Confirm', []],
      ['Help', ['Help']],
      ['Done', ['Done']],
      ['Cancelled', ['Help', 'Cancelled']],
      ['Forgotten', ['Forgotten']],
    ])
  })

  test('has no messages of a conversation that began in the middle, nor of its forks', async () => {
    const coverage = coverageOf(Order)
    for (const history of [[], [['Hello', 'Which size?'] as const]]) {
      await using conversation = Conversation.at(Order, { step: Confirm, history, coverage })
      await using fork = await conversation.fork()
      await conversation.say('yes')
      await fork.say('no')
      await using late = await fork.fork()
      await late.say('small')
      await late.say('yes')
    }
    expect(pathsOf(Order, coverage).every(({ messages }) => messages.length === 0)).toBe(true)
    expect(coverage.report().flows[0]?.steps.map(({ id, seen }) => [id, seen > 0])).toContainEqual(['Done', true])
  })

  test('has the messages of a fork, after a restart and a repeated message', async () => {
    const coverage = coverageOf(Order)
    await using conversation = new Conversation(Order, { coverage })
    await conversation.say('Hello', { key: 'hello', fault: retryAs('same-key') })
    await conversation.restart()
    await conversation.say('large')
    await using fork = await conversation.fork()
    await fork.say('yes')
    const done = pathsOf(Order, coverage).find(({ step }) => step === 'Done')
    expect(done?.messages).toEqual(['Hello', 'large', 'yes'])
  })

  test('is printed with the name of the class, whatever the ID of the flow', () => {
    class MyFlow extends Order {
      static override readonly id: string = 'my-flow'
    }
    expect(pathsOf(MyFlow)[0]?.code).toContain('new Conversation(MyFlow, { coverage })')
    const unnamed = (() => class extends Order {})()
    expect(pathsOf(unnamed)[0]?.code).toContain('new Conversation(Flow, { coverage })')
  })

  test('needs coverage of that flow', () => {
    class Other extends Order {
      static override readonly id = 'Other'
    }
    expect(() => pathsOf(Other, coverageOf(Order))).toThrowErrorMatchingInlineSnapshot(
      `[ExpectationError: pathsOf: the coverage is not of flow 'Other'. Make it with coverageOf(Other).]`,
    )
  })
})
