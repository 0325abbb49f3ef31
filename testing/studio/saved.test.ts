/** Lines that really ran are saved; the saved code is run in this process, over the same flow and over a broken one. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { rollingSummary } from '../../src/compaction/index.js'
import {
  call,
  event,
  Flow,
  type FlowConstructor,
  finish,
  go,
  LogicStep,
  reply,
  Step,
  type StepConstructor,
  ToolError,
  type Turn,
  tool,
} from '../../src/index.js'
import { card, choices, custom, file, form } from '../../src/parts/index.js'
import { Booking as BookingForm } from '../contract/booking-form.js'
import type { ConversationOptions } from '../conversation/conversation-options.js'
import { Conversation, scriptedProvider, VirtualClock } from '../index.js'
import { readScenarios } from '../scenarios/index.js'
import type { StoredTurn } from './api/types.js'
import { StudioLine } from './line/line.js'
import { savedScenario } from './saved-scenario.js'
import { type FlowSource, type SavedLine, savedTest } from './saved-test.js'
import type { FileToWrite } from './studio-files.js'

const startedAt = Date.parse('2026-03-04T05:06:07.089Z')
const hour = 3_600_000
const day = 24 * hour
mkdirSync('.reports', { recursive: true })
const folder = mkdtempSync('.reports/saved-')
afterAll(() => rmSync(folder, { recursive: true }))

/** Runs a conversation, and returns what the studio saves of it. */
async function recorded(
  flow: FlowConstructor,
  talk: (line: StudioLine) => Promise<unknown>,
  setup: ConversationOptions = {},
): Promise<SavedLine> {
  const listener = { onChange: () => undefined, onPiece: () => undefined }
  const line = new StudioLine(
    { id: 'one', flow: flow.id, turns: [], startedAt, now: startedAt, madeAt: startedAt },
    flow,
    { script: [], ...setup },
    listener,
  )
  await talk(line)
  await line.close()
  // As it is stored.
  const { turns } = JSON.parse(JSON.stringify(line.stored))
  const source: FlowSource = {
    specifier: '../flows.mjs',
    exportName: 'Main',
    hasSetup: true,
    doubles: Object.keys(setup.tools ?? {}),
    runner: 'node:test',
  }
  return { title: 'A talk', slug: 'a-talk', startedAt, turns, source }
}

function say(line: StudioLine, ...texts: readonly string[]): Promise<unknown> {
  return texts.reduce<Promise<unknown>>((before, text) => before.then(() => line.send({ text })), Promise.resolve())
}

const AsyncFunction = Object.getPrototypeOf(async () => undefined).constructor

/** Runs the code of a saved module, with these exports of the flow's module. */
function run(
  code: string,
  flows: object,
  test?: (title: string, body: () => Promise<void>) => unknown,
): Promise<unknown> {
  const body = code.replaceAll(/^import .*\n/gm, '').replace('export default', 'return')
  const given = { flows, test, Conversation, VirtualClock, ToolError }
  return new AsyncFunction(...Object.keys(given), body)(...Object.values(given))
}

function textOf(files: readonly FileToWrite[], ending: string): string {
  return String(files.find(({ name }) => name.endsWith(ending))?.text)
}

async function runTest(line: SavedLine, Main: FlowConstructor, setup: object = {}): Promise<void> {
  const bodies: (() => Promise<void>)[] = []
  await run(textOf(savedTest(line), '.test.mjs'), { Main, default: setup }, (_title, body) => bodies.push(body))
  expect(bodies).toHaveLength(1)
  for (const body of bodies) await body()
}

async function runScenario(line: SavedLine, Main: FlowConstructor, setup: object = {}): Promise<void> {
  const files = savedScenario(line)
  for (const { name, text } of files) {
    mkdirSync(dirname(join(folder, name)), { recursive: true })
    writeFileSync(join(folder, name), text)
  }
  const made = await run(textOf(files, '.setup.mjs'), { Main, default: setup })
  const read = readScenarios(textOf(files, '.scenario.md'), join(folder, 'a-talk.scenario.md'))
  expect(read).toMatchObject({ setup: './a-talk.setup.mjs', scenarios: [{}] })
  await read.scenarios[0]?.run(made as never)
}

