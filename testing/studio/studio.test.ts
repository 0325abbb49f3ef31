// Lines: each has its own time, a fork is exact, and nothing that ran in an earlier line runs again by itself.
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { event, Flow, finish, go, LogicStep, reply, Step, ToolError, type Turn, tool } from '../../src/index.js'
import { say, until } from '../contract/studio/line-harness.js'
import type { StudioUpdate } from './api/types.js'
import { detailOf, viewOf } from './line/line-view.js'
import { Studio } from './studio.js'

const hour = 3_600_000
/** How often each effect ran. */
let ran: Record<string, number> = {}
let folder: string
const open: Studio[] = []

beforeEach(() => {
  ran = {}
  folder = mkdtempSync(join(tmpdir(), 'studio-'))
})

afterEach(async () => {
  await Promise.all(open.splice(0).map((studio) => studio.close()))
  rmSync(folder, { recursive: true })
})

function run(name: string): number {
  ran[name] = (ran[name] ?? 0) + 1
  return ran[name]
}

class Ask extends Step<{ name?: string }> {
  static override readonly id = 'Ask'
  static override readonly next = ['Pay']
  override prompt() {
    return 'Ask for the name.'
  }
  override model() {
    return { provider: 'any', name: 'small' }
  }
  override tools() {
    return [
      tool({ name: 'look_up', description: 'Looks it up.', execute: () => ({ found: run('look_up') }) }),
      tool({
        name: 'take',
        description: 'Takes the name.',
        execute: () => {
          run('take')
          this.state.name = 'Ada'
          return 'taken'
        },
      }),
      tool({ name: 'next', description: 'Goes on.', execute: () => go(run('next') > 0 ? Pay : Ask) }),
      tool({
        name: 'fails',
        description: 'Fails.',
        execute: () => Promise.reject(new ToolError(`No ${run('fails')}`)),
      }),
    ]
  }
}
class Pay extends LogicStep<{ paid: number }> {
  static override readonly id = 'Pay'
  override initialState() {
    return { paid: 0 }
  }
  override events() {
    return [
      event({ name: 'remind', after: hour, execute: () => reply('Still there?') }),
      event({ name: 'decision', input: z.json(), execute: (payload) => reply(`Decided: ${JSON.stringify(payload)}`) }),
    ]
  }
  override async run(turn: Turn) {
    if (turn.message === 'pay') this.state.paid = await turn.once('charge', () => run('charge'))
    if (turn.message === 'fail') throw new Error('It broke.')
    return turn.message === 'bye'
      ? finish('Bye.')
      : reply(`Paid ${this.state.paid}, at ${new Date(turn.now).toISOString()}`)
  }
}
class Shop extends Flow {
  static override readonly id = 'Shop'
  override steps() {
    return [Ask, Pay]
  }
}
class Till extends Flow {
  static override readonly id = 'Till'
  override steps() {
    return [Pay]
  }
}

const calls: Record<string, string> = { look: 'look_up', take: 'take', next: 'next', fails: 'fails' }
/** Calls the tool that the user names, then speaks. */
const script = ({ messages }: { messages: readonly { role: string; parts: readonly unknown[] }[] }) => {
  const last = messages.at(-1)
  const [{ text = '' }] = (last?.parts ?? []) as [{ text?: string }]
  return last?.role === 'user' && calls[text] ? { toolCalls: [{ name: calls[text] }] } : `You said: ${text}`
}

function studioOf(flows = [Shop, Till] as ConstructorParameters<typeof Studio>[0]['flows']): Studio {
  const studio = new Studio({ flows, setup: { script: script as never }, folder })
  open.push(studio)
  return studio
}

describe('a line', () => {
  test('has its turns, with prompts, tools and what ran', async () => {
    const studio = studioOf()
    const line = studio.begin('Shop')
    await say(line, 'Hello', 'look')
    expect(
      line.turns.map(({ input, reply: said, step, path }) => [input.text, said, step, path.map((one) => one.step)]),
    ).toEqual([
      ['Hello', 'You said: Hello', 'Ask', ['Ask']],
      ['look', 'You said: ', 'Ask', ['Ask']],
    ])
    const detail = detailOf(line, 2)
    expect(detail?.models).toMatchObject([
      { provider: 'any', model: 'small', step: 'Ask', system: 'Ask for the name.', inputTokens: 0 },
      { answer: [{ type: 'text' }] },
    ])
    expect(detail?.models[0]?.tools.map(({ name }) => name)).toEqual(['look_up', 'take', 'next', 'fails'])
    expect(detail?.calls).toMatchObject([{ kind: 'tool', name: 'look_up', input: {}, result: { found: 1 } }])
    expect(detail?.changes.map(({ key }) => key)).toEqual(['memory', 'usage', 'turns', 'history'])
    expect(detailOf(line, 1).changes[0]).toEqual({ key: 'step', kind: 'added', after: 'Ask' })
    expect(() => detailOf(line, 3)).toThrow('There is no turn 3.')
  })
})

