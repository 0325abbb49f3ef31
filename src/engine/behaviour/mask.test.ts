// The option `mask`: what is stored in place of what was said.
import { afterEach, describe, expect, test } from 'vitest'
import { expectNothingLeft, flowOf, harness } from '../../../testing/contract/engine-harness.js'
import { calls, chatOf, hello, modelHarness, Talk, toolThat } from '../../../testing/contract/model-harness.js'
import { slidingWindow } from '../../compaction/index.js'
import { type FlowEngineOptions, type ModelRequest, reply, stay, tool } from '../../index.js'

afterEach(expectNothingLeft)

type Mask = NonNullable<FlowEngineOptions['mask']>

/** Answers with the place where it was called. */
const mask: Mask = (text, where) => text.replaceAll('secret', `<${where}>`)

function talkWith(...tools: ReturnType<typeof tool>[]): typeof Talk {
  return class extends Talk {
    override tools() {
      return tools
    }
  }
}

const textsOf = ({ messages }: ModelRequest): string => JSON.stringify(messages.map(({ parts }) => parts))

describe('what is stored', () => {
  test('in history and memory: masked texts; the model of this turn, the reply and the tool get the texts', async () => {
    const received: unknown[] = []
    const look = tool({
      name: 'look',
      description: 'Looks.',
      execute(input) {
        received.push(input)
        return { found: ['a secret', 42, null, true], secret: 7 }
      },
    })
    const { engine, asked, document } = modelHarness(
      { 'own/small': [calls('look', { for: { secret: 'the secret' } }), 'Your secret.', 'Again: secret.'] },
      { flows: [chatOf(talkWith(look))], mask },
    )
    const { response } = await engine.execute({ ...hello, userMessage: 'My secret' })
    expect(response.message).toBe('Your secret.')
    expect(received).toEqual([{ for: { secret: 'the secret' } }])
    expect(textsOf(asked[1]?.request as ModelRequest)).not.toContain('<')
    const { history, flow } = await document(response.session)
    expect(history[0]).toMatchObject({ message: 'My <message>', reply: 'Your <reply>.' })
    expect(flow.memory.Talk?.messages.map(({ parts }) => parts[0])).toEqual([
      { type: 'text', text: 'My <message>' },
      {
        type: 'tool-call',
        toolCallId: 'call-look',
        toolName: 'look',
        input: { for: { '<tool-call>': 'the <tool-call>' } },
      },
      {
        type: 'tool-result',
        toolCallId: 'call-look',
        toolName: 'look',
        output: { found: ['a <tool-result>', 42, null, true], '<tool-result>': 7 },
      },
      { type: 'text', text: 'Your <reply>.' },
    ])
    await engine.execute({ ...hello, userMessage: 'And?', sessionId: response.session })
    // Of earlier turns a model sees what is stored.
    expect(textsOf(asked[2]?.request as ModelRequest)).not.toContain('secret')
    expect((await document(response.session)).history[0]).toMatchObject({ message: 'My <message>' })
  })

  test('reasoning and what only a provider can read is left out, and so is nothing else', async () => {
    const parts = [
      { type: 'reasoning', text: 'secret', providerData: { own: { signature: 'secret' } } },
      { type: 'text', text: 'Well.', providerData: { own: { id: 'secret' } } },
      { type: 'tool-call', toolCallId: 'one', toolName: 'look', input: {}, providerData: { own: { id: 'secret' } } },
    ]
    const acts = { 'own/small': [() => ({ parts }), 'Done.'] }
    const flows = [chatOf(talkWith(toolThat('look', () => 'seen')))]
    const masked = modelHarness(acts, { flows, mask })
    const { session } = await masked.engine.run(hello)
    expect((await masked.document(session)).flow.memory.Talk?.messages[1]?.parts).toEqual([
      { type: 'text', text: 'Well.' },
      { type: 'tool-call', toolCallId: 'one', toolName: 'look', input: {} },
    ])
    expect(textsOf(masked.asked[1]?.request as ModelRequest)).toContain('signature')
    const plain = modelHarness(acts, { flows })
    const { session: other } = await plain.engine.run(hello)
    expect((await plain.document(other)).flow.memory.Talk?.messages[1]?.parts).toEqual(parts)
  })

  test('numbers are asked about as their digits, and one that changes is stored as the text', async () => {
    const { engine, document } = modelHarness(
      { 'own/small': [calls('pay', { card: 4111111111111111, amount: 12.5 }), 'Done.'] },
      {
        flows: [chatOf(talkWith(toolThat('pay', () => 4111111111111111)))],
        mask: (text) => text.replace(/\d{16}/, '[card]'),
      },
    )
    const { session } = await engine.run(hello)
    const [, call, result] = (await document(session)).flow.memory.Talk?.messages ?? []
    expect([call?.parts[0], result?.parts[0]]).toMatchObject([
      { input: { card: '[card]', amount: 12.5 } },
      { output: '[card]' },
    ])
  })

  test('a call with arguments that cannot be read, and what the model receives about its answer', async () => {
    const unreadable = { type: 'tool-call', toolCallId: 'one', toolName: 'look', invalidInput: 'They are secret.' }
    class Fussy extends talkWith(toolThat('look', () => 'seen')) {
      override onReply(text: string) {
        return text === 'ok' ? text : stay('Not a secret, please.')
      }
    }
    const { engine, document } = modelHarness(
      { 'own/small': [() => ({ parts: [unreadable] }), 'the secret', 'ok'] },
      { flows: [chatOf(Fussy)], mask },
    )
    const { session } = await engine.run(hello)
    const stored = JSON.stringify((await document(session)).flow.memory.Talk)
    expect(stored).not.toContain('secret')
    expect(stored).toContain('"invalidInput":"They are <tool-call>."')
    expect(stored).toContain('"output":"Invalid arguments: They are <tool-result>."')
    expect(stored).toContain('the <reply>')
    expect(stored).toContain('Not a <message>, please.')
  })

  test('names of files, and neither their bytes nor their addresses', async () => {
    const { engine, document } = modelHarness({ 'own/small': ['Seen.'] }, { flows: [chatOf(Talk)], mask })
    const file = { type: 'file', mediaType: 'text/plain', data: btoa('secret'), name: 'secret.txt' } as const
    const image = { type: 'image', mediaType: 'image/png', url: 'https://example.com/secret' } as const
    const { session } = await engine.run({ ...hello, attachments: [file, image] })
    const { flow, attachments } = await document(session)
    expect(flow.memory.Talk?.messages[0]?.parts.slice(1)).toEqual([
      expect.objectContaining({ name: '<message>.txt' }),
      image,
    ])
    expect(attachments?.[0]).toMatchObject({ data: btoa('secret') })
  })

  test.each([
    ['a text', () => reply('a secret'), 'a <reply>'],
    [
      'JSON stays JSON',
      () => reply({ a: 'secret "quoted"', secret: [1] }),
      '{"a":"<reply> \\"quoted\\"","<reply>":[1]}',
    ],
    [
      'JSON without anything to mask stays as it is written',
      () => reply('{ "a": 1 }').withContentType('application/json'),
      '{ "a": 1 }',
    ],
    ['what is not JSON after all', () => reply('{secret').withContentType('application/json'), '{<reply>'],
    [
      'bytes are not asked about',
      () => reply(btoa('secret')).withContentType('application/pdf', { encoding: 'base64' }),
      btoa('secret'),
    ],
  ])('of a reply: %s', async (_what, run, expected) => {
    const asked: string[] = []
    const { engine, document } = harness({
      flows: [flowOf('Talk', run as never)],
      mask(text, where) {
        asked.push(text)
        return mask(text, where)
      },
    })
    const { response } = await engine.execute({ flowName: 'Talk', userMessage: '' })
    expect(response.message).toBe((run as () => ReturnType<typeof reply>)().fields.reply)
    expect((await document(response.session)).history[0]?.reply).toBe(expected)
    // The empty message of the user is not asked about.
    expect(asked).not.toContain('')
    if (expected === btoa('secret')) expect(asked).toEqual([])
  })

  test.each([
    ['a key that comes twice', '{"mail":"secret","mail":"none"}', '{"mail":"<reply>","mail":"none"}'],
    ['more digits than a number keeps', '[1234567890123456789012, -1234567890.5e-7]', '["#", -1234567890.5e-7]'],
    [
      'all else is copied',
      ' { "id": 12345678901234567890,\n "__proto__": 10.50, "e":"\\u0041\\\\\\"", "a":"\\u0073ecret" }',
      ' { "id": 12345678901234567890,\n "__proto__": 10.50, "e":"\\u0041\\\\\\"", "a":"<reply>" }',
    ],
    ['keys, and lists in lists', '[[true,null,{"secret":[]}]]', '[[true,null,{"<reply>":[]}]]'],
  ])('of a reply in JSON, as it is written: %s', async (_what, text, expected) => {
    const { engine, document } = harness({
      flows: [flowOf('Talk', () => reply(text))],
      mask: (one, where) => (one === '1234567890123456789012' ? '#' : mask(one, where)),
    })
    const { session } = await engine.run({ flowName: 'Talk', userMessage: '' })
    expect((await document(session)).history[0]?.reply).toBe(expected)
  })

  test('of a reply in JSON: what the mask returns cannot break it', async () => {
    const { engine, document } = harness({
      flows: [flowOf('Talk', () => reply({ card: 4111111111111111, name: 'Ada' }))],
      mask: (text) => text.replace(/\d{16}|Ada/, '"quoted"'),
    })
    const { session } = await engine.run({ flowName: 'Talk', userMessage: '' })
    expect(JSON.parse((await document(session)).history[0]?.reply ?? '')).toEqual({
      card: '"quoted"',
      name: '"quoted"',
    })
  })

  test('asks for each text once, so that a mask may number what it replaces', async () => {
    let count = 0
    const { engine, document } = modelHarness(
      { 'own/small': ['secret', 'secret'] },
      { flows: [chatOf(Talk)], mask: () => `#${++count}` },
    )
    const { session } = await engine.run({ ...hello, userMessage: 'one' })
    const { history, flow } = await document(session)
    const [said, answered] = flow.memory.Talk?.messages.map(({ parts }) => parts[0]) ?? []
    expect(history[0]).toMatchObject({
      message: (said as { text: string }).text,
      reply: (answered as { text: string }).text,
    })
    expect(count).toBe(2)
    await engine.run({ ...hello, sessionId: session })
    expect(count).toBe(4)
  })

  test('counts towards the limits as it is stored', async () => {
    const { engine, document } = harness({
      flows: [flowOf('Talk', () => reply('y'.repeat(4_000)))],
      limits: { maxSessionBytes: 3_000 },
      mask: () => 'short',
    })
    const { session, success } = await engine.run({ flowName: 'Talk', userMessage: 'x' })
    expect([success, (await document(session)).history]).toMatchObject([true, [{ message: 'short', reply: 'short' }]])
    const { bytes, history } = await document(session)
    expect(bytes).toBeLessThan(JSON.stringify(history).length + 100)
  })

  test('a key that would make the session unreadable is stored without a name', async () => {
    const { engine, document } = modelHarness(
      { 'own/small': [calls('look', { secret: 1 }), 'Done.', 'More.'] },
      {
        flows: [chatOf(talkWith(toolThat('look', () => 'seen')))],
        mask: (text) => (text === 'secret' ? '__proto__' : text),
      },
    )
    const { session } = await engine.run(hello)
    expect((await document(session)).flow.memory.Talk?.messages[1]?.parts[0]).toMatchObject({ input: { '': 1 } })
    expect(await engine.run({ ...hello, sessionId: session })).toMatchObject({ success: true, message: 'More.' })
  })
})