/** Both pass at once, and fail over a broken flow. */
async function passes(line: SavedLine, flow: FlowConstructor, broken: FlowConstructor, setup = {}): Promise<void> {
  for (const runSaved of [runTest, runScenario]) {
    await runSaved(line, flow, setup)
    await expect(runSaved(line, broken, setup)).rejects.toThrow()
  }
}

function flowOf(...steps: readonly StepConstructor[]): FlowConstructor {
  return class extends Flow {
    static override readonly id = 'Main'
    override model() {
      return { provider: 'any', name: 'small' }
    }
    override steps() {
      return steps
    }
  }
}

/** A flow of one step that answers as `answer` says. */
function answering(answer: (turn: Turn) => ReturnType<LogicStep['run']>): FlowConstructor {
  class Talk extends LogicStep {
    static override readonly id = 'Talk'
    override run(turn: Turn) {
      return answer(turn)
    }
  }
  return flowOf(Talk)
}

const days = [
  { value: 'tue', label: 'Tuesday' },
  { value: 'fri', label: 'Friday, 9:00' },
]

describe('a line is saved, and played again', () => {
  test('buttons, cards, forms and files; an old button only in a test', async () => {
    const shop = (rows: readonly [string, string][], label = 'Tuesday'): FlowConstructor =>
      answering(({ choice, message }) => {
        if (choice !== undefined)
          return reply(`${choice.value} as ${choice.name}`).withParts([card({ title: '/a/', rows })])
        return reply(message === 'map' ? 'Here.' : 'Which day?').withParts(
          message === 'map'
            ? [
                custom('map', { zoom: 3 }),
                file({ name: 'bill.pdf', mediaType: 'application/pdf', url: 'https://f.example/1' }),
                form({ name: 'town', schema: { type: 'object', properties: { a: { type: 'string' } } } }),
              ]
            : [choices('day', [{ value: 'tue', label }, ...days.slice(1)])],
        )
      })
    const flow = shop([['Status', 'on = its\nway']])
    const line = await recorded(flow, async (one) => {
      await say(one, 'Hello')
      await one.send({ text: 'Friday, 9:00', choice: { value: 'fri', name: 'day', turn: 1 } })
      await say(one, 'map')
    })
    await passes(line, flow, shop([['Status', 'here']], 'Monday'))
    expect(textOf(savedTest(line), '.mjs')).toContain("await conversation.choose('Friday, 9:00')")
    expect(textOf(savedScenario(line), '.md')).toContain('- Buttons: Tuesday, Friday, 9:00')
    const old = await recorded(flow, async (one) => {
      await say(one, 'Hello', 'Hello')
      await one.send({ text: 'Tuesday', choice: { turn: 1, name: 'day', value: 'tue' } })
    })
    await runTest(old, flow)
    expect(() => savedScenario(old)).toThrow('A scenario cannot say this. Save the line as a test.\nChoose Tuesday')
  })

  test('events of all senders, timers, and time that is moved', async () => {
    const approval = (text: string): FlowConstructor => {
      class Wait extends LogicStep {
        static override readonly id = 'Wait'
        override events() {
          return [
            event({
              name: 'decision',
              input: z.any(),
              execute: (input, turn) => finish(`${text} ${JSON.stringify(input)} ${turn.event?.by}`),
            }),
            event({ name: 'seen', byUser: true, execute: () => reply(`Seen.`) }),
            event({ name: 'remind', after: day + 1, execute: () => reply(`A day is over ${text}`) }),
            event({ name: 'again', after: day + 1, execute: () => reply('So it is.') }),
            event({ name: 'broken', after: 2 * day, execute: () => Promise.reject(new Error('no bank')) }),
          ]
        }
        override run(turn: Turn) {
          return reply(`${turn.message} at ${new Date(turn.now).toISOString()}`)
        }
      }
      return flowOf(Wait)
    }
    const flow = approval('!')
    const decide = { name: 'decision', payload: { text: '**a** by ü "{', list: [1, null] }, by: 'Ada Meier' }
    const line = await recorded(flow, async (one) => {
      await one.advance(5 * hour + 1)
      await say(one, 'Hello')
      await one.advance(hour)
      await say(one, 'Again')
      await one.advance()
      await one.sendEvent(decide)
    })
    expect(line.turns.map(({ error, reply: text }) => error?.code ?? text)).toEqual([
      'Hello at 2026-03-04T10:06:07.090Z',
      'Again at 2026-03-04T11:06:07.090Z',
      'A day is over !',
      'So it is.',
      `! ${JSON.stringify(decide.payload)} Ada Meier`,
    ])
    await passes(line, flow, approval('?'))
    expect(textOf(savedScenario(line), '.md')).toContain('- Wait: 18000.001 seconds\n- User: Hello')
    const broken = await recorded(flow, async (one) => {
      await say(one, 'Hello')
      await one.advance()
      await one.advance(day)
    })
    await passes(broken, flow, flowOf(BookingForm))
    const [last] = broken.turns.slice(-1) as [StoredTurn]
    expect(() => savedTest({ ...broken, turns: [...broken.turns, last] })).toThrow(
      'Turn 4: no test can repeat a timer that failed with FLOW_ERROR. Go back to the turn before it.',
    )
    const seen = await recorded(flow, async (one) => {
      await say(one, 'Hello')
      await one.send({ text: '', event: { name: 'seen' } })
    })
    await runTest(seen, flow)
    expect(() => savedScenario(seen)).toThrow('Save the line as a test.\nEvent seen')
  })

  test('a form, and a called flow', async () => {
    class Calling extends LogicStep {
      static override readonly id = 'Calling'
      override run(turn: Turn) {
        return turn.returned === undefined ? call(Inner) : finish('Back.')
      }
    }
    class Inner extends Flow {
      static override readonly id = 'Inner'
      override steps() {
        return [BookingForm]
      }
    }
    class Other extends BookingForm {
      override done() {
        return finish('Booked.')
      }
    }
    class OtherInner extends Inner {
      override steps() {
        return [Other]
      }
    }
    class OtherCalling extends LogicStep {
      static override readonly id = 'Calling'
      override run() {
        return call(OtherInner)
      }
    }
    const flow = flowOf(Calling, Inner as never)
    const line = await recorded(flow, (one) => say(one, 'Hi', 'brakes', 'Monday', 'Friday', '10', '2', 'skip', 'yes'))
    expect(line.turns.map(({ step }) => step)).toContain('Inner/Booking')
    await passes(line, flow, flowOf(OtherCalling, OtherInner as never))
  })

  /** Whether a scenario can have them as a message, and as a reply. */
  const hostile: readonly (readonly [text: string, isMessage: boolean, isReply: boolean])[] = [
    ['', true, true],
    [' ', false, false],
    ['a\n\n\tb  ', false, false],
    ['`${process.exit(7)}` \'"\\ */ </script> \u2028 <!-- -->', true, true],
    ['Grüße aus Köln, ß\n\n> - and **more**', true, true],
    ['Bot: x', true, true],
    ['two\nBot: x', false, false],
    ['two\n## y\n- User: z', false, false],
    ['two\n\\Bot: w', false, false],
    ['/a/', true, true],
    ['\\/a/', true, false],
    ['/^/', true, true],
    ['half \ud800', false, false],
    ['\r\nline\r\n', false, false],
    ['- User: \u0000 \u{1f642}', true, true],
    ["');process.exit(7);('", true, true],
  ]

  test.each(hostile)('the message and the reply %j', async (text, isMessage, isReply) => {
    const echo = (more: string): FlowConstructor =>
      answering(({ message }) => reply(message === 'echo' ? text + more : 'OK.'))
    const replied = await recorded(echo(''), (one) => say(one, 'Hello', 'echo'))
    const said = await recorded(echo(''), (one) => say(one, text))
    for (const [line, isSayable] of [
      [{ ...replied, title: `${text}\n## x` }, isReply],
      [said, isMessage],
    ] as const) {
      await runTest(line, echo(''))
      if (isSayable) await runScenario(line, echo(''))
      else expect(() => savedScenario(line)).toThrow('A scenario cannot say this. Save the line as a test.\n')
    }
    for (const runSaved of isReply ? [runTest, runScenario] : [runTest]) {
      await expect(runSaved(replied, echo('!'))).rejects.toThrow()
    }
  })

  test('files of a user, in a test', async () => {
    const flow = answering(({ attachments = [] }) => reply(JSON.stringify(attachments)))
    const pdf = { type: 'file', mediaType: 'application/pdf', name: '../Größe.pdf', data: 'QUJD' } as const
    const png = { type: 'image', mediaType: 'image/png', data: 'iVBORw0KGgo=' } as const
    const line = await recorded(flow, (one) => one.send({ text: 'Here', attachments: [pdf, png] }))
    await runTest(line, flow)
    const broken = answering(({ attachments = [] }) => reply(JSON.stringify(attachments.slice(1))))
    await expect(runTest(line, broken)).rejects.toThrow('Expected the reply')
    expect(() => savedScenario(line)).toThrow('A scenario cannot say this. Save the line as a test.\nAttach a file')
    const asking = answering(({ attachments = [] }) =>
      reply(JSON.stringify(attachments)).withParts([choices('day', days)]),
    )
    const pressed = await recorded(asking, async (one) => {
      await say(one, 'Hello')
      await one.send({ text: 'Tuesday', choice: { turn: 1, name: 'day', value: 'tue' }, attachments: [png] })
    })
    await runTest(pressed, asking)
  })
})

