// What runs again in a fork, and what is recorded: a result is returned only for a call that did nothing but return it.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { event, Flow, FlowError, LogicStep, reply, Step, type Turn, tool } from '../../../src/index.js'
import type { ScriptedReplyFunction } from '../../scripted-model/scripted-model.js'
import type { EffectCall } from '../api/types.js'
import { Studio, type StudioOptions } from '../studio.js'
import type { StudioLine } from './line.js'

type Execute = (args: never, turn: Turn, step: Desk) => unknown

let folder: string
/** What the tool `act` does. */
let act: Execute
let ran = 0
const studios: Studio[] = []

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'studio-'))
  ran = 0
  argument = {}
})

afterEach(async () => {
  await Promise.all(studios.splice(0).map((studio) => studio.close()))
  rmSync(folder, { recursive: true })
})

/** Any argument, as the schema makes it. */
let argument: unknown
const anything = {
  '~standard': {
    version: 1,
    vendor: 'test',
    validate: () => ({ value: argument }),
    jsonSchema: { input: () => ({ type: 'object' }), output: () => ({ type: 'object' }) },
  },
} as const

class Other extends LogicStep<{ count: number }> {
  static override readonly id = 'Other'
  override initialState() {
    return { count: 0 }
  }
  override run() {
    return reply('')
  }
}
class Desk extends Step<{ count: number }> {
  static override readonly id = 'Desk'
  override initialState() {
    return { count: 0 }
  }
  override model() {
    return { provider: 'any', name: 'any' }
  }
  override events() {
    return [event({ name: 'remind', after: 1000, execute: () => reply('Hm?') })]
  }
  override tools() {
    const execute = (args: unknown, turn: Turn): unknown => {
      ran++
      return act(args as never, turn, this)
    }
    return ['act', 'beside'].map((name) =>
      tool({
        name,
        description: 'Acts.',
        input: anything as never,
        parallel: true,
        execute: name === 'act' ? (execute as never) : () => Promise.resolve('beside'),
      }),
    )
  }
}
class Talk extends Flow {
  static override readonly id = 'Talk'
  override steps() {
    return [Desk, Other]
  }
  override onMessage(turn: Turn) {
    if (!turn.message.startsWith('secret')) return undefined
    turn.hideMessage('[hidden]')
    if (turn.message === '[hidden]' && ran < 0) throw new Error('It broke.')
    return reply('Thanks.')
  }
}

const script: ScriptedReplyFunction = ({ messages }) => {
  const last = messages.at(-1)
  const [part] = last?.parts ?? []
  const text = part?.type === 'text' ? part.text : ''
  if (last?.role !== 'user') return JSON.stringify(part && 'output' in part ? part.output : null)
  return text === 'act'
    ? { toolCalls: [{ name: 'act' }] }
    : text === 'both'
      ? { toolCalls: [{ name: 'act' }, { name: 'beside' }] }
      : 'Hello!'
}

function studio(setup: StudioOptions['setup'] = {}): Studio {
  const made = new Studio({ flows: [Talk], folder, setup: { script, ...setup } })
  studios.push(made)
  return made
}

/** A line that has acted, and the same message in a fork before that. `asked` says whether the fork has asked. */
async function actTwice(of: Studio, text = 'act'): Promise<{ line: StudioLine; fork: StudioLine; asked: string[] }> {
  const line = of.begin('Talk')
  await line.send({ text: 'Hello' })
  await line.send({ text })
  const fork = of.fork(line, 1)
  const asked = await answered(of, fork, fork.send({ text }))
  return { line, fork, asked }
}

/** Says yes to each question of a turn. Returns their reasons. */
async function answered(of: Studio, line: StudioLine, turn: Promise<unknown>): Promise<string[]> {
  const asked: string[] = []
  let last = ''
  const answer = (): void => {
    if (line.question === undefined || line.question.id === last) return
    last = line.question.id
    asked.push(`${line.question.name}: ${line.question.reason ?? 'new'}`)
    void line.answer(last, 'run')
  }
  const stop = of.listen(answer)
  answer()
  await turn
  stop()
  return asked
}

const callsOf = ({ turns }: StudioLine): readonly EffectCall[] => turns.at(-1)?.calls ?? []
const again =
  'act: It ran in the earlier line, and has to run again because it, or a tool beside it, changes the session.'

