import * as v from 'valibot'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { VirtualClock } from '../../testing/index.js'
import { LimitExceededError } from '../errors/engine-errors.js'
import type { Model, ModelProviderAdapter, ResolvedModelSelection, RuntimeModel } from './model-provider.js'
import { ModelRegistry } from './model-registry.js'

/** A model that is identified by `made`. */
function model(made: string, selection: ResolvedModelSelection): RuntimeModel {
  return { ...selection, generate: async () => ({ parts: [{ type: 'text', text: made }] }) }
}

function provider(name: string, made: string = name, more: Partial<ModelProviderAdapter> = {}): ModelProviderAdapter {
  return { provider: name, resolve: (selection) => model(made, selection), ...more }
}

function select(name: string, params: ResolvedModelSelection['params'] = {}): ResolvedModelSelection {
  return { provider: 'cloud', name, params }
}

function registryOf(providers: readonly ModelProviderAdapter[], models: readonly Model[] = []): ModelRegistry {
  const registry = new ModelRegistry()
  registry.registerProviders(providers, false)
  registry.registerModels(models, false)
  return registry
}

/** The answer of the selected model, which names what created it. */
async function madeBy(registry: ModelRegistry, selection: ResolvedModelSelection): Promise<unknown> {
  const { parts } = await registry.resolve(selection).model.generate({} as never)
  return parts[0]
}

describe('registration of', () => {
  test('[4.4-14] a provider that is already registered keeps the first one, unless replace is set', async () => {
    const registry = registryOf([provider('cloud', 'first')])
    registry.registerProviders([provider('cloud', 'second')], false)
    expect(await madeBy(registry, select('small'))).toMatchObject({ text: 'first' })
    registry.registerProviders([provider('cloud', 'third')], true)
    expect(await madeBy(registry, select('small'))).toMatchObject({ text: 'third' })
  })

  test('[4.4-15] a model that is already registered keeps the first one, unless replace is set', async () => {
    const entry = (made: string): Model => ({
      provider: 'cloud',
      name: 'small',
      create: (selection) => model(made, selection),
    })
    const registry = registryOf([], [entry('first')])
    registry.registerModels([entry('second')], false)
    expect(await madeBy(registry, select('small'))).toMatchObject({ text: 'first' })
    registry.registerModels([entry('third')], true)
    expect(await madeBy(registry, select('small'))).toMatchObject({ text: 'third' })
  })

  test('models with the same name and different providers keeps both', async () => {
    const create = (selection: ResolvedModelSelection): RuntimeModel => model(selection.provider, selection)
    const registry = registryOf(
      [],
      [
        { provider: 'cloud', name: 'small', create },
        { provider: 'local', name: 'small', create },
      ],
    )
    expect(await madeBy(registry, select('small'))).toMatchObject({ text: 'cloud' })
    expect(await madeBy(registry, { ...select('small'), provider: 'local' })).toMatchObject({ text: 'local' })
  })

  const noProvider = 'A model provider must have a name in `provider` and a method resolve(selection).'
  const noModel = 'A model must have a `provider` and a `name` that are not blank.'

  test.each([
    ['a map of providers', {}, 'The model providers must be a list, as in providers: [provider]; got an object.'],
    ['no provider', [undefined], noProvider],
    ['a provider without a name', [{ resolve: () => undefined }], noProvider],
    ['a provider with a blank name', [provider(' ')], noProvider],
    ['a provider without resolve', [{ provider: 'cloud' }], noProvider],
  ])('refuses %s', (_what, providers, message) => {
    expect(() => registryOf(providers as ModelProviderAdapter[])).toThrow(
      expect.objectContaining({ code: 'FLOW_REGISTRATION', message }),
    )
  })

  test.each([
    [
      'a single model',
      { provider: 'cloud', name: 'small' },
      'The models must be a list, as in models: [model]; got an object.',
    ],
    ['no model', [undefined], noModel],
    ['a model without a provider', [{ name: 'small' }], noModel],
    ['a model with a blank name', [{ provider: 'cloud', name: '' }], noModel],
    [
      'params that are not a schema',
      [{ provider: 'cloud', name: 'small', params: { temperature: 'number' } }],
      "The params of model 'small' of provider 'cloud' must be a Standard Schema (Zod, Valibot, ArkType).",
    ],
  ])('refuses %s', (_what, models, message) => {
    expect(() => registryOf([], models as Model[])).toThrow(
      expect.objectContaining({ code: 'FLOW_REGISTRATION', message }),
    )
  })

  test('a list with an invalid entry registers nothing', () => {
    const registry = new ModelRegistry()
    expect(() => registry.registerProviders([provider('cloud'), provider('')], false)).toThrow()
    expect(() => registry.validate(select('small'))).toThrow(
      "Model provider 'cloud' is not registered. Registered: none.",
    )
    const create = (selection: ResolvedModelSelection): RuntimeModel => model('made', selection)
    expect(() =>
      registry.registerModels(
        [
          { provider: 'cloud', name: 'small', create },
          { provider: '', name: '' },
        ],
        false,
      ),
    ).toThrow()
    expect(() => registry.validate(select('small'))).toThrow('is not registered')
  })
})