const small = { provider: 'any', name: 'small' } as const

/** A step with tools; `real` is called if one runs that a test must not call. */
function desk(real: (name: string) => unknown, { word = 'Bye', summarizes = false } = {}): FlowConstructor {
  class Ask extends Step<{ day?: string }> {
    static override readonly id = 'Ask'
    override tools() {
      return [
        tool({
          name: 'find',
          description: 'Finds.',
          input: z.object({ day: z.string() }),
          execute: (input) => real(input.day) as never,
        }),
        tool({
          name: 'choose',
          description: 'Chooses.',
          input: z.object({ day: z.string() }),
          execute: ({ day: chosen }) => {
            this.state.day = chosen
            return chosen === 'never' ? 'Not then.' : go(Done)
          },
        }),
      ]
    }
    override onModelError() {
      return reply('Later, please.')
    }
  }
  class Done extends LogicStep<{ day?: string }> {
    static override readonly id = 'Done'
    override async run(turn: Turn) {
      // An effect is no call of the tool with this name.
      await turn.once('find', () => 1)
      return finish(`${word} on ${turn.stateOf(Ask).day}`)
    }
  }
  return class extends Flow {
    static override readonly id = 'Main'
    static override readonly compaction = summarizes ? { Ask: rollingSummary({ above: 4, keep: 2, model: small }) } : {}
    override model() {
      return small
    }
    override steps() {
      return [Ask, Done]
    }
  }
}

