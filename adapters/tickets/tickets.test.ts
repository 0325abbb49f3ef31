// Tickets: what opens them, and what does not.
import { describe, expect, test } from 'vitest'
import { event, Flow, finish, go, type JsonValue, LogicStep, reply, type Turn } from '../../src/index.js'
import { harness } from '../../testing/contract/engine-harness.js'
import { type TicketHolder, tickets } from './index.js'

const secretOf = (letter: string): string => letter.repeat(32)
const links = tickets({ secrets: [secretOf('a')] })
const ada: TicketHolder = { by: 'Ada Meier' }

/** A turn as `seal` reads it. */
function turnOf(entry = '1.1', session: object = { id: 's1', owner: 'bob' }): Turn {
  return { session, step: 'Ask', entry } as Turn
}

describe('a ticket', () => {
  test('opens as the input of sendEvent, for its entry alone, with a key of ticket and payload', async () => {
    const about = { amount: 100, currency: 'EUR' }
    const ticket = await links.seal(turnOf(), 'decision', { ...ada, byId: 'emp-17', about })
    const opened = await links.open(ticket, { approved: true })
    expect(opened).toEqual({
      ...{ sessionId: 's1', owner: 'bob', event: 'decision', by: 'Ada Meier', byId: 'emp-17', about },
      ...{ only: { step: 'Ask', entry: '1.1' }, payload: { approved: true } },
      idempotencyKey: expect.stringMatching(/^[\w-]{22}$/),
    })
    const keyOf = async (payload?: JsonValue, of = ticket) => (await links.open(of, payload)).idempotencyKey
    expect(await keyOf({ approved: true })).toBe(opened.idempotencyKey)
    const other = await links.seal(turnOf(), 'decision', ada)
    const keys = await Promise.all([keyOf({ approved: false }), keyOf(), keyOf(null), keyOf({ approved: true }, other)])
    expect(new Set([...keys, opened.idempotencyKey]).size).toBe(5)
  })

  test('has no field that was not given: without an owner it has the rights of the application', async () => {
    const opened = await links.open(await links.seal(turnOf('1.1', { id: 's1' }), 'decision', ada))
    expect(Object.keys(opened).sort()).toEqual(['by', 'event', 'idempotencyKey', 'only', 'sessionId'])
  })

  test('is the same again for the same content, and has nothing of it in the clear', async () => {
    const seal = (about: JsonValue, entry?: string) => links.seal(turnOf(entry), 'decision', { ...ada, about })
    const ticket = await seal({ a: 1, b: 2 })
    expect(await seal({ b: 2, a: 1 })).toBe(ticket)
    expect(ticket).toMatch(/^[\w-]+$/)
    const others = await Promise.all([seal({ a: 1, b: 3 }), seal({ a: 1, b: 2 }, '1.2')])
    // Neither the digest in front nor the text behind it is shared.
    for (const other of others) {
      expect(other.slice(0, 4)).not.toBe(ticket.slice(0, 4))
      expect(other.slice(40, 60)).not.toBe(ticket.slice(40, 60))
    }
    expect(Buffer.from(ticket, 'base64url').toString('latin1')).not.toMatch(/decision|Ada|s1/)
  })

  test('opens with an old secret until that is removed', async () => {
    const old = await links.seal(turnOf(), 'decision', ada)
    const rotated = tickets({ secrets: [secretOf('b'), secretOf('a')] })
    expect(await rotated.open(old)).toEqual(await links.open(old))
    const fresh = await rotated.seal(turnOf(), 'decision', ada)
    expect(fresh).not.toBe(old)
    const only = tickets({ secrets: [secretOf('b')] })
    expect((await only.open(fresh)).sessionId).toBe('s1')
    await expect(only.open(old)).rejects.toMatchObject({ code: 'INVALID_INPUT' })
    await expect(links.open(fresh)).rejects.toMatchObject({ code: 'INVALID_INPUT' })
  })

  test('that is changed in any letter, cut, or no ticket at all cannot be opened', async () => {
    const ticket = await links.seal(turnOf(), 'decision', ada)
    const changed = Array.from(ticket, (letter, index) => {
      return `${ticket.slice(0, index)}${letter === 'A' ? 'B' : 'A'}${ticket.slice(index + 1)}`
    })
    const odd = [
      '',
      'x',
      ticket.slice(1),
      ticket.slice(0, -1),
      `${ticket}A`,
      `${ticket}=`,
      ` ${ticket}`,
      'A'.repeat(999),
    ]
    for (const text of [...changed, ...odd, undefined, null, 7, {}] as string[]) {
      await expect(links.open(text)).rejects.toMatchObject({
        code: 'INVALID_INPUT',
        message: 'This ticket cannot be opened: it is not complete, or its secret is not in use any more.',
      })
    }
  })
})