test('what a window removes of the turn itself is masked, too', async () => {
  class Fussy extends Talk {
    override onReply(text: string) {
      return text === 'ok' ? text : stay('Again.')
    }
  }
  class Short extends chatOf(Fussy) {
    static override readonly compaction = { Talk: slidingWindow({ above: 2, keep: 1 }) }
  }
  const acts = { 'own/small': ['secret', 'ok'] }
  const { engine, document, events } = modelHarness(acts, { flows: [Short], mask })
  const { session } = await engine.run({ ...hello, userMessage: 'secret' })
  expect((await document(session)).flow.memory.Talk?.messages).toHaveLength(2)
  const [, trimmed] = events.find(([name]) => name === 'session:trimmed') ?? []
  expect(JSON.stringify(trimmed)).toContain('<message>')
  expect(JSON.stringify(trimmed)).not.toContain('secret')
})

describe('a mask that fails', () => {
  const angry = (): string => {
    throw new Error('cannot mask: secret')
  }
  test.each([
    ['throws', angry, 'it threw an error'],
    ['returns a promise', async () => 'x', 'got a promise'],
    ['returns a promise that rejects', async () => angry(), 'got a promise'],
    ['returns nothing', () => undefined, 'got undefined'],
    ['returns null', () => null, 'got null'],
    ['returns a number', () => 7, 'got number'],
  ])('%s: the turn fails, and nothing of it is stored', async (_what, wrong, problem) => {
    for (const where of ['message', 'reply', 'tool-call', 'tool-result'] as const) {
      let isBroken = false
      const { engine, store, document, events } = modelHarness(
        { 'own/small': ['Hi.', calls('look', { for: 'secret' }), 'Your secret.', 'Better.'] },
        {
          flows: [chatOf(talkWith(toolThat('look', () => 'secret')))],
          onTurnError: 'rollback',
          mask: ((text: string, place: string) => (isBroken && place === where ? wrong() : text)) as Mask,
        },
      )
      const { session } = await engine.run(hello)
      const before = await document(session)
      isBroken = true
      const saved = store.operations.length
      const { response, error } = await engine.execute({ ...hello, userMessage: 'My secret', sessionId: session })
      const message = `FlowEngine: mask must return a string for a '${where}'; ${problem}.`
      expect(response).toMatchObject({ success: false, message })
      expect(error).toMatchObject({ code: 'FLOW_ERROR', message })
      expect(error?.cause).toBeUndefined()
      expect(store.operations.slice(saved).filter((operation) => operation === 'save')).toHaveLength(1)
      const after = await document(session)
      expect({ ...after, revision: '', savedAt: '', usage: {}, error: [] }).toEqual({
        ...before,
        revision: '',
        savedAt: '',
        usage: {},
        error: [],
      })
      // The mask is asked about the text of the error, too.
      expect(after.error).toEqual([
        where === 'reply' ? expect.stringMatching(/^Something went wrong\. Reference: /) : message,
      ])
      expect(JSON.stringify([after, events])).not.toContain('secret')
      isBroken = false
      expect(await engine.run({ ...hello, sessionId: session })).toMatchObject({ message: 'Better.' })
    }
  })

  test('is a failure that onError of the flow may answer for, with a reply that is masked', async () => {
    class Kind extends chatOf(Talk) {
      override onError() {
        return reply('Sorry about the secret.')
      }
    }
    const { engine, document } = modelHarness(
      { 'own/small': ['bad secret'] },
      {
        flows: [Kind],
        mask: (text, where) => (text.startsWith('bad') ? angry() : mask(text, where)),
      },
    )
    const { session, message } = await engine.run(hello)
    expect(message).toBe('Sorry about the secret.')
    expect((await document(session)).history[0]?.reply).toBe('Sorry about the <reply>.')
  })
})