class Plain extends Step {
  static override readonly id = 'Ask'
}

function free(name: string): unknown {
  if (name === 'full') throw new ToolError("It's full.")
  if (name === 'broken') throw new Error('no database')
  return name === 'Tuesday' ? [9, '`${10}`'] : { [name]: null }
}
function never(): never {
  throw new Error('A real tool was called.')
}

const calls = (name: string, ...dates: readonly string[]) => ({
  toolCalls: dates.map((one) => ({ name, input: { day: one } })),
})

describe('models and tools', () => {
  test('lines say what models answered if they can', async () => {
    const script = ['Which day?', calls('find', 'Tuesday'), 'At 9.\n\n- or\n> 10?', calls('choose', 'Tuesday')]
    const line = await recorded(desk(free), (one) => say(one, 'Hello', 'Tuesday', '9'), { script })
    await passes(line, desk(never), desk(never, { word: 'Until' }))
    expect(textOf(savedScenario(line), '.md')).toBe(
      `# A talk

Setup: ./a-talk.setup.mjs

## A talk

- User: Hello
- Model: Which day?
- Bot: Which day?
- Step: Ask

- User: Tuesday
- Model calls: find {"day":"Tuesday"}
- Model: At 9.

  - or
  > 10?
- Bot: At 9.

  - or
  > 10?
- Step: Ask

- User: 9
- Model calls: choose {"day":"Tuesday"}
- Bot: Bye on Tuesday
- Step: Done
- Completed: yes
`.replace('- Step: Done', '- Step: End'),
    )
    expect(textOf(savedScenario(line), '.setup.mjs')).not.toContain('script:')
  })

  test('the set-up of a scenario has the script if they cannot', async () => {
    const script = [
      'Which day?',
      { text: 'Let me look.', ...calls('find', 'Tuesday', 'Friday') },
      { failure: 500 },
      'None is free.',
      new Error('down'),
      calls('find', 'full'),
      { toolCalls: [{ name: 'nope', offered: false as const }] },
      'Sorry.',
      calls('choose', 'never'),
      'What?',
      calls('choose', 'Friday'),
    ]
    const setup = { script, modelRetry: { baseDelayMs: 0 } }
    const line = await recorded(desk(free), (one) => say(one, 'Hello', 'Tuesday', 'a', 'b', 'c', 'd'), setup)
    expect(line.turns.map((turn) => turn.reply)).toContain('Later, please.')
    await passes(line, desk(never), desk(never, { word: 'Until' }))
    const code = textOf(savedTest(line), '.mjs')
    expect(code).toContain("new ToolError('It\\'s full.')")
    expect(code).toContain('// turn.once, and tools without a double here, run as they are.')
    expect(textOf(savedScenario(line), '.md')).not.toMatch(/^- Model/m)
  })

  test.each([
    ['a text beside a call', { text: 'Let me look.', ...calls('find', 'Tuesday') }],
    ['two calls', calls('find', 'Tuesday', 'Friday')],
    ['a tool that is not offered', { toolCalls: [{ name: 'nope', offered: false as const }] }],
    ['no text', { text: '' }],
  ])('no line of a scenario says %s', async (_, answer) => {
    const line = await recorded(desk(free), (one) => say(one, 'Hello'), { script: [answer, 'Which day?'] })
    await passes(line, desk(never), flowOf(BookingForm))
    const hasScript = textOf(savedScenario({ ...line, title: ' \n' }), '.setup.mjs').includes('script: {')
    expect(hasScript).toBe(!('text' in answer && answer.text === ''))
    expect(textOf(savedScenario({ ...line, title: ' \n' }), '.md')).toContain('## a-talk\n')
  })

  test('a turn that failed', async () => {
    const script = ['Which day?', calls('find', 'broken')]
    const line = await recorded(desk(free), (one) => say(one, 'Hello', 'go'), { script })
    expect(line.turns.at(-1)).toMatchObject({ error: { code: 'TOOL_ERROR' }, reply: 'no database' })
    await runTest(line, desk(never))
    await runScenario(line, desk(never))
    const turns = line.turns.map((turn) => ({ ...turn, ...(turn.error && { reply: 'no network' }) }))
    await expect(runTest({ ...line, turns }, desk(never))).rejects.toThrow('but "no database"')
    await expect(runScenario({ ...line, turns }, desk(never))).rejects.toThrow('but "no database"')
    const down = await recorded(flowOf(Plain), (one) => say(one, 'Hello'), { script: [new Error('down')] })
    const late = down.turns.map((turn) => ({ ...turn, reply: 'It did not answer within 60 s.' }))
    await runTest({ ...down, turns: late }, flowOf(Plain))
    await runScenario({ ...down, turns: late }, flowOf(Plain))
    const refused = await recorded(desk(free), (one) => say(one, 'Hello'), { script: [{ refusal: 'Never.' }] })
    expect(() => savedTest(refused)).toThrow('Turn 1: no test can repeat a turn that failed with MODEL_BLOCKED.')
  })

  test('summaries', async () => {
    const script = { Ask: ['1', '2', '3', '4', '5'], 'memory:Ask': ['They count.', 'They go on.', 'And on.'] }
    const flow = desk(free, { summarizes: true })
    const line = await recorded(flow, (one) => say(one, 'a', 'b', 'c', 'd', 'e'), {
      providers: [scriptedProvider(script, { provider: 'any' })],
    })
    expect(textOf(savedTest(line), '.mjs')).toContain("'memory:Ask': [")
    await runTest(line, flow)
    await runScenario(line, flow)
  })

  test('doubles of the set-up stay, unless the line has called them', async () => {
    const tools = { find: 'nothing', choose: (_: unknown, turn: Turn) => finish(`Chosen in ${turn.number}.`), other: 1 }
    const script = [calls('find', 'Tuesday'), 'No.', calls('choose', 'Tuesday')]
    const line = await recorded(desk(never), (one) => say(one, 'Hello', 'Go'), { script, tools })
    const setup = { flow: desk(never), given: {}, script: never, providers: [], tools: { ...tools, find: never } }
    await passes(line, desk(never), flowOf(BookingForm), setup)
    expect(line.turns.at(-1)?.reply).toBe('Chosen in 2.')
    const { exportName: _, ...source } = line.source
    await runTest({ ...line, source }, BookingForm as never, () => setup)
    await runScenario({ ...line, source }, BookingForm as never, async () => setup)
  })
})

