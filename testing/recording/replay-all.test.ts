// A folder of stored sessions, replayed: what counts as one, what differs, and what cannot be replayed.
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterEach, beforeEach, expect, test } from 'vitest'
import {
  Flow,
  type FlowServices,
  finish,
  LogicStep,
  reply,
  type SessionDocument,
  type StepConstructor,
  type Turn,
} from '../../src/index.js'
import { Conversation } from '../conversation/conversation.js'
import { ExpectationError } from '../expectations/expectation-error.js'
import { recordingOf, replay } from './recording.js'
import { type ReplayAllOptions, replayAll } from './replay-all.js'

/** Services as an application declares them in `FlowServices`. */
function servicesWith(greeting: string): FlowServices {
  return { greeting } as object
}

class Greet extends LogicStep<{ name?: string }> {
  static override readonly id = 'Greet'
  override run(turn: Turn) {
    const { greeting } = turn.services as { readonly greeting?: string }
    if (turn.entered) return reply(`${greeting}, who is there?`)
    return turn.message === '' ? reply('Pardon?') : finish(`${greeting}, ${turn.message}.`)
  }
}
class Greeting extends Flow {
  static override readonly id: string = 'Greeting'
  override steps(): StepConstructor[] {
    return [Greet]
  }
}
class Renamed extends Greeting {
  static override readonly id = 'Welcome'
  static override readonly aliases = ['Greeting']
}

let folder: string

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'sessions-'))
})
afterEach(() => {
  rmSync(folder, { recursive: true, force: true })
})

async function sessionOf(...answers: readonly string[]): Promise<SessionDocument> {
  await using conversation = new Conversation(Greeting, { services: servicesWith('Hello') })
  await conversation.say('Hi')
  for (const answer of answers) await conversation.say(answer)
  return (await conversation.engine.getSession(conversation.sessionId)) as SessionDocument
}

function write(file: string, value: unknown): void {
  writeFileSync(join(folder, file), typeof value === 'string' ? value : JSON.stringify(value))
}

function options(greeting: string): ReplayAllOptions {
  return { flows: [Greeting], replayOptions: () => ({ services: servicesWith(greeting) }) }
}

/** The report, with the folder's name replaced. */
async function reportOf(given: ReplayAllOptions): Promise<string> {
  const failure = await replayAll(folder, given).catch((error: Error) => error)
  return failure instanceof Error ? `\n${failure.message.replaceAll(folder, 'sessions')}` : 'no failure'
}

test('session documents and recordings are replayed, in folders within the folder too', async () => {
  write('ada.json', await sessionOf('Ada'))
  mkdirSync(join(folder, 'last-week'))
  write('last-week/grace.json', recordingOf(await sessionOf('Grace')))
  write('README.md', 'Not a session.')
  expect(await replayAll(folder, options('Hello'))).toEqual({ sessions: 2, turns: 4 })
  expect(await replayAll(pathToFileURL(folder), options('Hello'))).toEqual({ sessions: 2, turns: 4 })
  const renamed = { ...options('Hello'), flows: [Renamed] }
  expect(await replayAll(folder, renamed)).toEqual({ sessions: 2, turns: 4 })
})

test('a session in which a turn hangs is one failure, and the others are replayed', async () => {
  class Waits extends Greet {
    override run(turn: Turn) {
      if (turn.message !== 'Ada') return super.run(turn)
      // As a service that never answers.
      return new Promise<never>(() => undefined) as never
    }
  }
  class Waiting extends Greeting {
    override steps() {
      return [Waits]
    }
  }
  write('ada.json', await sessionOf('Ada'))
  write('again.json', await sessionOf('', 'Ada'))
  write('grace.json', await sessionOf('Grace'))
  const replayOptions = () => ({ services: servicesWith('Hello'), hangAfterMs: 40 })
  expect(await reportOf({ flows: [Waiting], replayOptions })).toMatchInlineSnapshot(`
    "
    Of 3 sessions in 'sessions', 2 did not go as recorded.

    ada.json:
    Session 'session-1' of flow 'Greeting', replayed, hangs at turn 2 of 2.

      User: "Ada"

    Nothing has happened for 40 ms of real time, and a turn is still under way.
      - #2 turn of flow 'Greeting' is under way, in step 'Greet'
    Open the gate, settle the promise or advance the clock that it waits for. If it is only slow, raise the option hangAfterMs.

    The same in 1 other file: again.json"
  `)
})

test('a turn that hangs is aborted before the replay ends, and does nothing in the next one', async () => {
  const signals: AbortSignal[] = []
  class Waits extends Greet {
    override run(turn: Turn) {
      if (turn.message !== 'Ada') return super.run(turn)
      signals.push(turn.signal)
      return new Promise<never>(() => undefined) as never
    }
  }
  class Waiting extends Greeting {
    override steps() {
      return [Waits]
    }
  }
  const recording = recordingOf(await sessionOf('Ada'))
  const options = { services: servicesWith('Hello'), hangAfterMs: 40 }
  await expect(replay(Waiting, recording, options)).rejects.toThrow('hangs at turn 2 of 2')
  expect(signals.map(({ aborted }) => aborted)).toEqual([true])
})