describe('failures', () => {
  const failing = {
    flows: [flowOf('Talk', (turn) => (turn.message === 'start' ? reply('Hi.') : reject(turn.message)))],
  }
  function reject(text: string): never {
    throw new Error(`no such order: ${text}`, { cause: new Error(text) })
  }

  test('the user gets the text; the document, the event and the log get the masked one', async () => {
    const lines: unknown[] = []
    const logger = { debug() {}, info() {}, warn() {}, error: (...line: unknown[]) => lines.push(line) }
    const events: unknown[] = []
    const { engine, document, start } = harness({ ...failing, mask, logger, errorText: (error) => `${error.message}!` })
    engine.on('turn:error', ({ code, error }) =>
      events.push([code, error.code, error.statusCode, error.message, error.cause]),
    )
    const sessionId = await start('Talk')
    const { response, error } = await engine.execute({ flowName: 'Talk', userMessage: 'secret', sessionId })
    expect(response.message).toBe('no such order: secret!')
    expect(error?.message).toBe('no such order: secret')
    expect((await document(sessionId)).error).toEqual(['no such order: <reply>!'])
    expect(events).toEqual([['FLOW_ERROR', 'FLOW_ERROR', 400, 'no such order: <reply>', 'no such order: <reply>']])
    expect(JSON.stringify(lines)).toContain('no such order: <reply>')
    expect(JSON.stringify(lines)).not.toContain('secret')
  })

  test('what the cut of a long text would halve is masked', async () => {
    const text = `${'x '.repeat(230)}a secret of many words`
    const lines: unknown[] = []
    const logger = { debug() {}, info() {}, warn() {}, error: (...line: unknown[]) => lines.push(line) }
    for (let more = 0; more < 40; more++) {
      const { engine, document, start } = harness({
        ...failing,
        mask,
        logger,
        errorText: (error) => `${error.message}!`,
      })
      engine.on('turn:error', ({ error }) => lines.push([error.message, error.cause]))
      const sessionId = await start('Talk')
      await engine.execute({ flowName: 'Talk', userMessage: 'y'.repeat(more) + text, sessionId })
      lines.push((await document(sessionId)).error)
    }
    expect(lines).toHaveLength(120)
    expect(JSON.stringify(lines)).not.toMatch(/a s/)
  })

  test('without a mask the event has the error itself', async () => {
    const { engine, start } = harness(failing)
    const errors: unknown[] = []
    engine.on('turn:error', ({ error }) => errors.push(error))
    const sessionId = await start('Talk')
    const { error } = await engine.execute({ flowName: 'Talk', userMessage: 'secret', sessionId })
    expect(errors).toEqual([error])
    expect(errors[0]).toBe(error)
  })
})

test('a repeat is answered with what is stored, one that joins the turn with what the turn says', async () => {
  const { engine } = harness({ flows: [flowOf('Talk', () => reply('a secret'))], mask })
  const input = { flowName: 'Talk', userMessage: 'x', idempotencyKey: '0123456789abcdef' }
  const [first, joined] = await Promise.all([engine.execute(input), engine.execute(input)])
  expect([first.response.message, joined.response.message, joined.replayed]).toEqual(['a secret', 'a secret', true])
  const repeated = await engine.execute(input)
  expect([repeated.response.message, repeated.replayed]).toEqual(['a <reply>', true])
})

test('is a function', () => {
  expect(() => harness({ mask: 'yes' as never })).toThrow('FlowEngine: mask must be a function.')
})