test('what was stopped is left out, and what no test can repeat is refused', async () => {
  const flow = answering(({ message }) => reply(message))
  const line = await recorded(flow, (one) => say(one, 'Hello', 'Bye'))
  const [first, second] = line.turns as [StoredTurn, StoredTurn]
  const failed = (code: string): StoredTurn => ({ ...second, error: { code, text: '', frames: [] } })
  await runTest({ ...line, turns: [first, failed('TURN_ABORTED'), second] }, flow)
  await runScenario({ ...line, turns: [first, failed('TURN_ABORTED'), second] }, flow)
  for (const save of [savedTest, savedScenario]) {
    expect(() => save({ ...line, turns: [] })).toThrow('There is no turn to save yet: send a message first.')
    expect(() => save({ ...line, turns: [failed('TURN_ABORTED')] })).toThrow('There is no turn')
    expect(() => save({ ...line, turns: [first, failed('TURN_TIMEOUT')] })).toThrow(
      'Turn 2: no test can repeat a turn that failed with TURN_TIMEOUT. Go',
    )
  }
})

test('a reply that shows the ID of its session', async () => {
  const flow = answering(async (turn) => {
    await turn.once('mail', () => 1)
    return reply(`${turn.message} in ${turn.session.id}`)
  })
  const line = await recorded(flow, (one) => say(one, 'Hello'))
  await passes(
    line,
    flow,
    answering(({ message }) => reply(message)),
  )
})

