import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import {
  event,
  Flow,
  finish,
  go,
  LogicStep,
  type ModelSelection,
  reply,
  Step,
  type StepConstructor,
  type Tool,
  type Transition,
  type Turn,
  tool,
} from '../../src/index.js'
import { ExpectationError } from '../expectations/expectation-error.js'
import { readScenarios, type ScenarioSetup, scenarioSuite } from './index.js'

class Reserve extends LogicStep<{ until?: number; wish?: { day: string; guests: number } }> {
  static override readonly id = 'Reserve'
  override run(turn: Turn): Transition {
    if (turn.entered) {
      this.state.until = turn.now + 15 * 60_000
      this.state.wish = { day: 'Friday', guests: 4 }
      return reply('The table is yours for 15 minutes.\nShall I book it?')
    }
    if (turn.message === 'crash') throw new Error('no database')
    return turn.now > (this.state.until ?? 0) ? reply('That was too late.') : finish('Booked.')
  }
}

class Tables extends Flow {
  static override readonly id = 'Tables'
  override steps(): readonly StepConstructor[] {
    return [Reserve]
  }
}

class Ask extends Step {
  static override readonly id = 'Ask'
  override tools(): readonly Tool[] {
    return [
      tool({
        name: 'find_tables',
        description: 'Finds free tables.',
        input: z.object({ guests: z.number() }),
        execute: () => [1],
      }),
    ]
  }
}

const Wish = z.object({ guests: z.number() })

class ReadWish extends Step<{ guests?: number }, z.infer<typeof Wish>> {
  static override readonly id = 'ReadWish'
  override readonly output = Wish
  override onReply({ guests }: z.infer<typeof Wish>): string {
    this.state.guests = guests
    return `A table for ${guests}.`
  }
}

class Desk extends Flow {
  static override readonly id: string = 'Desk'
  override model(): ModelSelection {
    return { provider: 'any', name: 'any' }
  }
  override steps(): readonly StepConstructor[] {
    return [Ask]
  }
}

const file = '/app/test/tables.scenario.md'

/** Runs the first scenario of a file; line 4 is the first one below its heading. */
async function run(lines: string, setup: ScenarioSetup = { flow: Tables }): Promise<void> {
  const { scenarios } = readScenarios(`# Tables\nSetup: ./x.js\n## A scenario\n${lines}`, file)
  await scenarios[0]?.run(setup)
}

async function failureOf(lines: string, setup?: ScenarioSetup): Promise<ExpectationError> {
  const error: unknown = await run(lines, setup).catch((thrown: unknown) => thrown)
  if (!ExpectationError.isInstance(error)) throw new Error('it passed', { cause: error })
  return error
}

describe('a scenario that is so', () => {
  test('passes, over a wait and a restart', async () => {
    await run(`
> A note.
<!-- Another one. -->
User: A table, please
Bot: The table is yours for 15 minutes.
  Shall I book it?
Bot: /15 minutes\\.\\n.*book/
Bot mentions: shall i
Step: Reserve
State of Reserve: wish.day = Friday
State of Reserve: wish = {"guests": 4}
State of Reserve: wish.guests = 4
State of Reserve: wish.day = /^Fri/
State of Reserve: note = nothing

Wait: 16 minutes
Server: restarts

- **User:** yes
- **Bot:** That was too late.`)
  })

  test('passes where it fails as expected, and where it ends', async () => {
    await run('User: A table, please\nUser: crash\nFails: FLOW_ERROR\nBot: no database\nBot mentions: Data')
    await run('User: A table, please\nUser: yes\nBot: Booked.\nStep: End\nCompleted: yes\nTools: none')
  })

  test('has its models answer line by line', async () => {
    await run(
      `User: Hello
Model: For how many?
Bot: For how many?
User: Four
Model calls: find_tables {"guests": 4}
Model: Table 1.
Tools: find_tables
Bot: Table 1.`,
      { flow: Desk },
    )
  })

  test('has a model answer with JSON where the step asks for that', async () => {
    class Order extends Desk {
      override steps(): readonly StepConstructor[] {
        return [ReadWish]
      }
    }
    const lines = 'User: For four\nModel: {"guests": 4}\nBot: A table for 4.\nState of ReadWish: guests = 4'
    await run(lines, { flow: Order })
  })

  test('takes what is given from the set-up', async () => {
    const calls: unknown[] = []
    const setup: ScenarioSetup = {
      flow: Desk,
      tools: { find_tables: (args) => calls.push(args) },
      given: { 'all is taken': { tools: { find_tables: [[]] } } },
    }
    const lines = 'User: Four\nModel calls: find_tables {"guests": 4}\nModel: None.\nBot: None.'
    await run(`Given: all is taken\n${lines}`, setup)
    expect(calls).toEqual([])
    await run(lines, setup)
    expect(calls).toEqual([{ guests: 4 }])
  })
})