describe('a parameter schema that validates asynchronously', () => {
  const message = "The params schema of model 'small' of provider 'cloud' must validate synchronously."

  test.each([
    ['Zod', z.object({}).refine(async () => true)],
    ['Valibot', v.objectAsync({})],
  ])('is refused at registration: %s', (_library, params) => {
    expect(() => registryOf([], [{ provider: 'cloud', name: 'small', params }])).toThrow(
      expect.objectContaining({ code: 'FLOW_REGISTRATION', message }),
    )
  })

  test('may reject without an unhandled rejection', async () => {
    const params: Model['params'] = {
      '~standard': { version: 1, vendor: 'test', validate: () => Promise.reject(new Error('never seen')) },
    }
    expect(() => registryOf([], [{ provider: 'cloud', name: 'small', params }])).toThrow(message)
    await new VirtualClock().settle()
  })

  // Registration validates `{}` only: a schema may be synchronous for that and asynchronous for other values.
  test.each([
    ['resolves', () => Promise.resolve({ value: {} })],
    ['rejects', () => Promise.reject(new Error('never seen'))],
  ])('is found at session start, where registration could not see it, and %s', async (_how, later) => {
    const params: Model['params'] = {
      '~standard': {
        version: 1,
        vendor: 'test',
        validate: (value) => (Object.keys(value as object).length === 0 ? { value } : later()),
      },
    }
    const registry = registryOf([provider('cloud')], [{ provider: 'cloud', name: 'small', params }])
    expect(() => registry.validate(select('small', { seed: 1 }))).toThrow(message)
    await new VirtualClock().settle()
  })
})

describe('a selection', () => {
  test('[4.4-17] of a provider that is not registered is refused with a list of those that are', () => {
    const registry = registryOf([provider('cloud'), provider('local')])
    const unknown = { ...select('small'), provider: 'openai' }
    const message =
      "Model provider 'openai' is not registered. Registered: 'cloud', 'local'. Pass it to the engine as providers: [...]."
    expect(() => registry.validate(unknown)).toThrow(expect.objectContaining({ code: 'INVALID_INPUT', message }))
    expect(() => registry.resolve(unknown)).toThrow(message)
  })

  test.each(['__proto__', 'constructor', 'toString'])('of a provider named %s is refused like any other', (name) => {
    expect(() => registryOf([provider('cloud')]).validate({ ...select('small'), provider: name })).toThrow(
      `Model provider '${name}' is not registered.`,
    )
    expect(() =>
      registryOf([provider('cloud')], [{ provider: 'cloud', name: 'a' }]).validate(select(name)),
    ).not.toThrow()
  })

  test('of a model that is not in the catalog is accepted if the provider accepts it', () => {
    const asked: ResolvedModelSelection[] = []
    const registry = registryOf([provider('cloud', 'cloud', { validate: (selection) => void asked.push(selection) })])
    registry.validate(select('anything', { seed: 1 }))
    expect(asked).toEqual([select('anything', { seed: 1 })])
  })

  test('that the provider refuses: the message is a general one, and the error is its cause', () => {
    const cause = new Error('401 from https://user:secret@cloud.example')
    const registry = registryOf([
      provider('cloud', 'cloud', {
        validate: () => {
          throw cause
        },
      }),
    ])
    const error = expect.objectContaining({
      code: 'INVALID_INPUT',
      message: "The model 'small' of provider 'cloud' was refused by its provider.",
      cause,
    })
    expect(() => registry.validate(select('small'))).toThrow(error)
    expect(() => registry.resolve(select('small'))).toThrow(error)
  })

  test('that the provider refuses with a FlowError: that error is thrown', () => {
    const refusal = new LimitExceededError({ limit: 'calls', value: 1, problem: 'The number of calls' })
    const registry = registryOf([
      provider('cloud', 'cloud', {
        validate: () => {
          throw refusal
        },
      }),
    ])
    expect(() => registry.validate(select('small'))).toThrow(refusal)
  })

  test('calls validate and resolve as methods of the provider', () => {
    class Adapter implements ModelProviderAdapter {
      readonly provider = 'cloud'
      readonly names = ['small']
      validate(selection: ResolvedModelSelection): void {
        if (!this.names.includes(selection.name))
          throw new LimitExceededError({ limit: 'names', value: 1, problem: 'It' })
      }
      resolve(selection: ResolvedModelSelection): RuntimeModel {
        return model(this.names.join(), selection)
      }
    }
    expect(registryOf([new Adapter()]).resolve(select('small')).model).toMatchObject({ name: 'small' })
  })
})