test.each<[string, object]>([
  ['replayAll: flows must be a list of flows, such as [Order]; got the class Greeting.', { flows: Greeting }],
  ['replayAll: flows must be a list of flows, such as [Order]; got undefined.', {}],
  [
    'replayAll: replayOptions must be a function that returns the options for a session; got {}.',
    { flows: [Greeting], replayOptions: {} },
  ],
  [
    'replayAll: recordingOptions must be a function that returns the options for a session; got {}.',
    { flows: [Greeting], recordingOptions: {} },
  ],
])('refuses options of another kind, in place of a report of differences: %s', async (text, wrong) => {
  write('ada.json', await sessionOf('Ada'))
  await expect(replayAll(folder, wrong as never)).rejects.toThrow(text)
})

test('the bound of a replay must be a number', async () => {
  write('ada.json', await sessionOf('Ada'))
  const replayOptions = () => ({ hangAfterMs: '30s' as unknown as number })
  expect(await reportOf({ flows: [Greeting], replayOptions })).toContain('replay: hangAfterMs must be')
})

test('everything that differs is one report, the same differences together', async () => {
  write('ada.json', await sessionOf('Ada'))
  write('grace.json', await sessionOf('Grace'))
  write('other.json', { ...(await sessionOf('Ada')), flow: { ...(await sessionOf('Ada')).flow, name: 'Other' } })
  write('half.json', '{"history":[')
  write('list.json', [1, 2])
  write('null.json', 'null')
  write('aborted.json', { ...(await sessionOf('Ada')), runStatus: 'aborted', error: ['MODEL_FAILED'] })
  expect(await reportOf(options('Good day'))).toMatchInlineSnapshot(`
    "
    Of 7 sessions in 'sessions', 7 did not go as recorded.

    aborted.json:
    Session 'session-1' cannot be recorded: it was aborted (MODEL_FAILED). Nothing of the failed turn is stored: neither its message nor the answers of models.

    ada.json:
    Session 'session-1' of flow 'Greeting', replayed, differs at turn 1 of 2.

      User: "Hi"

      reply
        - Hello, who is there?
        + Good day, who is there?

      - as recorded, + as replayed

    Correct the flow, or record the session again if the change is intended.

    The same in 1 other file: grace.json

    half.json:
    The file is not valid JSON: Unexpected end of JSON input

    list.json:
    The file has neither a session document nor a recording of one.

    The same in 1 other file: null.json

    other.json:
    The session is of flow 'Other', which is not in flows (Greeting)."
  `)
})

test('sessions that fail for other reasons are listed apart, those of other lengths with the same reason together', async () => {
  const ada = await sessionOf('Ada')
  write('ada.json', { ...ada, runStatus: 'aborted', error: ['MODEL_FAILED'] })
  write('bob.json', { ...ada, id: "bob's", runStatus: 'aborted', error: ['TOOL_FAILED'] })
  write('eve.json', { ...ada, id: "eve's", runStatus: 'aborted', error: ['MODEL_FAILED'] })
  const report = await reportOf(options('Hello'))
  expect(report).toContain('it was aborted (MODEL_FAILED)')
  expect(report).toContain('The same in 1 other file: eve.json')
  write('long.json', await sessionOf('', 'Ada'))
  write('short.json', ada)
  expect(await reportOf(options('Good day'))).toContain('The same in 1 other file: short.json')
  expect(report).toContain("bob.json:\nSession 'bob's' cannot be recorded: it was aborted (TOOL_FAILED)")
})

test('each session gets options of its own', async () => {
  write('ada.json', await sessionOf('Ada'))
  write('grace.json', await sessionOf('Grace'))
  const seen: string[] = []
  await replayAll(folder, {
    flows: [Greeting],
    replayOptions: ({ turns }, file) => {
      seen.push(`${file}: ${turns[1]?.said}`)
      return { services: servicesWith('Hello') }
    },
  })
  expect(seen).toEqual(['ada.json: Ada', 'grace.json: Grace'])
})

test('one session that cannot be run hides none of the others', async () => {
  write('ada.json', { turns: [{}], script: {}, flow: 'Greeting', startedAt: 'yesterday' })
  write('grace.json', await sessionOf('Grace'))
  expect(await reportOf(options('Good day'))).toContain("Of 2 sessions in 'sessions', 2 did not go as recorded.")
})

test('a file may have a byte order mark and any spelling of its ending; folders are passed over', async () => {
  write('ada.JSON', `\uFEFF${JSON.stringify(await sessionOf('Ada'))}`)
  mkdirSync(join(folder, 'old.json'))
  write('old.json/grace.Json', await sessionOf('Grace'))
  expect(await replayAll(folder, options('Hello'))).toEqual({ sessions: 2, turns: 4 })
})