describe('time', () => {
  test('stands still until it is moved, and plays each timer as a turn', async () => {
    const studio = studioOf()
    const line = studio.begin('Till')
    await say(line, 'Hello')
    const begun = line.stored.now
    expect(viewOf(line, studio.lines).timers).toEqual([{ name: 'remind', step: 'Pay', at: begun + hour }])
    expect(await line.advance(hour / 2)).toBeUndefined()
    expect([line.stored.now, line.turns.length]).toEqual([begun + hour / 2, 1])
    expect(await line.advance()).toBeUndefined()
    expect(line.stored.now).toBe(begun + hour)
    expect(line.turns.at(-1)).toMatchObject({
      input: { sender: 'clock', event: { name: 'remind' } },
      at: begun + hour,
      reply: 'Still there?',
      number: 2,
    })
    expect(await line.advance()).toBe('There is no timer.')
  })

  test('moves before the first message too', async () => {
    const line = studioOf().begin('Till')
    const begun = line.stored.now
    await line.advance(24 * hour)
    await say(line, 'Hello')
    expect(line.turns[0]?.reply).toContain(new Date(begun + 24 * hour).toISOString())
  })
})

describe('events', () => {
  test('are those that the session takes now, and the application sends them', async () => {
    const studio = studioOf()
    const line = studio.begin('Till')
    expect(viewOf(line, studio.lines).events).toEqual([])
    await say(line, 'Hello')
    expect(viewOf(line, studio.lines).events).toEqual([
      { name: 'decision', byUser: false, schema: expect.objectContaining({ anyOf: expect.anything() }) },
    ])
    expect(await line.sendEvent({ name: 'decision', payload: { approved: true }, by: 'Ada' })).toBeUndefined()
    expect(line.turns.at(-1)).toMatchObject({
      input: { text: '', sender: 'application', event: { name: 'decision', payload: { approved: true }, by: 'Ada' } },
      reply: 'Decided: {"approved":true}',
    })
    expect(await line.sendEvent({ name: 'unknown' })).toContain('unknown')
    expect(line.turns).toHaveLength(2)
  })
})

