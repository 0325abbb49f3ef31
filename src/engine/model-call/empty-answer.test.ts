// Empty answers: no tool call, and no text but white space.
import { afterEach, describe, expect, test } from 'vitest'
import { expectNothingLeft } from '../../../testing/contract/engine-harness.js'
import {
  type Act,
  Chat,
  calls,
  chatOf,
  chatOn,
  hello,
  type ModelHarness,
  modelHarness,
  status,
  Talk,
  toolThat,
} from '../../../testing/contract/model-harness.js'
import { lines } from '../../../testing/contract/test-flows.js'
import { go, LogicStep, reply } from '../../index.js'

afterEach(expectNothingLeft)

const nothing: Act = () => ({ parts: [] })
const cut: Act = () => ({ parts: [{ type: 'reasoning', text: 'Well, ' }], finishReason: 'length' })
const failed = "Model 'small' of provider 'own' failed."
const stays = `${failed} Its answer has neither text nor a tool call.`

/** The last message of each request. */
function lastWords({ asked }: ModelHarness): (string | undefined)[] {
  return asked.map(({ request }) => lines(request.messages).at(-1))
}

describe('an empty answer', () => {
  test.each<[string, Act]>([
    ['no part', nothing],
    ['an empty text', ''],
    ['white space', ' \n\t'],
    ['several blank texts', () => ({ parts: ['', ' '].map((text) => ({ type: 'text', text })) })],
    ['reasoning alone', () => ({ parts: [{ type: 'reasoning', text: 'I could say hello.' }] })],
  ])('is not a reply: the model is asked again, with the reason: %s', async (_what, act) => {
    const made = modelHarness({ 'own/small': [act, 'Hi.'] }, { flows: [Chat] })
    const { message, session } = await made.engine.run(hello)
    expect(message).toBe('Hi.')
    expect(lastWords(made)).toEqual(['user: Hello', 'user: Your last answer was empty. Answer again, with text.'])
    expect(made.calls()).toEqual(['own/small 1.1 at 0', 'own/small 1.2 at 0'])
    expect(lines((await made.engine.getSession(session))?.flow.memory.Talk?.messages)).toEqual([
      'user: Hello',
      'assistant: Hi.',
    ])
  })

  test('that was cut at its length is asked for with that reason', async () => {
    const made = modelHarness({ 'own/small': [cut, 'Hi.'] }, { flows: [Chat] })
    expect((await made.engine.run(hello)).message).toBe('Hi.')
    expect(lastWords(made)[1]).toBe(
      'user: Your last answer reached its maximum length before it had any text. Answer again, with text.',
    )
  })

  test('after a tool call is asked for again too, and the tool is not run again', async () => {
    const looks: string[] = []
    class Looking extends Talk {
      override tools() {
        return [toolThat('look', () => void looks.push('look'))]
      }
    }
    const made = modelHarness({ 'own/small': [calls('look'), nothing, 'Seen.'] }, { flows: [chatOf(Looking)] })
    expect((await made.engine.run(hello)).message).toBe('Seen.')
    expect(lastWords(made).slice(1)).toEqual([
      'tool: look = "Done."',
      'user: Your last answer was empty. Answer again, with text or a tool call.',
    ])
    expect(looks).toEqual(['look'])
  })

  test('is not shown to onReply', async () => {
    const shown: string[] = []
    class Hearing extends Talk {
      override onReply(text: string) {
        shown.push(text)
        return text
      }
    }
    const made = modelHarness({ 'own/small': [nothing, 'Hi.'] }, { flows: [chatOf(Hearing)] })
    await made.engine.run(hello)
    expect(shown).toEqual(['Hi.'])
  })

  test('has the reason in each further attempt, but not in later calls', async () => {
    const made = modelHarness({ 'own/small': [nothing, status(500), 'Hi.', 'Yes.'] }, { flows: [Chat] })
    const { session } = await made.clock.runUntil(made.engine.run(hello))
    await made.engine.run({ ...hello, sessionId: session, userMessage: 'And?' })
    const reason = 'user: Your last answer was empty. Answer again, with text.'
    expect(lastWords(made)).toEqual(['user: Hello', reason, reason, 'user: And?'])
  })

  test('counts as an attempt: after the last one the turn fails, and nothing is committed', async () => {
    const made = modelHarness({ 'own/small': [nothing, nothing, cut] }, { flows: [Chat] })
    const { response, error } = await made.engine.execute(hello)
    expect([error?.code, error?.message]).toEqual([
      'MODEL_ERROR',
      `${failed} Its answer was cut before it had any text.`,
    ])
    expect(made.asked).toHaveLength(3)
    expect(await made.engine.getSession(response.session)).toMatchObject({ history: [], flow: { memory: {} } })
  })

  test('of each attempt has the next model asked, which gets no reason: it has not been asked yet', async () => {
    const made = modelHarness(
      { 'own/small': [nothing, nothing, nothing], 'other/large': ['Hi.'] },
      { flows: [chatOn('own/small', 'other/large')] },
    )
    expect((await made.engine.run(hello)).message).toBe('Hi.')
    expect(lastWords(made)[3]).toBe('user: Hello')
    expect(made.events.map(([name]) => name)).toContain('model:fallback')
  })

  test('of every model goes to onModelError', async () => {
    class Sorry extends Talk {
      override onModelError(error: Error) {
        return reply(`Sorry: ${error.message}`)
      }
    }
    const made = modelHarness({ 'own/small': [nothing] }, { flows: [chatOf(Sorry)], modelRetry: { maxAttempts: 1 } })
    expect((await made.engine.run(hello)).message).toBe(`Sorry: ${stays}`)
  })

  test('is reported as a failed attempt and a retry, and does not open the circuit', async () => {
    const usage = { inputTokens: 9, outputTokens: 4 }
    const made = modelHarness(
      { 'own/small': [() => ({ parts: [], usage }), 'Hi.'] },
      { flows: [Chat], circuitBreaker: { failureThreshold: 1 } },
    )
    expect((await made.engine.run(hello)).message).toBe('Hi.')
    const told = made.events.filter(([name]) => ['model:end', 'model:retry', 'circuit:opened'].includes(name))
    expect(told).toMatchObject([
      ['model:end', { success: false, attempt: 1, ...usage }],
      ['model:retry', { reason: 'empty', delayMs: 0, callNumber: 1 }],
      ['model:end', { success: true, attempt: 2 }],
    ])
  })

  test('is paid for: its budget ends the attempts', async () => {
    const made = modelHarness(
      { 'own/small': [nothing, 'Hi.'] },
      { flows: [Chat], budgets: { turn: { modelCalls: 1 } } },
    )
    expect((await made.engine.execute(hello)).error?.code).toBe('BUDGET_EXCEEDED')
    expect(made.asked).toHaveLength(1)
  })

  test('in a stream takes back its white space', async () => {
    async function* blank() {
      yield { type: 'text-delta', text: ' ' } as const
      yield { type: 'finish', response: { parts: [{ type: 'text', text: ' ' }] } } as const
    }
    async function* answer() {
      yield { type: 'text-delta', text: 'Hi.' } as const
      yield { type: 'finish', response: { parts: [{ type: 'text', text: 'Hi.' }] } } as const
    }
    const streams = [blank, answer]
    const generate = () => Promise.reject(new Error('Not asked.'))
    const stream = () => (streams.shift() ?? answer)()
    const provider = { provider: 'own', resolve: () => ({ provider: 'own', name: 'small', generate, stream }) }
    const { engine } = modelHarness({}, { flows: [Chat], providers: [provider] as never })
    const pieces: unknown[] = []
    for await (const piece of engine.stream(hello)) pieces.push(piece)
    expect(pieces.slice(-4)).toMatchObject([
      { type: 'text-delta', text: ' ' },
      { type: 'reset', reason: 'retry' },
      { type: 'text-delta', text: 'Hi.' },
      { type: 'result', response: { message: 'Hi.' } },
    ])
  })
})

test('an answer that was cut at its length but has text is the reply', async () => {
  const made = modelHarness(
    { 'own/small': [() => ({ parts: [{ type: 'text', text: 'It is on' }], finishReason: 'length' })] },
    { flows: [Chat] },
  )
  expect((await made.engine.run(hello)).message).toBe('It is on')
})

test('a tool call without text is an answer, and so is a move', async () => {
  class Next extends LogicStep {
    static override readonly id = 'Next'
    override run() {
      return reply('There.')
    }
  }
  class Moving extends Talk {
    override tools() {
      return [toolThat('move', () => go(Next))]
    }
  }
  const made = modelHarness({ 'own/small': [calls('move')] }, { flows: [chatOf(Moving, Next)] })
  expect((await made.engine.run(hello)).message).toBe('There.')
})