test.each<[unknown, string]>([
  [undefined, 'tickets: the options must be an object.'],
  [{}, 'tickets: secrets must be a list of texts of at least 32 random characters.'],
  [{ secrets: [] }, 'tickets: secrets must be a list of texts of at least 32 random characters.'],
  [{ secrets: secretOf('a') }, 'tickets: secrets must be a list of texts of at least 32 random characters.'],
  [{ secrets: [secretOf('a'), 'short'] }, 'tickets: secrets must be a list of texts of at least 32 random characters.'],
  [{ secret: secretOf('a') }, "tickets: there is no option 'secret'."],
])('secrets that are none are refused: %j', (options, problem) => {
  expect(() => tickets(options as never)).toThrow(problem)
})

test.each<[string, unknown, string]>([
  ['', ada, 'seal: event must be the name of an event: 1 to 200 characters.'],
  ['x'.repeat(201), ada, 'seal: event must be the name of an event: 1 to 200 characters.'],
  [
    'decision',
    { ...ada, about: { at: new Date(0) } },
    'seal: about.at is an instance of Date, which JSON cannot carry: use date.toISOString().',
  ],
  ['decision', {}, 'seal: by must be a text of 1 to 200 characters.'],
  ['decision', { by: 'x'.repeat(201) }, 'seal: by must be a text of 1 to 200 characters.'],
  ['decision', { ...ada, byId: '' }, 'seal: byId must be a text of 1 to 200 characters.'],
  ['decision', { ...ada, about: 'ä'.repeat(512) }, 'seal: about may have at most 1024 bytes as JSON.'],
  ['decision', { ...ada, name: 'Ada' }, "seal: there is no option 'name'."],
])('what cannot be sealed is refused: %s, %j', async (name, holder, problem) => {
  await expect(links.seal(turnOf(), name, holder as never)).rejects.toThrow(problem)
  await expect(links.seal(turnOf(), 'decision', { ...ada, about: 'ä'.repeat(511) })).resolves.toBeDefined()
})

describe('in a flow', () => {
  const sealed: string[] = []
  let isMailAway = false

  class Talk extends LogicStep {
    static override readonly id = 'Talk'
    override run(turn: Turn) {
      return turn.message === 'refund' ? go(Ask) : reply('Hello.')
    }
  }

  class Ask extends LogicStep {
    static override readonly id = 'Ask'
    override events() {
      return [event({ name: 'decision', execute: (_, turn) => finish(JSON.stringify(turn.event)) })]
    }
    override async run(turn: Turn) {
      if (!turn.entered) return go(Ask)
      for (const name of ['decision', 'stop']) sealed.push(await links.seal(turn, name, { ...ada, about: '100 EUR' }))
      if (isMailAway) throw new Error('The mail server is away.')
      return reply('I have asked.')
    }
  }

  class Refund extends Flow {
    static override readonly id = 'Refund'
    static override readonly onTurnError = 'rollback'
    override steps() {
      return [Talk, Ask]
    }
    override events() {
      return [event({ name: 'stop', execute: () => finish('Stopped.') })]
    }
  }

  test('a repeated turn seals the same text, which the engine takes until the step is entered again', async () => {
    const { engine, start } = harness({ flows: [Refund] })
    const sessionId = await start('Refund')
    const say = (userMessage: string) => engine.run({ flowName: 'Refund', userMessage, sessionId })
    isMailAway = true
    expect((await say('refund')).success).toBe(false)
    isMailAway = false
    expect((await say('refund')).message).toBe('I have asked.')
    const [failed, , decision = '', stop = ''] = sealed
    expect(failed).toBe(decision)
    const codeOf = async (ticket = '') => (await engine.sendEvent(await links.open(ticket))).error?.code
    // An event of the flow takes no ticket.
    expect(await codeOf(stop)).toBe('EVENT_NOT_TAKEN')
    await say('again')
    expect(await codeOf(decision)).toBe('EVENT_NOT_TAKEN')
    const { response } = await engine.sendEvent(await links.open(sealed.at(-2) ?? ''))
    expect(JSON.parse(response.message)).toMatchObject({ name: 'decision', by: 'Ada Meier', about: '100 EUR' })
  })
})