describe('a tool', () => {
  test.each<[string, Execute]>([
    ['a text', () => 'Done it.'],
    ['an object', () => ({ list: [1] })],
    ['nothing', () => undefined],
    ['null', () => null],
    ['something later', async () => 1],
    ['what it reads of the state of another step', (_args, turn) => turn.stateOf(Other).count],
    ['what it reads of the turn', (_args, turn) => [turn.message, turn.context, turn.session.id, turn.now > 0]],
  ])('that returns %s does not run again, and the model gets the same', async (_name, execute) => {
    act = execute
    const { line, fork, asked } = await actTwice(studio())
    expect([asked, ran]).toEqual([[], 1])
    expect(callsOf(fork)).toMatchObject([{ isRecorded: true }])
    expect(fork.document?.flow.memory).toEqual(line.document?.flow.memory)
  })

  test.each<[string, Execute]>([
    ['its state', (_args, _turn, step) => void step.state.count++],
    ['the state of another step', (_args, turn) => void turn.stateOf(Other).count++],
    ['the context', (_args, turn) => turn.addContext({ ran })],
    ['a timer', (_args, turn) => turn.setTimer('remind', 5000)],
    ['a memory', (_args, turn) => turn.memory().clear()],
    ['effects', (_args, turn) => turn.once('once', () => 1)],
    ['what an effect has left', (_args, turn) => turn.forget('once')],
    ['values of its turn', (_args, turn) => void turn.transient.set('ran', ran)],
  ])('that changes %s asks, and runs again', async (_name, execute) => {
    act = execute
    const { line, fork, asked } = await actTwice(studio())
    expect([asked[0], ran]).toEqual([again, 2])
    expect(callsOf(line).find(({ name }) => name === 'act')).toMatchObject({ mustRun: true })
    expect(fork.document?.flow.steps).toEqual(line.document?.flow.steps)
    expect(fork.document?.effects).toEqual(line.document?.effects)
  })

  test('beside another one that only returns does not make that one run again', async () => {
    act = (_args, turn) => turn.addContext({ ran })
    const { asked } = await actTwice(studio(), 'both')
    expect(asked.filter((one) => one.startsWith('act'))).toEqual([again])
  })

  test('that changes its arguments is known by what it got', async () => {
    argument = { order: 1 }
    act = (args: { order: number }) => {
      args.order = 99
      return 'Done it.'
    }
    const made = studio()
    const line = made.begin('Talk')
    await line.send({ text: 'Hello' })
    await line.send({ text: 'act' })
    argument = { order: 1 }
    const fork = made.fork(line, 1)
    expect(await answered(made, fork, fork.send({ text: 'act' }))).toEqual([])
    expect([ran, callsOf(line)[0]?.input]).toEqual([1, { order: 1 }])
  })

  test.each([[10n], [new Map([['a', 1]])], [() => 1]])('with arguments that are no JSON asks: %s', async (given) => {
    argument = given
    act = () => 'Done it.'
    const { line, asked } = await actTwice(studio())
    argument = {}
    expect([asked, ran]).toEqual([[again], 2])
    // The line is stored all the same.
    expect(studio().line(line.id).turns).toHaveLength(2)
  })

  test('that failed asks again', async () => {
    act = () => {
      throw new Error('No bank.')
    }
    const { asked } = await actTwice(studio())
    expect(asked).toEqual(['act: It failed in the earlier line.'])
  })

  test('that throws an error for its user must run in a saved test', async () => {
    act = () => {
      throw new FlowError({ code: 'INVALID_INPUT', message: 'Not that.' })
    }
    const { line } = await actTwice(studio())
    expect(callsOf(line)).toMatchObject([{ error: 'Not that.', mustRun: true }])
  })

  test('that was under way when its turn was stopped asks again', async () => {
    const made = studio()
    const line = made.begin('Talk')
    await line.send({ text: 'Hello' })
    let begun = (): void => undefined
    const begins = new Promise<void>((resolve) => {
      begun = resolve
    })
    act = () => {
      begun()
      return new Promise(() => undefined)
    }
    const turn = line.send({ text: 'act' })
    await begins
    await line.stop()
    await turn
    act = () => 'Done it.'
    const fork = made.fork(line, 1)
    const asked = await answered(made, fork, fork.send({ text: 'act' }))
    expect(asked).toEqual(['act: Its turn ended in the earlier line before it did, so its outcome is unknown.'])
    expect(ran).toBe(2)
  })

  test('that was refused is recorded, so that no saved test runs it', async () => {
    act = () => 'Done it.'
    const made = studio()
    const line = made.begin('Talk')
    await line.send({ text: 'Hello' })
    const fork = made.fork(line, 1)
    const turn = fork.send({ text: 'act' })
    const stop = made.listen(() => fork.question && void fork.answer(fork.question.id, 'refuse'))
    await turn
    stop()
    expect(ran).toBe(0)
    expect(callsOf(fork)).toMatchObject([{ name: 'act', isToolError: true, error: expect.stringContaining('said no') }])
  })
})