describe('a double that no model uses', () => {
  const lines = 'User: Hello\nModel: Hi.\nBot: Hi.'

  test('is right in the set-up, which other scenarios share', async () => {
    await run(lines, { flow: Desk, tools: { find_tables: [[1], [2]], of_another_step: 'far' } })
  })

  test('fails where the scenario itself asks for it', async () => {
    const given = { taken: { tools: { find_tables: [[]] } }, far: { tools: { of_another_step: 'far' } } }
    const setup: ScenarioSetup = { flow: Desk, tools: { find_tables: [[1]], of_another_step: 'far' }, given }
    const failure = async (phrase: string) => (await failureOf(`Given: ${phrase}\n${lines}`, setup)).message
    expect(await failure('taken')).toContain("the double of 'find_tables' were not used up: 1 result of 1 left")
    expect(await failure('far')).toContain('No step offered a tool with the name of a double: of_another_step.')
  })
})

describe('a scenario that is not so fails with its line', () => {
  test('in the message and in the stack, with the conversation', async () => {
    const error = await failureOf('User: A table, please\nBot: Which table?')
    expect(error.message).toMatchInlineSnapshot(`
      "tables.scenario.md:5: Bot: Which table?
      Expected the reply "Which table?"
        but it was "The table is yours for 15 minutes.\\nShall I book it?"
      Where: flow 'Tables', step 'Reserve', turn 1

      The conversation so far:

      # Tables

      ## Turn 1

      User: A table, please

      - enters Reserve

      Reply: The table is yours for 15 minutes.
        Shall I book it?

      Now at Reserve.
      "
    `)
    expect(error.stack?.split('\n').at(-1)).toBe('    at scenario (/app/test/tables.scenario.md:5:1)')
    expect(error).toMatchObject({ expected: 'Which table?' })
  })

  test.each<[string, string, string, ScenarioSetup?]>([
    ['an unexpected failure', 'User: A table\nUser: crash\nBot: Booked.', ':5: User: crash\nThe turn "crash" failed'],
    [
      'a failure of another kind',
      'User: a\nUser: crash\nFails: TOOL_ERROR',
      ':6: Fails: TOOL_ERROR\nExpected the turn',
    ],
    ['no failure', 'User: a\nFails: TOOL_ERROR', 'to fail with TOOL_ERROR, but it succeeded'],
    ['another step', 'User: a\nStep: Confirm', ":5: Step: Confirm\nExpected the conversation to be at step 'Confirm'"],
    ['another state', 'User: a\nState of Reserve: wish.day = Saturday', 'wish.day: expected "Saturday", got "Friday"'],
    [
      'state of an unknown step',
      'User: a\nState of Rserve: a = 1',
      ":5: State of Rserve: a = 1\nThe flow has no step 'Rserve'; its steps: Reserve.\nWhere: flow 'Tables', step 'Reserve', turn 1\n\nThe conversation so far:\n",
    ],
    [
      'a misspelt name of a state, which is not there in any case',
      'User: a\nState of Reserve: untill = nothing',
      ":5: State of Reserve: untill = nothing\nThe state has no 'untill' in any case. Did you mean 'until'?\nWhere:",
    ],
    [
      'a misspelt name in an object of a state',
      'User: a\nState of Reserve: wish.guest = nothing',
      "The state has no 'guest' in any case. Did you mean 'guests'?",
    ],
    ['tools', 'User: a\nTools: find_tables', 'expected 1 call, got 0'],
    ['completion', 'User: a\nCompleted: yes', ':5: Completed: yes\nExpected the conversation to be completed'],
    [
      'a part of the reply',
      'User: a\nBot mentions: 20 minutes (or so)',
      'Expected a reply that mentions "20 minutes (or so)"\n  but it was "The table is yours for 15 minutes.\\nShall I book it?"\nWhere:',
    ],
    [
      'a part of what the user sees of a failure',
      'User: a\nUser: crash\nFails: FLOW_ERROR\nBot mentions: disk',
      ':7: Bot mentions: disk\nExpected a reply that mentions "disk"\n  but it was "no database',
    ],
    ['a model line too few', 'User: a\nTools: none', ':4: User: a\nThe model is asked once more', { flow: Desk }],
    [
      'a tool that the step does not offer',
      'User: a\nModel: Hm.\nUser: b\nModel calls: find_tabels {"guests": 4}\nTools: none',
      `:7: Model calls: find_tabels {"guests": 4}
The model calls a tool that the step does not offer: 'find_tabels' (flow 'Desk', step 'Ask', turn 2, call 1 of the turn).
  asked: user "b"
  tools offered: find_tables
Correct the name, or find out why the conversation is at this step.`,
      { flow: Desk },
    ],
    [
      'a model line too many',
      'User: a\nModel: A\nTools: none',
      ':5: Model: A\nThe model was not asked for this answer',
    ],
    [
      'a model line too many, with its place',
      'User: a\nModel: A\nTools: none',
      "asks no model here.\nWhere: flow 'Tables', step 'Reserve', turn 1\n\nThe conversation so far:\n",
    ],
    [
      'two scripts',
      'User: a\nModel: A\nTools: none',
      ':5: Model: A\nThe set-up has a script',
      { flow: Desk, script: ['B'] },
    ],
    ['a script that is left', 'User: a\nTools: none', '1 reply of 1 left', { flow: Tables, script: ['B'] }],
    [
      'something unknown that is given',
      'Given: rain\nUser: a\nTools: none',
      ':4: Given: rain\nThe set-up does not know',
    ],
    [
      'something given that is misspelt',
      'Given: Rain\nUser: a\nTools: none',
      "It has: rain, snow. Did you mean 'rain'?",
      { flow: Tables, given: { rain: {}, snow: {} } },
    ],
    [
      'something given that is nothing',
      'Given: rain\nUser: a\nTools: none',
      ':4: Given: rain\nThe set-up must have options for this, as an object. It has null.',
      { flow: Tables, given: { rain: null } } as object as ScenarioSetup,
    ],
    [
      'a meaning without a judge',
      'User: a\nBot means: It is nice.',
      ':5: Bot means: It is nice.\nThis line needs a judge, and the set-up has none. Add it there: export default { flow: Booking, judge: new Judge({ ... }) }.',
    ],
  ])('%s', async (_title, lines, message, setup) => {
    expect((await failureOf(lines, setup)).message).toContain(message)
  })

  test('and an error of the set-up is its cause, with the lines that made it', async () => {
    const broken = new RangeError('no such service')
    const { scenarios } = readScenarios('Setup: ./x.js\n## A scenario\nUser: a\nTools: none', file)
    const setup = (): never => {
      throw broken
    }
    await expect(scenarios[0]?.run(setup)).rejects.toMatchObject({
      cause: broken,
      message: expect.stringMatching(/:1: Setup: \.\/x\.js\nno such service\n {2}at .*run-scenario\.test\.ts:\d+/),
    })
    const noSetup = {} as unknown as ScenarioSetup
    await expect(scenarios[0]?.run(noSetup)).rejects.toThrow(
      'tables.scenario.md:1: Setup: ./x.js\nThe set-up must export a flow as default',
    )
  })
})

