// What a line promises beside its turns: what its forks record, its questions, its time, and turns that are played again.
import { beforeEach, describe, expect, test, vi } from 'vitest'
import { rollingSummary } from '../../../src/compaction/index.js'
import { event, type FlowEngine, finish, reply, Step, type Turn, tool } from '../../../src/index.js'
import { gate, never, type OnlyRun } from '../../contract/engine-harness.js'
import { deskOf, say, Talk, until, useStudios } from '../../contract/studio/line-harness.js'
import type { ScriptedReplyFunction } from '../../scripted-model/scripted-model.js'
import type { EffectCall } from '../api/types.js'

const hour = 3_600_000
const studios = useStudios()
/** The effects that ran. */
let ran: string[] = []

beforeEach(() => {
  ran = []
})

function effect(turn: Turn, name: string): Promise<number> {
  return turn.once(name, () => ran.push(name))
}

const pays: OnlyRun = async (turn) => {
  switch (turn.message) {
    case 'pay':
      return reply(`Paid ${await effect(turn, 'charge')}`)
    case 'break':
      return reply(
        `${await Promise.all([effect(turn, 'first'), effect(turn, 'second'), Promise.reject(new Error('It broke.'))])}`,
      )
    case 'bye':
      return finish('Bye.')
    default:
      return reply(`Heard ${turn.message}`)
  }
}
class Pay extends Step {
  static override readonly id = 'Ask'
  override tools() {
    return [tool({ name: 'pay', description: 'Pays.', execute: () => ran.push('pay') })]
  }
}
class Shopping extends Talk {
  override steps() {
    return [Pay]
  }
}
const reminds = () => [event({ name: 'remind', after: hour, execute: () => reply('Still there?') })]

describe('a fork', () => {
  test('records what came after it, and not what came before', async () => {
    const script: ScriptedReplyFunction = ({ messages }) =>
      messages.at(-1)?.role === 'user' ? { toolCalls: [{ name: 'pay' }] } : 'Paid.'
    const studio = studios.open(Shopping, { script })
    const resultsOf = (calls: readonly EffectCall[] = []): unknown => calls.map(({ result }) => result)
    const line = studio.begin('Talk')
    await say(line, 'pay', 'pay', 'pay')
    const fork = studio.fork(line, 1)
    expect(resultsOf(fork.stored.recorded)).toEqual([2, 3])
    await say(fork, 'pay')
    expect(resultsOf(fork.turns.at(-1)?.calls)).toEqual([2])
    expect(resultsOf(studio.fork(fork, 1).stored.recorded)).toEqual([2, 3])
    expect(ran).toHaveLength(3)
  })
})

describe('a question', () => {
  test('ends with a turn that fails, and the next one is not asked', async () => {
    const studio = studios.open(deskOf(pays))
    const line = studio.begin('Shop')
    await say(line, 'Hello')
    const fork = studio.fork(line, 1)
    const questions: (string | undefined)[] = []
    studio.listen(() => questions.push(fork.question?.name))
    await say(fork, 'break')
    expect(fork.turns.at(-1)?.error?.text).toContain('It broke.')
    await new Promise(setImmediate)
    expect([fork.question, ran]).toEqual([undefined, []])
    expect(new Set(questions)).toEqual(new Set([undefined, 'first']))
  })
})

describe('time', () => {
  test('never goes back: a timer that is due plays at the time of the line', async () => {
    const studio = studios.open(deskOf(pays, reminds))
    const line = studio.begin('Shop')
    await say(line, 'Hello')
    const begun = line.stored.now
    const moving = line.advance(2 * hour)
    await line.stop()
    await moving
    const { now } = line.stored
    expect([now, line.turns.length]).toEqual([begun + 2 * hour, 1])
    expect(await line.advance()).toBeUndefined()
    expect(line.turns.at(-1)).toMatchObject({ reply: 'Still there?', at: now })
    expect(line.stored.now).toBe(now)
  })

  test('stands still while a turn runs, and after the end', async () => {
    const { opened, open } = gate()
    const studio = studios.open(
      deskOf((turn) => (turn.message === 'wait' ? opened.then(() => reply('')) : finish('Bye.'))),
    )
    const line = studio.begin('Shop')
    const begun = line.stored.now
    const turn = line.send({ text: 'wait' })
    expect(await line.advance(hour)).toBe('A turn is under way. Wait for it, or stop it.')
    open()
    expect(await turn).toBeUndefined()
    await say(line, 'bye')
    expect(await line.advance(hour)).toContain('This conversation is completed.')
    expect(line.stored.now).toBe(begun)
  })
})