describe('a fork', () => {
  test('has exactly the document of its turn, and its time; the old line stays', async () => {
    const studio = studioOf()
    const line = studio.begin('Till')
    await say(line, 'Hello', 'pay')
    const before = line.stored.now
    await line.advance(3 * hour)
    await say(line, 'later')
    const fork = studio.fork(line, 2)
    expect(fork.document).toEqual(line.turns[1]?.document)
    expect(fork.stored.now).toBe(before)
    await say(fork, 'Hm?')
    expect(fork.turns.map(({ input }) => input.text)).toEqual(['Hello', 'pay', 'Hm?'])
    expect(line.turns).toHaveLength(4)
    expect(fork.document?.id).toBe(line.document?.id)
    expect(studio.lines.map(({ stored: { id, parent } }) => [id, parent])).toEqual([
      ['till-1', undefined],
      ['till-2', { line: 'till-1', turn: 2 }],
    ])
  })

  test('at the beginning is a new session', async () => {
    const studio = studioOf()
    const line = studio.begin('Till')
    await say(line, 'Hello')
    const fork = studio.fork(line, 0)
    expect([fork.document, fork.turns, fork.stored.now]).toEqual([undefined, [], line.stored.now])
    expect(() => studio.fork(line, 2)).toThrow('The line has 1 turns, and not 2.')
  })

  test('returns the recorded result of an effect, which does not run again', async () => {
    const studio = studioOf()
    const line = studio.begin('Till')
    await say(line, 'Hello', 'pay')
    const fork = studio.fork(line, 1)
    await say(fork, 'pay')
    expect(ran.charge).toBe(1)
    expect(fork.turns.at(-1)?.reply).toContain('Paid 1')
    expect(fork.turns.at(-1)?.calls).toMatchObject([{ kind: 'once', name: 'charge', result: 1, isRecorded: true }])
  })

  test('asks before an effect that the earlier line did not have', async () => {
    const studio = studioOf()
    const line = studio.begin('Till')
    await say(line, 'Hello', 'no')
    const fork = studio.fork(line, 1)
    const paying = fork.send({ text: 'pay' })
    await until(studio, () => fork.question !== undefined)
    expect(fork.question).toMatchObject({ kind: 'once', name: 'charge' })
    expect(viewOf(fork, studio.lines)).toMatchObject({
      isBusy: true,
      pending: { text: 'pay' },
      question: { name: 'charge' },
    })
    expect(await fork.send({ text: 'again' })).toBe('A turn is under way. Wait for it, or stop it.')
    expect(await fork.answer('another', 'run')).toBe('This question is not open any more.')
    expect(await fork.answer(String(fork.question?.id), 'maybe')).toBe('The answer is run, run-all or refuse.')
    expect(ran.charge).toBeUndefined()
    await fork.answer(String(fork.question?.id), 'run')
    expect(await paying).toBeUndefined()
    expect(ran.charge).toBe(1)
    expect(fork.question).toBeUndefined()
  })

  test('does not run what its user refuses', async () => {
    const studio = studioOf()
    const line = studio.begin('Till')
    await say(line, 'Hello')
    const fork = studio.fork(line, 1)
    const paying = fork.send({ text: 'pay' })
    await until(studio, () => fork.question !== undefined)
    await fork.answer(String(fork.question?.id), 'refuse')
    await paying
    expect(ran.charge).toBeUndefined()
    expect(fork.turns.at(-1)?.error).toMatchObject({
      code: 'TURN_ABORTED',
      text: expect.stringContaining('You did not let charge run.'),
    })
    // The session is as before, and goes on.
    expect(fork.document?.flow).toEqual(line.document?.flow)
    await say(fork, 'bye')
    expect(viewOf(fork, studio.lines).state).toBe('completed')
  })

  test('stops while it asks', async () => {
    const studio = studioOf()
    const line = studio.begin('Till')
    await say(line, 'Hello')
    const fork = studio.fork(line, 1)
    const paying = fork.send({ text: 'pay' })
    await until(studio, () => fork.question !== undefined)
    await fork.stop()
    await paying
    expect([ran.charge, fork.isBusy, fork.question]).toEqual([undefined, false, undefined])
  })

  test('runs a tool again that changes the session, if its user says so', async () => {
    const studio = studioOf()
    const line = studio.begin('Shop')
    await say(line, 'Hello', 'look', 'take', 'next')
    expect(line.turns.flatMap(({ calls: made }) => made.map(({ name, mustRun }) => [name, mustRun]))).toEqual([
      ['look_up', undefined],
      ['take', true],
      ['next', true],
    ])
    const fork = studio.fork(line, 1)
    await say(fork, 'look')
    expect([ran.look_up, fork.turns.at(-1)?.calls[0]?.isRecorded]).toEqual([1, true])
    const taking = fork.send({ text: 'take' })
    await until(studio, () => fork.question !== undefined)
    expect(fork.question).toMatchObject({
      kind: 'tool',
      name: 'take',
      input: {},
      reason: expect.stringContaining('changes the session'),
    })
    await fork.answer(String(fork.question?.id), 'run-all')
    await taking
    expect(fork.document?.flow.steps.Ask?.state).toEqual({ name: 'Ada' })
    // It was said for the whole line.
    await say(fork, 'next', 'pay')
    expect(ran).toEqual({ look_up: 1, take: 2, next: 2, charge: 1 })
  })

  test('runs a second call of the same tool only if asked: each recorded result is used once', async () => {
    const studio = studioOf()
    const line = studio.begin('Shop')
    await say(line, 'Hello', 'look')
    const fork = studio.fork(line, 1)
    await say(fork, 'look')
    const looking = fork.send({ text: 'look' })
    await until(studio, () => fork.question !== undefined)
    await fork.answer(String(fork.question?.id), 'refuse')
    await looking
    expect(ran.look_up).toBe(1)
    // The model got the refusal, and the turn went on.
    expect(fork.turns.at(-1)?.error).toBeUndefined()
  })

  test('asks for a call that failed', async () => {
    const studio = studioOf()
    const line = studio.begin('Shop')
    await say(line, 'Hello', 'fails')
    expect(line.turns[1]?.calls).toMatchObject([{ name: 'fails', error: 'No 1' }])
    const fork = studio.fork(line, 1)
    const failing = fork.send({ text: 'fails' })
    await until(studio, () => fork.question !== undefined)
    await fork.answer(String(fork.question?.id), 'run')
    await failing
    expect(ran.fails).toBe(2)
  })

  test('of a fork has the recorded results of both', async () => {
    const studio = studioOf()
    const line = studio.begin('Till')
    await say(line, 'Hello', 'pay')
    const fork = studio.fork(line, 1)
    await say(fork, 'pay')
    const second = studio.fork(fork, 1)
    await say(second, 'pay')
    expect(ran.charge).toBe(1)
  })
})