test('a suite has a test for each scenario, which makes its own set-up', async () => {
  const titles: string[] = []
  const runs: (() => Promise<void>)[] = []
  let made = 0
  scenarioSuite({
    text: '# Tables\nSetup: ./x.js\n## One\nUser: a\nTools: none\n## Two\nUser: b\nTools: none',
    file,
    setup: () => {
      made++
      return { flow: Tables }
    },
    describe: (name, define) => {
      titles.push(name)
      define()
    },
    test: (name, body) => {
      titles.push(name)
      runs.push(body)
    },
  })
  for (const body of runs) await body()
  expect([titles, made]).toEqual([['Tables', 'One', 'Two'], 2])
})

test('a suite refuses options that are unknown, missing or wrong, before it defines a test', () => {
  const suite = (options: object) => () => scenarioSuite(options as Parameters<typeof scenarioSuite>[0])
  const right = { text: 'Setup: ./x.js\n## One\nUser: a', file, setup: { flow: Tables }, describe, test }
  expect(suite({ file })).toThrow("scenarioSuite: text must be the text of the file, as readFileSync(file, 'utf8')")
  expect(suite({ ...right, text: Buffer.from('## One') })).toThrow('scenarioSuite: text must be the text of the file')
  expect(suite({ ...right, file: undefined })).toThrow('scenarioSuite: file must be the path of the file, as a string')
  expect(suite({ ...right, setUp: 1 })).toThrow("scenarioSuite: there is no option 'setUp'.")
  expect(suite({ ...right, describe: undefined })).toThrow(
    'scenarioSuite: describe must be the function describe of the test runner; got undefined.',
  )
  expect(suite({ ...right, test: 1 })).toThrow(
    'scenarioSuite: test must be the function test of the test runner; got 1.',
  )
})

