import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { flowOf } from '../../testing/contract/test-flows.js'
import { Conversation, type ConversationOptions, FakeSessionStore, scriptedProvider } from '../../testing/index.js'
import {
  type FlowConstructor,
  FlowEngine,
  InvalidInputError,
  MemorySessionStore,
  type ModelSelection,
  Step,
} from '../index.js'

/** A flow with a step that selects this model. */
function flowWanting(selection: ModelSelection): FlowConstructor {
  class Talk extends Step {
    static override readonly id = 'Talk'
    override model() {
      return selection
    }
  }
  return flowOf(Talk)
}

/** A conversation with a step that selects this model. */
function wanting(selection: ModelSelection, options: ConversationOptions = {}): Conversation {
  return new Conversation(flowWanting(selection), { script: ['Hello.'], ...options })
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
      "The parameters of model 'small' of provider 'scripted' are not valid: temperature: Invalid input: expected number, received string.",
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
    // Not a Conversation: it would register a scripted provider in place of the missing one.
    const sessionStore = new FakeSessionStore()
    const providers = [scriptedProvider(['Hello.']), picky]
    const engine = new FlowEngine({ flows: [flowWanting(selection)], providers, models: catalog, sessionStore })
    const { error, response } = await engine.execute({ flowName: 'Test', userMessage: 'Hi', sessionId: 'an-id' })
    expect(error).toMatchObject({ code: 'INVALID_INPUT', message })
    expect(response.session).toBe('an-id')
    // Only for the state of the session.
    expect(sessionStore.operations).toEqual(['load'])
  })

  test("[4.4-18] the flow's own model is checked as well", async () => {
    class Nameless extends flowOf(class Talk extends Step {}) {
      override model() {
        return { provider: 'scripted' } as ModelSelection
      }
    }
    await using conversation = new Conversation(Nameless)
    await conversation.say('Hi')
    conversation.expectError(
      'INVALID_INPUT',
      "model() of flow 'Test' must return { provider, name, params? } with two strings.",
    )
  })

  test('an existing session is not changed', async () => {
    const store = new MemorySessionStore()
    const options = { models: catalog, createStore: () => store }
    await using good = wanting({ provider: 'scripted', name: 'small', params: { temperature: 0 } }, options)
    await good.say('Hi')
    const stored = await good.document()
    await using bad = wanting({ provider: 'scripted', name: 'small' }, { ...options, script: [] })
    bad.sessionId = good.sessionId
    await bad.say('Hi')
    bad.expectError('INVALID_INPUT')
    expect(await good.engine.getSession(stored.id)).toEqual(stored)
  })
})

describe('a model of the catalog', () => {
  test('is called with the parameters that its schema returned', async () => {
    const params = z.object({
      temperature: z.number().default(0.2),
      style: z.string().transform((style) => style.toUpperCase()),
    })
    await using conversation = wanting(
      { provider: 'scripted', name: 'small', params: { style: 'dry' } },
      { models: [{ provider: 'scripted', name: 'small', params }] },
    )
    await conversation.say('Hi')
    expect(conversation.model.requests[0]?.params).toEqual({ temperature: 0.2, style: 'DRY' })
  })

  test('may create its model itself', async () => {
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
    // Not a Conversation: its script would answer instead.
    const flow = flowWanting({ provider: 'local', name: 'parrot' })
    const engine = new FlowEngine({ flows: [flow], providers: [scriptedProvider([])], models })
    expect((await engine.run({ flowName: 'Test', userMessage: 'Hi' })).message).toBe('Polly.')
  })
})

describe('the providers and models of an engine', () => {
  test('[4.4-3] that were passed to it are kept when others are registered later without replace', async () => {
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

  test('are not shared with other engines', () => {
    const selection = { provider: 'scripted', name: 'small', params: {} }
    expect(() => new FlowEngine({ providers: [scriptedProvider([])] }).validateModel(selection)).not.toThrow()
    expect(() => new FlowEngine().validateModel(selection)).toThrow(
      "Model provider 'scripted' is not registered. Registered: none.",
    )
  })

  test('[4.4-16] resolveModel returns the model that a flow would get', async () => {
    const provider = scriptedProvider(['Hello.'])
    const resolved = new FlowEngine({ providers: [provider] }).resolveModel({
      provider: 'scripted',
      name: 'small',
      params: {},
    })
    expect(resolved).toBe(provider.model)
  })

  test('[5-3] get their credentials from the application, and no document contains them', async () => {
    const withKey = { ...scriptedProvider(['Hello.'], { provider: 'cloud' }), apiKey: 'hidden-key' }
    await using conversation = wanting({ provider: 'cloud', name: 'small' }, { providers: [withKey], script: [] })
    await conversation.say('Hi')
    expect(JSON.stringify(await conversation.document())).not.toContain('hidden-key')
  })
})
