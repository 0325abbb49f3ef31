import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { type Chat, type ChatOptions, chatWith, flowOf } from '../../testing/contract/chat.js'
import { scriptedProvider } from '../../testing/index.js'
import { FlowEngine, InvalidInputError, type ModelSelection, Step } from '../index.js'

/** A conversation with a step that wants this model. */
function wanting(selection: ModelSelection, options: ChatOptions = {}): Chat {
  class Talk extends Step {
    static override readonly id = 'Talk'
    override model() {
      return selection
    }
  }
  return chatWith(flowOf(Talk), { script: ['Hello.'], ...options })
}

describe('a model is checked at session start, before the store is touched', () => {
  const params = z.object({ temperature: z.number() })
  const catalog = [{ provider: 'scripted', name: 'small', params }]

  test.each([
    [
      'a provider that is not registered',
      { provider: 'cloud', name: 'small' },
      "Model provider 'cloud' is not registered. Registered: 'scripted', 'picky'. Pass it to the engine as providers: [...].",
    ],
    [
      'a parameter that the catalog does not know',
      { provider: 'scripted', name: 'small', params: { temperature: 'hot' } },
      "Parameters of model 'small' of provider 'scripted' are not supported: temperature: Invalid input: expected number, received string.",
    ],
    ['a selection that its provider refuses', { provider: 'picky', name: 'small' }, 'Only large models.'],
    [
      'a selection without a name',
      { provider: 'scripted' } as ModelSelection,
      "model() of step 'Talk' must return { provider, name, params? } with two strings.",
    ],
  ])('[4.4-18] %s', async (_what, selection, message) => {
    const picky = {
      ...scriptedProvider([], { provider: 'picky' }),
      validate: () => {
        throw new InvalidInputError({ message: 'Only large models.' })
      },
    }
    const chat = wanting(selection, { models: catalog, providers: [picky] })
    const { error, response } = await chat.execute('Hi', { sessionId: 'an-id' })
    expect(error).toMatchObject({ code: 'INVALID_INPUT', message })
    expect(response.session).toBe('an-id')
    expect(chat.store.journal).toEqual([])
  })

  test("[4.4-18] the flow's own selection too", async () => {
    class Nameless extends flowOf(class Talk extends Step {}) {
      override model() {
        return { provider: 'scripted' } as ModelSelection
      }
    }
    await expect(chatWith(Nameless).say('Hi')).rejects.toMatchObject({
      code: 'INVALID_INPUT',
      message: "model() of flow 'Test' must return { provider, name, params? } with two strings.",
    })
  })

  test('and a session that exists already stays as it was', async () => {
    const good = wanting({ provider: 'scripted', name: 'small', params: { temperature: 0 } }, { models: catalog })
    await good.say('Hi')
    const stored = await good.document()
    const bad = wanting({ provider: 'scripted', name: 'small' }, { models: catalog, sessionStore: good.store })
    bad.sessionId = good.sessionId
    await expect(bad.say('Hi')).rejects.toMatchObject({ code: 'INVALID_INPUT' })
    expect(await good.engine.getSession(stored.id)).toEqual(stored)
  })
})

describe('a model of the catalog', () => {
  test('is called with the parameters as its schema made them', async () => {
    const params = z.object({
      temperature: z.number().default(0.2),
      style: z.string().transform((style) => style.toUpperCase()),
    })
    const chat = wanting(
      { provider: 'scripted', name: 'small', params: { style: 'dry' } },
      { models: [{ provider: 'scripted', name: 'small', params }] },
    )
    await chat.say('Hi')
    expect(chat.provider.requests[0]?.params).toEqual({ temperature: 0.2, style: 'DRY' })
  })

  test('may make its model itself', async () => {
    const models = [
      {
        provider: 'local',
        name: 'parrot',
        create: () => ({
          provider: 'local',
          name: 'parrot',
          generate: async () => ({ parts: [{ type: 'text' as const, text: 'Polly.' }] }),
        }),
      },
    ]
    expect(await wanting({ provider: 'local', name: 'parrot' }, { models }).say('Hi')).toBe('Polly.')
  })
})

describe('the providers and models of an engine', () => {
  test('[4.4-3] that were passed to it replace, so that a later one without replace does not', async () => {
    const first = scriptedProvider(['First.'])
    const second = scriptedProvider(['Second.'])
    class Talk extends Step {
      static override readonly id = 'Talk'
    }
    const engine = new FlowEngine({ flows: [flowOf(Talk)], providers: [scriptedProvider([]), first] })
    engine.registerProvider(second)
    const said = async (): Promise<string> => (await engine.run({ flowName: 'Test', userMessage: 'Hi' })).message
    expect(await said()).toBe('First.')
    engine.registerProvider(second, true)
    expect(await said()).toBe('Second.')
  })

  test('are its own: another engine knows nothing of them', () => {
    const selection = { provider: 'scripted', name: 'small', params: {} }
    expect(() => new FlowEngine({ providers: [scriptedProvider([])] }).validateModel(selection)).not.toThrow()
    expect(() => new FlowEngine().validateModel(selection)).toThrow(
      "Model provider 'scripted' is not registered. Registered: none.",
    )
  })

  test('[4.4-16] resolveModel makes the model that a flow would get', async () => {
    const provider = scriptedProvider(['Hello.'])
    const resolved = new FlowEngine({ providers: [provider] }).resolveModel({
      provider: 'scripted',
      name: 'small',
      params: {},
    })
    expect(resolved).toBe(provider.model)
  })

  test('[5-3] get their credentials from the application: none reaches a document', async () => {
    const withKey = { ...scriptedProvider(['Hello.'], { provider: 'cloud' }), apiKey: 'hidden-key' }
    const chat = wanting({ provider: 'cloud', name: 'small' }, { providers: [withKey] })
    await chat.say('Hi')
    expect(JSON.stringify(await chat.document())).not.toContain('hidden-key')
  })
})