describe('events and time', () => {
  const day = 86_400_000
  class Approval extends LogicStep {
    static override readonly id = 'Approval'
    override events() {
      return [
        event({
          name: 'decision',
          input: z.object({ approved: z.boolean() }),
          execute: ({ approved }, turn) => finish(`${turn.event?.by ?? 'Nobody'} says ${approved ? 'yes' : 'no'}.`),
        }),
        event({ name: 'remind', after: day, execute: () => go(Think) }),
        event({ name: 'expired', after: 7 * day, execute: () => finish('No decision came.') }),
      ]
    }
    override run(turn: Turn) {
      return reply(turn.entered ? 'I have asked your manager.' : 'Still waiting.')
    }
  }
  class Think extends Step {
    static override readonly id = 'Think'
    override events() {
      return [event({ name: 'expired', after: 7 * day, execute: () => Promise.reject(new Error('no mail')) })]
    }
  }
  class Refund extends Desk {
    static override readonly id: string = 'Refund'
    override steps(): readonly StepConstructor[] {
      return [Approval, Think]
    }
  }
  const setup = { flow: Refund }
  const begun = 'User: 100 EUR\nBot: I have asked your manager.'

  test.each([
    ['Event decision {"approved": true} by Ada Meier', 'Ada Meier says yes.'],
    ['- **Event** decision {"approved": false} by Ada Meier', 'Ada Meier says no.'],
    ['- Event: decision {"approved":\n  true}', 'Nobody says yes.'],
  ])('%s', async (line, said) => {
    await run(`${begun}\n${line}\nBot: ${said}\nCompleted: yes`, setup)
  })

  test('pass', async () => {
    await run(`${begun}\nAfter 1 day\nModel: Shall I ask again?\nBot: Shall I ask again?\nStep: Think`, setup)
    await run(
      `${begun}\nAfter: 12 hours\n1. After 0.5 days\nModel: Hm.\nBot: Hm.\nAfter 1 week\nFails: FLOW_ERROR`,
      setup,
    )
    await run(`${begun}\nWait: 23 hours\nUser: Well?\nBot: Still waiting.`, setup)
  })

  test.each([
    [
      'Event approved',
      "tables.scenario.md:6: Event approved\nThe turn of event 'approved' failed with EVENT_NOT_TAKEN: ",
      'Its events now: decision, remind, expired.',
    ],
    ['After 1 hour\nBot: Hello', 'tables.scenario.md:7: Bot: Hello\nNo timer came due in this time', ''],
    ['After 1 day', 'tables.scenario.md:6: After 1 day\n', 'The model is asked once more than the scenario says'],
    ['After 1 day\nModel: Hm.\nAfter 7 days', 'tables.scenario.md:8: After 7 days\n', 'no mail'],
    ['Event decision {approved: true}', 'The line cannot be read: what comes with the event is not valid JSON: ', ''],
    [
      'After: lunch',
      'The line cannot be read: it needs a number and a unit: seconds, minutes, hours, days or weeks, as in After 20 minutes',
      '',
    ],
    ['After lunch', "Write a colon after 'After'.", ''],
  ])('fail: %s', async (lines, first, more) => {
    const { message } = await failureOf(`${begun}\n${lines}`, setup)
    expect(message).toContain(first)
    expect(message).toContain(more)
  })

  test('are not looked for in the text above the scenarios', async () => {
    const text =
      '# Tables\nSetup: ./x.js\nEvent handling is tested here.\nAfter the storm, a calm.\n## One\nUser: Hello\nBot: x'
    expect(readScenarios(text, file).scenarios).toHaveLength(1)
  })
})