test('half a session is refused with what is missing', async () => {
  const document = await sessionOf('Ada')
  const { turns, ...recording } = recordingOf(document)
  write('1.json', { ...recording, turns: [] })
  write('2.json', { flow: 'Greeting', turns: [], script: {} })
  write('3.json', {
    ...recording,
    startedAt: 'yesterday',
    turns: [turns[0], { ...turns[1], at: 5, messages: null }, 7],
  })
  write('4.json', { history: document.history, id: 'a' })
  write('5.json', { ...document, flow: { name: 'Greeting' } })
  const report = await reportOf(options('Hello'))
  expect(report).toContain('Of 5 sessions')
  expect(report.match(/(?<=another type: ).*/g)).toEqual([
    'a turn.',
    'sessionId, startedAt, completed, states, context, a turn.',
    'startedAt, turns[1].at, turns[1].messages, turns[2].number, turns[2].at, turns[2].said, turns[2].reply, turns[2].step, turns[2].replies, turns[2].toolCalls, turns[2].messages.',
    'createdAt, runStatus, error, usage, flow.',
    'flow.steps, flow.memory, flow.context.',
  ])
})

test('a session whose last turns are missing is refused', async () => {
  const { turns, ...document } = await sessionOf('', '')
  write('1.json', { ...document, turns, history: document.history.slice(0, 2) })
  write('2.json', document)
  write('3.json', { ...document, turns: '3' })
  expect(await reportOf(options('Hello'))).toMatchInlineSnapshot(`
    "
    Of 3 sessions in 'sessions', 3 did not go as recorded.

    1.json:
    Session 'session-1' cannot be recorded: its history ends with turn 2, and its field turns is 3: turns are missing.

    2.json:
    Session 'session-1' cannot be recorded: its history ends with turn 3, and its field turns is undefined: turns are missing.

    3.json:
    Session 'session-1' cannot be recorded: its history ends with turn 3, and its field turns is "3": turns are missing."
  `)
})

test('what a session has at the wrong place is named', async () => {
  const { turns: count, ...document } = await sessionOf('Ada')
  const { turns, ...recording } = recordingOf({ ...document, turns: count })
  const [first, second] = turns
  const { flow, history } = document
  const message = { turn: 1, role: 'user', parts: [null] }
  const files = [
    { ...document, history: [1, { ...history[1], at: 'today' }], usage: {} },
    { ...document, flow: { ...flow, steps: { Greet: 5 }, memory: { A: null, B: { messages: [null, message] } } } },
    { ...recording, turns: [first, { ...second, replies: [5], toolCalls: {} }] },
    { ...recording, turns: [first, { ...second, number: 7, replies: { A: [5, [6]] }, messages: { A: [message] } }] },
    { ...recording, states: [], turns: [{ ...first, toolCalls: [null], replies: { A: 5 } }, second] },
  ]
  for (const [index, file] of files.entries()) write(`${index}.json`, file)
  const report = await reportOf(options('Hello'))
  expect(report.match(/(?<=another type: ).*/g)).toEqual([
    'history[0].turn, history[0].at, history[0].message, history[0].reply, history[0].step, history[1].at, usage.modelCalls.',
    'flow.steps.Greet.state, flow.memory.A.messages, flow.memory.B.messages[0].role, flow.memory.B.messages[0].parts, flow.memory.B.messages[1].parts[0].type.',
    'turns[1].replies, turns[1].toolCalls.',
    'turns[1].number, turns[1].replies.A[0], turns[1].replies.A[1][0].type, turns[1].messages.A[0].parts[0].type.',
    'states, turns[0].toolCalls[0].namespace, turns[0].toolCalls[0].name, turns[0].replies.A.',
  ])
})

test('a link that leads back to its folder is not followed', async () => {
  write('ada.json', await sessionOf('Ada'))
  mkdirSync(join(folder, 'old'))
  write('old/grace.json', await sessionOf('Grace'))
  // A junction is a link that every user of Windows may make.
  for (const name of ['here', 'old/back']) symlinkSync(folder, join(folder, name), 'junction')
  expect(await replayAll(folder, options('Hello'))).toEqual({ sessions: 2, turns: 4 })
})

test('an option with a wrong name is refused', async () => {
  write('ada.json', await sessionOf('Ada'))
  const { flows, replayOptions } = options('Hello')
  await expect(replayAll(folder, { flows, replayOption: replayOptions } as ReplayAllOptions)).rejects.toThrow(
    "replayAll: there is no option 'replayOption'. The options are flows, replayOptions, recordingOptions. Did you mean 'replayOptions'?",
  )
})

test('a folder without a session fails, one that does not exist, and a file', async () => {
  expect(await reportOf(options('Hello'))).toMatchInlineSnapshot(`
    "
    There is no session in 'sessions': it has no .json file."
  `)
  write('ada.json', await sessionOf('Ada'))
  for (const [name, problem] of [
    ['none', 'There is no such folder'],
    ['ada.json/none', 'There is no such folder'],
    ['ada.json', 'This is not a folder'],
  ] as const) {
    const text = `${problem}: ${join(folder, name)}. replayAll needs the folder with the .json files of the sessions.`
    await expect(replayAll(relative(process.cwd(), join(folder, name)), options('Hello'))).rejects.toThrow(
      new ExpectationError(text),
    )
    await expect(replayAll(pathToFileURL(join(folder, name)), options('Hello'))).rejects.toThrow(text)
  }
})