describe('a turn', () => {
  test('has the owner and the config of the set-up', async () => {
    const told: OnlyRun = (turn) => reply(JSON.stringify(turn.context))
    const studio = studios.open(deskOf(told), { owner: 'ada', config: { size: 'large' } })
    const line = studio.begin('Shop')
    expect(await say(line, 'Hello', 'again')).toEqual(Array(2).fill('{"config":{"size":"large"}}'))
    expect(line.document?.owner).toBe('ada')
    expect(line.turns.map(({ error }) => error)).toEqual([undefined, undefined])
  })

  test('has the document after its summary', async () => {
    class Long extends Talk {
      static override readonly compaction = {
        Ask: rollingSummary({ above: 2, keep: 1, model: { provider: 'other', name: 'small' } }),
      }
    }
    const studio = studios.open(Long, { script: ({ origin }) => (origin.stepId === 'Ask' ? 'Yes.' : 'They talk.') })
    const line = studio.begin('Talk')
    await say(line, '1', '2', '3')
    const last = line.turns.at(-1)
    expect(JSON.stringify(last?.document)).toContain('They talk.')
    expect(last?.document).toEqual(line.document)
    expect(last?.models.map(({ provider, step }) => [provider, step])).toEqual([
      ['any', 'Ask'],
      ['other', 'memory:Ask'],
    ])
  })
})

describe('playing again', () => {
  test('marks no older turn if what was sent makes no turn now', async () => {
    const decision = () => [event({ name: 'decision', execute: () => reply('Decided.') })]
    const line = studios.open(deskOf(pays, decision)).begin('Shop')
    await say(line, 'Hello')
    expect(await line.sendEvent({ name: 'decision' })).toBeUndefined()
    await say(line, 'Hm')
    const studio = studios.open(deskOf(pays))
    const again = studio.replay(studio.line(line.id), 2)
    await until(studio, () => again.turns.at(-1)?.differs !== undefined)
    expect(again.turns.map(({ reply: said, differs }) => [said, differs])).toEqual([
      ['Heard Hello', undefined],
      ['Heard Hm', []],
    ])
  })

  test('ends with a stop', async () => {
    const line = studios.open(deskOf(pays)).begin('Shop')
    await say(line, 'Hello', 'wait', 'Hm')
    const { opened, open } = gate()
    const hangs: OnlyRun = (turn, step) => {
      if (turn.message !== 'wait') return pays(turn, step)
      open()
      return never()
    }
    const studio = studios.open(deskOf(hangs))
    const again = studio.replay(studio.line(line.id), 1)
    await opened
    await again.stop()
    await until(studio, () => !again.isBusy)
    await new Promise(setImmediate)
    expect(again.turns.map(({ error }) => error?.code)).toEqual([undefined, 'TURN_ABORTED'])
    expect(again.isBusy).toBe(false)
  })

  test('says in the terminal why it cannot, if there is no engine', async () => {
    const written = vi.spyOn(console, 'error').mockImplementation(() => undefined)
    const line = studios.open(deskOf(pays)).begin('Shop')
    await say(line, 'Hello')
    const studio = studios.open(deskOf(pays), { limits: { patience: 1 } as object })
    const again = studio.replay(studio.line(line.id), 1)
    await vi.waitFor(() => expect(written).toHaveBeenCalled())
    expect(String(written.mock.calls[0])).toContain('patience')
    expect([again.isBusy, again.turns]).toEqual([false, []])
    written.mockRestore()
  })
})

test('a studio that closes ends the engines of its lines', async () => {
  const engines: FlowEngine[] = []
  const studio = studios.open(deskOf(pays), { onEngine: (engine) => engines.push(engine) })
  await say(studio.begin('Shop'), 'Hello')
  await studio.close()
  const late = engines.map((engine) => engine.execute({ flowName: 'Shop', userMessage: 'Hello' }))
  expect((await Promise.all(late)).map(({ error }) => error?.code)).toEqual(['ENGINE_CLOSED'])
})