test('the code of a test', async () => {
  const script = [calls('find', 'full'), 'Full. Which other day?', calls('choose', 'Tuesday')]
  const line = await recorded(desk(free), (one) => say(one, 'Hello', "Tuesday, isn't it?"), { script })
  const source = { ...line.source, specifier: '../flows.ts', runner: 'vitest', doubles: ['pay'] } as const
  expect(savedTest({ ...line, source })).toEqual([{ name: 'a-talk.test.mjs', text: expect.any(String) }])
  expect(savedTest({ ...line, source })[0]?.text).toMatchInlineSnapshot(`
    "// The studio wrote this test from a conversation. Change it as you like.
    import { test } from 'vitest'
    import { ToolError } from 'turnkeeper'
    import { Conversation, VirtualClock } from 'turnkeeper/testing'
    import * as flows from '../flows.ts'

    test('A talk', async () => {
      const { flow, given, script, providers, ...setup } = typeof flows.default === 'function' ? await flows.default() : flows.default
      const conversation = new Conversation(flows.Main, {
        ...setup,
        clock: new VirtualClock(1772600767089), // 2026-03-04T05:06:07.089Z
        // turn.once, and tools without a double here, run as they are.
        tools: {
          ...setup.tools,
          'find': [
            new ToolError('It\\'s full.'),
          ],
        },
        script: {
          'Ask': [
            { toolCalls: [{ name: 'find', input: { day: 'full' } }] },
            'Full. Which other day?',
            { toolCalls: [{ name: 'choose', input: { day: 'Tuesday' } }] },
          ],
        },
      })
      conversation.tools.allowUnused(['pay'])
      await conversation.use(async () => {
        await conversation.say('Hello')
        conversation.expectReply('Full. Which other day?').expectStep('Ask')
        await conversation.say('Tuesday, isn\\'t it?')
        conversation.expectReply('Bye on Tuesday').expectStep('End').expectCompleted()
      })
    })
    "
  `)
})
