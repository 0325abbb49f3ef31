/** Secret fields: what the user sends for one is in the state of the step, goes to `done`, and is nowhere else. */
import { afterEach, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { expectNothingLeft } from '../../testing/contract/engine-harness.js'
import { modelForm } from '../../testing/contract/forms/model-forms.js'
import { formOf } from '../../testing/contract/forms/test-forms.js'
import { watchedTalk, wholeText } from '../../testing/contract/forms/watched.js'
import { type Act, calls, fails, silent } from '../../testing/contract/model-harness.js'
import { flow, step } from '../../testing/contract/side-flows/talk.js'
import { readAll } from '../../testing/contract/stream-harness.js'
import { back, call, type FlowEngineOptions, finish, type JsonObject, type Turn } from '../index.js'
import { field } from './index.js'

afterEach(expectNothingLeft)

const secret = '47114711'
const wrong = 'secret-canary'

const fields = {
  name: field(z.string().min(2, 'The name is too short.'), { ask: 'Your name?' }),
  card: field(z.string().regex(/^\d{8}$/, 'Eight digits, please.'), { ask: 'Your card?', secret: true }),
  code: field(z.string().min(3, 'Too short.'), { ask: 'A code? Or skip.', secret: true, optional: true }),
}

interface Setting {
  readonly acts?: readonly Act[]
  readonly options?: FlowEngineOptions
  readonly ofFlow?: Parameters<typeof flow>[2]
  readonly done?: (values: object) => unknown
}

/** A model that answers each message with `ok`. */
const answering: readonly Act[] = Array.from({ length: 12 }, () => 'ok')

/** A conversation with the form, and what `done` got. */
async function begun(kind: 'text' | 'model', { acts = answering, options, ofFlow, done }: Setting = {}) {
  const given: object[] = []
  const members = {
    done(values: object) {
      given.push(values)
      done?.(values)
      return finish('Thank you.')
    },
  }
  const Form = kind === 'text' ? formOf(fields, members) : modelForm(fields, members)
  const Hours = step('Hours', () => back().withLead('From 9 to 5.'))
  const of = flow('Shop', [Form, Hours], { model: () => ({ provider: 'own', name: 'small' }), ...ofFlow })
  const talk = watchedTalk(of, { 'own/small': acts }, options)
  await talk.say('Hello')
  const state = async () => (await talk.now()).flow.steps.Form?.state as JsonObject & { values: JsonObject }
  return {
    ...talk,
    given,
    state,
    /** All that is stored besides the state, all events, and all that the model was asked. */
    async left() {
      const { flow: stored, ...document } = await talk.now()
      const { Form: _, ...steps } = stored.steps
      return wholeText(document, { ...stored, steps }, talk.events, talk.made.asked)
    },
  }
}

type Talk = Awaited<ReturnType<typeof begun>>

async function sayAll({ say }: Talk, ...messages: readonly string[]): Promise<string> {
  let answer = ''
  for (const message of messages) answer = await say(message)
  return answer
}

describe.each(['text', 'model'] as const)('in a form by %s', (kind) => {
  /** At the question of the card. */
  async function asked(setting?: Setting) {
    const first: Act = kind === 'text' ? 'ok' : calls('set_fields', { name: 'Ada' })
    const talk = await begun(kind, { acts: ['ok', first, ...answering], ...setting })
    expect(await talk.say('Ada')).toBe('Your card?')
    return talk
  }

  test('the answer is in the state, goes to done, and is nowhere else', async () => {
    const talk = await asked()
    expect(await talk.say(secret)).toBe('A code? Or skip.')
    expect((await talk.state()).values).toEqual({ name: 'Ada', card: secret })
    expect((await talk.newest())?.message).toBe('[card]')
    expect(await sayAll(talk, 'skip', 'yes')).toBe('Thank you.')
    expect(talk.given).toEqual([{ name: 'Ada', card: secret }])
    expect(await talk.left()).not.toContain(secret)
  })

  test('a wrong answer is nowhere, and is refused with the reason', async () => {
    const talk = await asked()
    expect(await talk.say(wrong)).toBe('Eight digits, please. Your card?')
    expect([(await talk.newest())?.message, (await talk.state()).values]).toEqual(['[card]', { name: 'Ada' }])
    expect((await talk.left()) + (await talk.stored(talk.id()))).not.toContain(wrong)
  })

  test.each([[`change card to ${secret}`], [`Change the CARD to ${secret}`], [`  change card to ${secret}  `]])(
    'a correction hides it: %s',
    async (correction) => {
      const talk = await asked()
      await sayAll(talk, '12345678', 'skip', correction)
      expect((await talk.newest())?.message).toBe('[card]')
      expect((await talk.state()).values).toEqual({ name: 'Ada', card: secret })
      expect(await sayAll(talk, 'change card to secret-canary', 'yes', '87654321', 'yes')).toBe('Thank you.')
      expect(talk.given).toEqual([{ name: 'Ada', card: '87654321' }])
      expect(await talk.left()).not.toMatch(/47114711|secret-canary|12345678|87654321/)
    },
  )

  test('an answer after `change card` is hidden, and so is one before its question', async () => {
    const talk = await begun(kind)
    await sayAll(talk, 'change card', secret, 'change code to secret-canary')
    expect((await talk.state()).values).toEqual({ card: secret, code: wrong })
    expect(await talk.left()).not.toMatch(/47114711|secret-canary/)
  })

  test('the review has no secret', async () => {
    const talk = await asked()
    await sayAll(talk, secret)
    expect(await talk.say(wrong)).toBe('name: Ada\ncard: •••\ncode: •••\nIs that right?')
    expect(await talk.left()).not.toMatch(/47114711|secret-canary/)
  })

  test('what is not an answer is not hidden', async () => {
    const onMessage = ({ message }: Turn) => (message === 'open?' ? call('Hours') : undefined)
    const talk = await asked({ ofFlow: { onMessage } })
    const said = [
      'open?',
      'change name to Grace',
      'change card',
      'open?',
      '12345678',
      'skip',
      'no',
      'card',
      'change name',
    ]
    await sayAll(talk, ...said)
    expect((await talk.now()).history.slice(2).map(({ message }) => message)).toEqual(
      said.map((message) => (message === '12345678' ? '[card]' : message)),
    )
  })

  test('a page sends it, and nothing of the payload is kept', async () => {
    const talk = await begun(kind)
    const send = (payload: JsonObject) => talk.say('', { event: { name: 'Form', payload } })
    expect(await send({ name: 'A', card: wrong, code: '1' })).toBe(
      'The name is too short. Eight digits, please. Too short.',
    )
    expect(await send({ name: 'A', card: secret })).toBe('The name is too short.')
    expect(talk.last().parts).toMatchObject([
      { values: {}, schema: { required: ['name'], properties: { card: { type: 'string', writeOnly: true } } } },
    ])
    expect(await send({ name: 'Ada', code: null })).toBe('name: Ada\ncard: •••\nIs that right?')
    const events = (await talk.now()).history.slice(1).map(({ event }) => event)
    expect(events).toEqual([{ name: 'Form' }, { name: 'Form' }, { name: 'Form' }])
    await talk.say('yes')
    expect(talk.given).toEqual([{ name: 'Ada', card: secret }])
    expect(await talk.left()).not.toMatch(/47114711|secret-canary/)
  })

  test('a page that is older than the name of the field leaves nothing, either', async () => {
    const talk = await begun(kind)
    await talk.say('', { event: { name: 'Form', payload: { name: 'Ada', cardNumber: secret } } })
    expect((await talk.newest())?.event).toEqual({ name: 'Form' })
    expect(await talk.left()).not.toContain(secret)
  })

  test('with a mask, which does not get it', async () => {
    const masked: string[] = []
    const mask = (text: string): string => {
      masked.push(text)
      return text.replaceAll('card', '***')
    }
    const talk = await asked({ options: { mask } })
    expect(await talk.say(secret)).toBe('A code? Or skip.')
    expect((await talk.newest())?.message).toBe('[***]')
    expect(masked.join()).not.toContain(secret)
    expect(await talk.left()).not.toContain(secret)
  })

  test('if the turn fails, and if onError answers for it', async () => {
    const done = (): never => {
      throw new Error('The bank is down.')
    }
    for (const ofFlow of [{}, { onError: () => finish('Sorry.') }]) {
      const talk = await asked({ ofFlow, done, options: { onTurnError: 'rollback' } })
      await sayAll(talk, secret, 'skip', 'yes')
      expect(await talk.left()).not.toContain(secret)
    }
  })

  test('if its own check fails', async () => {
    const check = (): never => {
      throw new Error('The bank is down.')
    }
    const card = field(z.string(), { ask: 'Your card?', secret: true, check })
    const Form = kind === 'text' ? formOf({ card }) : modelForm({ card })
    const model = () => ({ provider: 'own', name: 'small' })
    for (const members of [{}, { onError: () => finish('Sorry.') }]) {
      const talk = watchedTalk(flow('Shop', [Form], { model, ...members }), { 'own/small': ['ok', 'ok'] })
      await talk.say('Hello')
      const { message } = 'onError' in members ? { message: 'Sorry.' } : { message: 'FLOW_ERROR: The bank is down.' }
      expect(await talk.say(secret)).toBe(message)
      expect((await talk.stored(talk.id())) + wholeText(talk.events, talk.made.asked)).not.toContain(secret)
    }
  })

  test('in a repeat by its key, and in a stream', async () => {
    const talk = await asked()
    const idempotencyKey = 'a-key-of-16-chars'
    const answers = [await talk.say(secret, { idempotencyKey }), await talk.say(secret, { idempotencyKey })]
    expect(answers).toEqual(['A code? Or skip.', 'A code? Or skip.'])
    const input = { flowName: 'Shop', sessionId: talk.id(), userMessage: wrong }
    const events = await readAll(talk.engine.stream(input))
    expect((await talk.state()).values).toEqual({ name: 'Ada', card: secret, code: wrong })
    expect(wholeText(events, await talk.left())).not.toMatch(/47114711|secret-canary/)
  })
})

test('a form by text hides what it cannot read at the review: it may name a secret', async () => {
  const talk = await begun('text')
  await sayAll(talk, 'Ada', '12345678', 'skip')
  expect(await talk.say(`card ${secret}`)).toMatch(/^What should I change/)
  expect((await talk.newest())?.message).toBe('[?]')
  expect(await sayAll(talk, 'name', 'Grace', 'yes')).toBe('Thank you.')
  expect(await talk.left()).not.toContain(secret)
})

describe('a model', () => {
  test('does not know the field, and cannot set it', async () => {
    const acts = [calls('set_fields', { card: '12345678', code: 'abc', name: 'Ada' }), 'ok']
    const talk = await begun('model', { acts })
    expect((await talk.state()).values).toEqual({ name: 'Ada' })
    const refused = { card: 'There is no such field.', code: 'There is no such field.' }
    expect(await talk.memory('Form')).toContain(
      `tool: set_fields = ${JSON.stringify({ accepted: ['name'], refused, dropped: {} })}`,
    )
    const [request] = talk.made.asked.map(({ request: one }) => one)
    expect(request?.system).toContain('- name (name): open')
    expect(wholeText(request?.system, request?.tools)).not.toMatch(/card|code/)
  })

  test('reads the label in place of the answer, without a tool, and its memory has the label', async () => {
    const talk = await begun('model', { acts: [calls('set_fields', { name: 'Ada' }), 'ok', 'ok'] })
    await talk.say(secret)
    const { request } = talk.made.asked.at(-1) ?? {}
    expect([request?.system, request?.tools]).toEqual(['Answer with: ok', []])
    expect(talk.asked().at(-1)).toBe('user: [card]')
    expect((await talk.memory('Form')).slice(-3)).toEqual([
      'user: [card]',
      'assistant: ok',
      'assistant: A code? Or skip.',
    ])
  })

  test('that does not answer does not matter', async () => {
    const acts = [calls('set_fields', { name: 'Ada' }), 'ok', fails(new Error('down'))]
    const talk = await begun('model', { acts, options: { modelRetry: { maxAttempts: 1 } } })
    expect(await talk.say(secret)).toBe('A code? Or skip.')
    expect(await talk.left()).not.toContain(secret)
  })

  test('that is interrupted by the next message leaves nothing', async () => {
    const acts = [calls('set_fields', { name: 'Ada' }), 'ok', silent, 'ok']
    const talk = await begun('model', { acts, options: { busy: 'interrupt' } })
    const input = { flowName: 'Shop', sessionId: talk.id() }
    const first = talk.engine.execute({ ...input, userMessage: secret, idempotencyKey: 'a-key-of-16-chars' })
    await talk.clock.settle()
    const second = await talk.engine.execute({ ...input, userMessage: wrong })
    expect([(await first).error?.code, second.response.message]).toEqual([
      'TURN_SUPERSEDED',
      'Eight digits, please. Your card?',
    ])
    expect((await talk.left()) + (await talk.stored(talk.id()))).not.toMatch(/47114711|secret-canary/)
  })
})