describe('an entry of the catalog', () => {
  const params = z.object({ temperature: z.number().max(1).default(0.5) })

  test('[4.4-17] refuses parameters that its schema does not accept', () => {
    const registry = registryOf([provider('cloud')], [{ provider: 'cloud', name: 'small', params }])
    expect(() => registry.validate(select('small', { temperature: 2 }))).toThrow(
      expect.objectContaining({
        code: 'INVALID_INPUT',
        message:
          "The parameters of model 'small' of provider 'cloud' are not valid: temperature: Too big: expected number to be <=1.",
      }),
    )
    expect(() => registry.validate(select('small', { temperature: 1 }))).not.toThrow()
  })

  test('passes the parameters that its schema returned to the model and to validate', () => {
    const validated: unknown[] = []
    const registry = registryOf(
      [provider('cloud', 'cloud', { validate: (selection) => void validated.push(selection.params) })],
      [{ provider: 'cloud', name: 'small', params }],
    )
    expect(registry.resolve(select('small'))).toMatchObject({
      selection: select('small', { temperature: 0.5 }),
      model: { params: { temperature: 0.5 } },
    })
    expect(validated).toEqual([{ temperature: 0.5 }])
  })

  test('refuses parameters from its schema that JSON cannot carry', () => {
    const dated = z.object({}).transform(() => ({ when: new Date(0) }))
    const registry = registryOf([provider('cloud')], [{ provider: 'cloud', name: 'small', params: dated }])
    expect(() => registry.validate(select('small'))).toThrow(
      "model 'small' of provider 'cloud' returned parameters that are not valid: params.when is an instance of Date, which JSON cannot carry: use date.toISOString().",
    )
  })

  test('may create the model itself, and then needs no provider', async () => {
    const create = (selection: ResolvedModelSelection): RuntimeModel => model('the catalog', selection)
    const registry = registryOf([], [{ provider: 'cloud', name: 'small', create, params }])
    expect(await madeBy(registry, select('small'))).toMatchObject({ text: 'the catalog' })
    expect(registry.resolve(select('small'))).toMatchObject({
      selection: select('small', { temperature: 0.5 }),
      model: { params: { temperature: 0.5 } },
    })
    expect(() => registry.validate(select('large'))).toThrow('is not registered')
  })

  test('that creates the model itself does not call the provider, even if one is registered', () => {
    const refusing = provider('cloud', 'cloud', {
      validate: () => {
        throw new Error('asked')
      },
    })
    const create = (selection: ResolvedModelSelection): RuntimeModel => model('the catalog', selection)
    expect(() =>
      registryOf([refusing], [{ provider: 'cloud', name: 'small', create }]).validate(select('small')),
    ).not.toThrow()
  })

  test('without create needs its provider', () => {
    expect(() => registryOf([], [{ provider: 'cloud', name: 'small' }]).validate(select('small'))).toThrow(
      "Model provider 'cloud' is not registered. Registered: none.",
    )
  })

  test('calls create as a method of the entry', async () => {
    class Entry implements Model {
      readonly provider = 'cloud'
      readonly name = 'small'
      readonly made = 'an entry'
      create(selection: ResolvedModelSelection): RuntimeModel {
        return model(this.made, selection)
      }
    }
    expect(await madeBy(registryOf([], [new Entry()]), select('small'))).toMatchObject({ text: 'an entry' })
  })
})

describe('creating a model', () => {
  test.each([undefined, null, {}, { generate: 'text' }])('fails if the provider returns %j', (made) => {
    const nothing = expect.objectContaining({
      code: 'MODEL_ERROR',
      message:
        "Model 'small' of provider 'cloud' failed. Its provider must return a model with a method generate(request).",
    })
    const resolve = (): never => made as never
    expect(() => registryOf([provider('cloud', '', { resolve })]).resolve(select('small'))).toThrow(nothing)
    const entry: Model = { provider: 'cloud', name: 'small', create: resolve }
    expect(() => registryOf([], [entry]).resolve(select('small'))).toThrow(nothing)
  })

  test('fails if the provider throws, with what was thrown as the cause', () => {
    const cause = new Error('bad key sk-12345678')
    const resolve = (): never => {
      throw cause
    }
    expect(() => registryOf([provider('cloud', '', { resolve })]).resolve(select('small'))).toThrow(
      expect.objectContaining({
        code: 'MODEL_ERROR',
        message: "Model 'small' of provider 'cloud' failed. It could not be created.",
        cause,
      }),
    )
  })

  test('throws a FlowError of the provider as it is', () => {
    const thrown = new LimitExceededError({ limit: 'models', value: 1, problem: 'The number of models' })
    const resolve = (): never => {
      throw thrown
    }
    expect(() => registryOf([provider('cloud', '', { resolve })]).resolve(select('small'))).toThrow(thrown)
  })
})