describe('a recorded result', () => {
  test('is used once, also if the process restarts in between', async () => {
    act = () => 'Done it.'
    const { fork } = await actTwice(studio())
    const later = studio()
    const same = later.line(fork.id)
    expect(await answered(later, same, same.send({ text: 'act' }))).toEqual(['act: new'])
    expect(ran).toBe(2)
  })

  test('that a fork has not used goes on to the forks of it', async () => {
    act = () => 'Done it.'
    const made = studio()
    const line = made.begin('Talk')
    for (const text of ['Hello', 'more', 'act']) await line.send({ text })
    const fork = made.fork(line, 1)
    await fork.send({ text: 'something else' })
    const second = made.fork(fork, 2)
    expect(await answered(made, second, second.send({ text: 'act' }))).toEqual([])
    const third = made.fork(second, 2)
    expect(await answered(made, third, third.send({ text: 'act' }))).toEqual([])
    expect(ran).toBe(1)
  })
})

test('doubles that are lists go on where the turns so far have left them', async () => {
  const setup = { tools: { act: ['one', 'two', 'three'] } }
  const made = studio(setup)
  const line = made.begin('Talk')
  for (const text of ['act', 'act']) await line.send({ text })
  const same = studio(setup).line(line.id)
  await same.send({ text: 'act' })
  expect(same.turns.map(({ reply: said }) => said)).toEqual(['"one"', '"two"', '"three"'])
  expect(ran).toBe(0)
})

describe('a message that the flow hides', () => {
  class Pin extends LogicStep {
    static override readonly id = 'Pin'
    override events() {
      const hide = (_payload: unknown, turn: Turn): never | ReturnType<typeof reply> => {
        turn.hideMessage('[PIN]')
        return reply('Thanks.')
      }
      return [event({ name: 'pin', byUser: true, input: anything as never, execute: hide })]
    }
    override run(turn: Turn) {
      const { message } = turn
      if (turn.entered) return reply('The PIN?')
      turn.hideMessage('[PIN]')
      if (message.startsWith('fail')) throw new Error('It broke.')
      return reply('Thanks.')
    }
  }
  class Vault extends Flow {
    static override readonly id = 'Vault'
    static override readonly onTurnError = 'rollback'
    override steps() {
      return [Pin]
    }
  }

  test.each<[string, (line: StudioLine) => Promise<unknown>]>([
    ['in a turn', (line) => line.send({ text: 'canary' })],
    ['in a turn that fails', (line) => line.send({ text: 'fail canary' })],
    ['of an event', (line) => line.send({ text: '', event: { name: 'pin', payload: { pin: 'canary' } } })],
    [
      'of a long event',
      (line) => line.send({ text: '', event: { name: 'pin', payload: { pin: 'canary'.repeat(500) } } }),
    ],
  ])('%s is in no file, and neither played again nor saved', async (_name, send) => {
    argument = { pin: 'canary' }
    const source = { file: 'flows.js', exportNames: { Vault: 'Vault' }, hasSetup: false }
    const made = new Studio({ flows: [Vault], folder, source })
    studios.push(made)
    const line = made.begin('Vault')
    await line.send({ text: 'Hello' })
    await send(line)
    expect(line.turns).toHaveLength(2)
    expect(line.turns[1]?.input.isHidden).toBe(true)
    expect(readFileSync(join(folder, 'lines', `${line.id}.json`), 'utf8')).not.toContain('canary')
    expect(() => made.replay(line, 2)).toThrow('hidden or masked, so it cannot be played again')
    expect(() => made.save(line, 'test', 'x')).toThrow('cannot be saved')
    // Up to the turn before it, nothing is hidden.
    expect(made.replay(line, 3).turns).toHaveLength(2)
  })
})