describe('a failed turn', () => {
  test('shows its error with the line of the author, and the line has ended', async () => {
    const studio = studioOf()
    const line = studio.begin('Till')
    await say(line, 'Hello', 'fail')
    const { error } = line.turns.at(-1) ?? {}
    expect(error?.code).toBe('FLOW_ERROR')
    expect(error?.text).toContain('It broke.')
    expect(error?.frames[0]).toMatch(/studio\.test\.ts:\d+/)
    expect(error?.frames.join()).not.toContain(process.cwd())
    expect(viewOf(line, studio.lines).state).toBe('aborted')
    expect(await line.send({ text: 'Hello?' })).toContain('This conversation is aborted.')
    const fork = studio.fork(line, 1)
    await say(fork, 'bye')
    expect(viewOf(fork, studio.lines).state).toBe('completed')
    expect(() => studio.fork(line, 2)).toThrow('With turn 2 the conversation was aborted. Go on from an earlier one.')
    expect(() => studio.fork(fork, 2)).toThrow('was completed')
  })
})

describe('playing again', () => {
  test('sends the same messages through the code as it is now, and marks what differs', async () => {
    const studio = studioOf()
    const line = studio.begin('Till')
    await say(line, 'Hello', 'pay')
    await line.advance(2 * hour)
    await line.sendEvent({ name: 'decision', payload: 1 })
    await say(line, 'bye')
    await studio.close()
    class Louder extends Pay {
      static override readonly id = 'Pay'
      override events() {
        return super
          .events()
          .map((one) => (one.name === 'remind' ? { ...one, execute: () => reply('STILL THERE?') } : one))
      }
    }
    class NewTill extends Till {
      override steps() {
        return [Louder]
      }
    }
    const later = studioOf([NewTill])
    const old = later.line('till-1')
    expect(old.turns).toEqual(JSON.parse(JSON.stringify(line.turns)))
    const again = later.replay(old, 2)
    await until(later, () => again.turns.length === 5 && again.turns[4]?.differs !== undefined)
    expect(again.turns.map(({ differs, reply: said }) => [said.split(',')[0], differs])).toEqual([
      ['Paid 0', undefined],
      ['Paid 1', []],
      ['STILL THERE?', ['reply']],
      ['Decided: 1', []],
      ['Bye.', []],
    ])
    expect(ran.charge).toBe(1)
    expect(again.turns.map(({ at }) => at)).toEqual(old.turns.map(({ at }) => at))
  })
})

describe('the files', () => {
  test('of a flow that has another ID now go on, if the old one is an alias', async () => {
    const line = studioOf().begin('Till')
    await say(line, 'Hello')
    class Register extends Flow {
      static override readonly id = 'Register'
      static override readonly aliases = ['Till']
      override steps() {
        return [Pay]
      }
    }
    const same = studioOf([Register]).line(line.id)
    expect(viewOf(same, [same])).toMatchObject({ state: 'running', map: { steps: [{ id: 'Pay' }, { id: 'End' }] } })
    await say(same, 'again')
    expect(same.turns).toHaveLength(2)
  })

  test('keep lines for a process that takes over, and Git ignores them', async () => {
    const line = studioOf().begin('Shop')
    await say(line, 'Hello', 'look')
    const later = studioOf()
    const same = later.line(line.id)
    await say(same, 'Hm')
    expect(same.turns.map(({ reply: said }) => said)).toEqual(['You said: Hello', 'You said: ', 'You said: Hm'])
    expect(readFileSync(join(folder, '.gitignore'), 'utf8')).toBe('lines/\n')
    expect(readdirSync(join(folder, 'lines'))).toEqual(['shop-1.json'])
    expect(() => later.line('shop-2')).toThrow("There is no line 'shop-2'.")
    // Those of other modules are of no use here.
    expect(studioOf([Till]).lines).toEqual([])
  })

  test('of others are passed over, and never written', () => {
    const lines = join(folder, 'lines')
    mkdirSync(lines)
    writeFileSync(join(lines, 'shop-1.json'), '{"mine":true}')
    writeFileSync(join(lines, 'shop-2.json'), 'no JSON')
    writeFileSync(join(folder, '.gitignore'), '*.log\n')
    const studio = studioOf()
    expect(studio.lines).toEqual([])
    expect(studio.begin('Shop').id).toBe('shop-3')
    expect(readFileSync(join(lines, 'shop-1.json'), 'utf8')).toBe('{"mine":true}')
    expect(readFileSync(join(folder, '.gitignore'), 'utf8')).toBe('*.log\n')
  })

  test('never lead elsewhere', () => {
    const elsewhere = join(folder, 'elsewhere')
    mkdirSync(elsewhere)
    symlinkSync(elsewhere, join(folder, 'lines'))
    expect(() => studioOf()).toThrow('which is a file or a link')
  })
})

