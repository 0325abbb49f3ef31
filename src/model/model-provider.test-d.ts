import { type } from 'arktype'
import * as v from 'valibot'
import { expectTypeOf, test } from 'vitest'
import { z } from 'zod'
import {
  FlowEngine,
  type JsonObject,
  type JsonValue,
  type Message,
  type MessagePart,
  type Model,
  type ModelProviderAdapter,
  type ModelRequest,
  type ModelResponse,
  type ModelSelection,
  type ResolvedModelSelection,
  type RuntimeModel,
  type TextPart,
  type ToolCallPart,
  type ToolResultPart,
} from '../index.js'

test('a provider is a name and a function that creates a model', () => {
  const provider = {
    provider: 'cloud',
    resolve: ({ provider, name }: ResolvedModelSelection) => ({
      provider,
      name,
      generate: async ({ messages }: ModelRequest) => ({
        parts: [{ type: 'text' as const, text: `${messages.length}` }],
      }),
    }),
  }
  expectTypeOf(provider).toExtend<ModelProviderAdapter>()
  new FlowEngine({ providers: [provider] }).registerProvider(provider, true).registerProviders([provider])
  // @ts-expect-error it has no resolve
  const useless: ModelProviderAdapter = { provider: 'cloud' }
  // @ts-expect-error generate must return a promise
  const hasty: RuntimeModel = { provider: 'cloud', name: 'small', generate: () => ({ parts: [] }) }
  void [useless, hasty]
})

test('an entry of the catalog takes a schema of any library', () => {
  expectTypeOf({ provider: 'cloud', name: 'small', params: z.object({ temperature: z.number() }) }).toExtend<Model>()
  expectTypeOf({ provider: 'cloud', name: 'small', params: v.object({ temperature: v.number() }) }).toExtend<Model>()
  expectTypeOf({ provider: 'cloud', name: 'small', params: type({ temperature: 'number' }) }).toExtend<Model>()
  expectTypeOf({ provider: 'cloud', name: 'small', params: { temperature: 'number' } }).not.toExtend<Model>()
})

test('a selection needs a provider and a name; a resolved one has its parameters', () => {
  expectTypeOf<{ provider: string; name: string }>().toExtend<ModelSelection>()
  expectTypeOf<{ provider: string; name: string }>().not.toExtend<ResolvedModelSelection>()
  expectTypeOf<{ provider: string }>().not.toExtend<ModelSelection>()
  expectTypeOf<ResolvedModelSelection['params']>().toEqualTypeOf<JsonObject>()
  expectTypeOf<{ when: Date }>().not.toExtend<NonNullable<ModelSelection['params']>>()
})

test('the type of a message part narrows it', () => {
  const read = (part: MessagePart): unknown => {
    expectTypeOf(part).not.toBeAny()
    if (part.type === 'text') expectTypeOf(part).toEqualTypeOf<TextPart>()
    if (part.type === 'tool-call') expectTypeOf(part).toEqualTypeOf<ToolCallPart>()
    if (part.type === 'tool-result') expectTypeOf(part).toEqualTypeOf<ToolResultPart>()
    return part
  }
  expectTypeOf<Message['parts']>().toEqualTypeOf<readonly MessagePart[]>()
  expectTypeOf<ModelResponse['parts']>().toEqualTypeOf<readonly MessagePart[]>()
  expectTypeOf<ToolCallPart['input']>().toEqualTypeOf<JsonValue>()
  expectTypeOf<JsonValue>().not.toBeAny()
  void read
})

test('messages can be read, not changed', () => {
  const read = (request: ModelRequest): void => {
    // @ts-expect-error the list is the engine's
    request.messages.push({ role: 'user', parts: [], turn: 1 })
    // @ts-expect-error read-only
    request.params.temperature = 1
  }
  void read
})