describe('a stored session', () => {
  test('is opened to be read, whole or masked, and is not kept', async () => {
    const studio = studioOf()
    const line = studio.begin('Shop')
    await say(line, 'Hello', 'next', 'pay')
    const stored = JSON.parse(JSON.stringify(line.document).replaceAll('Hello', '***'))
    const opened = studio.open(stored)
    expect(opened.turns.map(({ input, reply: said }) => [input.text, said.slice(0, 13)])).toMatchObject([
      ['***', 'You said: ***'],
      ['next', 'Paid 0, at 20'],
      ['pay', 'Paid 1, at 20'],
    ])
    const view = viewOf(opened, studio.lines)
    expect(view).toMatchObject({ isReadOnly: true, state: 'running', step: 'Pay', events: [] })
    expect(view.map.moves).toMatchObject([{ from: 'Ask', to: 'Pay', seen: 2, isOnPath: true }])
    expect(await opened.send({ text: 'Hello' })).toBe('This session can only be read. Begin a new conversation.')
    expect(() => studio.fork(opened, 1)).toThrow('only be read')
    expect(readdirSync(join(folder, 'lines'))).toEqual(['shop-1.json'])
    expect(studio.open({ ...stored, flow: { ...stored.flow, name: 'Gone' } }).turns).toHaveLength(3)
  })

  test.each([null, [], 'text', {}, { id: 'x', flow: {}, history: [] }])('is refused if it is %j', (wrong) => {
    expect(() => studioOf().open(wrong)).toThrow(/^The file /)
  })
})

describe('the map', () => {
  test('has the moves of all lines, each turn once, and the path of this one', async () => {
    const studio = studioOf()
    const line = studio.begin('Shop')
    await say(line, 'Hello', 'next')
    const fork = studio.fork(line, 2)
    await say(fork, 'bye')
    const other = studio.begin('Shop')
    const { steps, moves } = viewOf(fork, studio.lines).map
    expect(steps.map(({ id, kind, seen }) => [id, kind, seen])).toEqual([
      ['Ask', 'model', 2],
      ['Pay', 'logic', 2],
      ['End', 'end', 1],
    ])
    expect(moves).toEqual([
      { from: 'Ask', to: 'Pay', declared: true, seen: 1, isOnPath: true },
      { from: 'Pay', to: 'End', declared: null, seen: 1, isOnPath: true },
    ])
    expect(viewOf(other, studio.lines).map.moves.map(({ isOnPath }) => isOnPath)).toEqual([false, false])
  })
})

describe('a studio', () => {
  test('refuses production, and what is not a list of flows', () => {
    const before = process.env.NODE_ENV
    process.env.NODE_ENV = 'production'
    try {
      expect(() => studioOf()).toThrow('NODE_ENV is production')
    } finally {
      process.env.NODE_ENV = before
    }
    expect(() => studioOf([])).toThrow('a list of one flow or more')
    expect(() => studioOf([{} as never])).toThrow()
    expect(() => studioOf([Shop, class extends Shop {}])).toThrow('Two flows have one ID.')
    expect(() => studioOf().begin('Other')).toThrow("There is no flow 'Other'.")
  })

  test('takes a set-up of scenarios', async () => {
    const setup = { flow: Till, given: { paid: 1 }, script: script as never }
    const studio = new Studio({ flows: [Shop], folder, setup })
    open.push(studio)
    await say(studio.begin('Shop'), 'Hello')
  })

  test('tells its listeners of a new line, until they leave', () => {
    const studio = studioOf()
    const updates: StudioUpdate[] = []
    const leave = studio.listen((update) => updates.push(update))
    studio.begin('Shop')
    leave()
    studio.begin('Till')
    expect(updates).toMatchObject([{ type: 'lines', lines: [{ id: 'shop-1', turns: 0 }], run: studio.run }])
  })

  test('saves with the test runner that the project has, and names the module by its path from there', async () => {
    const source = { file: join(folder, 'flows.js'), exportNames: { Till: 'Till' }, hasSetup: false }
    const studio = new Studio({ flows: [Till], folder, source })
    open.push(studio)
    const line = studio.begin('Till')
    await say(line, 'Hello')
    const save = (): string => readFileSync(String(studio.save(line, 'test', 'Hello')[0]), 'utf8')
    const withNode = save()
    expect(withNode).toContain("from 'node:test'")
    expect(withNode).toContain("from './flows.js'")
    mkdirSync(join(folder, 'node_modules/vitest'), { recursive: true })
    writeFileSync(join(folder, 'node_modules/vitest/package.json'), '{}')
    expect(save()).toContain("from 'vitest'")
    const opened = studio.open(JSON.parse(JSON.stringify(line.document)))
    expect(() => studio.save(opened, 'test', 'Opened')).toThrow('There is no turn to save.')
  })

  test('streams the reply, and says when a line changes', async () => {
    const studio = studioOf()
    const updates: StudioUpdate[] = []
    studio.listen((update) => updates.push(update))
    const line = studio.begin('Shop')
    await say(line, 'look')
    const text = updates.flatMap((update) => (update.type === 'text' ? [update.text] : [])).join('')
    expect(text).toBe('You said: ')
    expect(updates).toContainEqual({ type: 'tool', line: 'shop-1', text: 'look_up' })
    expect(updates.at(-1)).toMatchObject({
      type: 'lines',
      flows: ['Shop', 'Till'],
      lines: [{ id: 'shop-1', turns: 1 }],
    })
  })
})

describe('trouble with files', () => {
  test('of two processes on one line, the second does not write over the first', async () => {
    const written = vi.spyOn(console, 'error').mockImplementation(() => undefined)
    const line = studioOf().begin('Till')
    await say(line, 'Hello')
    const other = studioOf().line(line.id)
    await say(line, 'one')
    await say(other, 'two')
    expect(written.mock.calls.join()).toContain('The line till-1 is not written. Another process has changed it.')
    expect(
      studioOf()
        .line(line.id)
        .turns.map(({ input }) => input.text),
    ).toEqual(['Hello', 'one'])
    written.mockRestore()
  })

  test('does not stop a line, which goes on in memory', async () => {
    const written = vi.spyOn(console, 'error').mockImplementation(() => undefined)
    const line = studioOf().begin('Till')
    rmSync(join(folder, 'lines'), { recursive: true })
    writeFileSync(join(folder, 'lines'), 'a file')
    await say(line, 'Hello', 'again')
    expect(line.turns).toHaveLength(2)
    expect(written.mock.calls.join()).toContain('The line till-1 is not written.')
    written.mockRestore()
  })

  test.each([
    '{"madeBy":"turnkeeper studio 1","line":{"id":"till-1"}}',
    '{"madeBy":"turnkeeper studio 1"}',
    '{"madeBy',
  ])('passes over a damaged file: %s', (text) => {
    mkdirSync(join(folder, 'lines'))
    writeFileSync(join(folder, 'lines', 'till-1.json'), text)
    expect(studioOf().lines).toEqual([])
  })
})

test('a session that cannot be shown is not opened', async () => {
  const studio = studioOf()
  const line = studio.begin('Till')
  await say(line, 'Hello')
  const stored = JSON.parse(JSON.stringify(line.document))
  expect(() => studio.open({ ...stored, flow: { ...stored.flow, sequence: 'damaged' } })).toThrow('cannot be shown')
  expect(studio.lines).toHaveLength(1)
})

test('a stop ends the timers that are left', async () => {
  const studio = studioOf()
  const line = studio.begin('Till')
  await say(line, 'Hello')
  const moving = line.advance(2 * hour)
  await line.stop()
  await moving
  expect(line.turns).toHaveLength(1)
})
