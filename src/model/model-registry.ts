/**
 * The providers and models of an engine. It validates selections at the start of a session, with errors that name what
 * is wrong and what is registered; it never calls a model.
 */
import type { StandardSchemaV1 } from '@standard-schema/spec'
import {
  type FlowRegistrationError,
  InvalidInputError,
  invalidInput,
  ModelError,
  registrationError,
} from '../errors/engine-errors.js'
import { FlowError } from '../errors/flow-error.js'
import { shownValue } from '../util/shown-value.js'
import type {
  Model,
  ModelPrices,
  ModelProviderAdapter,
  ResolvedModelSelection,
  RuntimeModel,
} from './model-provider.js'
import { copyParams } from './model-selection.js'
import { issueText } from './schema-issues.js'

/** A model, and the selection it was created for. */
export interface ResolvedModel {
  readonly selection: ResolvedModelSelection
  readonly model: RuntimeModel
  /** The prices in its catalog entry, if any. */
  readonly prices: ModelPrices | undefined
}

type ModelName = { readonly provider: string; readonly name: string }

/** The providers and the catalog of one engine. */
export class ModelRegistry {
  readonly #providers = new Map<string, ModelProviderAdapter>()
  /** Models by provider, then name. */
  readonly #models = new Map<string, Map<string, Model>>()

  registerProviders(providers: readonly ModelProviderAdapter[], replace: boolean): void {
    checkList('model providers', 'providers: [provider]', providers)
    for (const provider of providers) checkProvider(provider)
    for (const provider of providers) {
      if (replace || !this.#providers.has(provider.provider)) this.#providers.set(provider.provider, provider)
    }
  }

  registerModels(models: readonly Model[], replace: boolean): void {
    checkList('models', 'models: [model]', models)
    for (const model of models) checkModel(model)
    for (const model of models) {
      const ofProvider = this.#models.get(model.provider) ?? new Map<string, Model>()
      this.#models.set(model.provider, ofProvider)
      if (replace || !ofProvider.has(model.name)) ofProvider.set(model.name, model)
    }
  }

  /**
   * Checks that a selection can be used.
   *
   * @throws {@link InvalidInputError} with the reason, if it cannot.
   */
  validate(selection: ResolvedModelSelection): void {
    this.#check(selection)
  }

  /** Checks a selection and creates its model, with the parameters that the catalog's schema returned. */
  resolve(selection: ResolvedModelSelection): ResolvedModel {
    const { checked, model } = this.#check(selection)
    const failed = (detail: string, cause?: unknown): ModelError =>
      new ModelError({ provider: checked.provider, model: checked.name, detail, cause })
    let resolved: RuntimeModel
    try {
      resolved = model?.create === undefined ? this.#provider(checked).resolve(checked) : model.create(checked)
    } catch (cause) {
      if (FlowError.isInstance(cause)) throw cause
      throw failed('It could not be created.', cause)
    }
    if (typeof resolved?.generate !== 'function')
      throw failed('Its provider must return a model with a method generate(request).')
    return { selection: checked, model: resolved, prices: model?.prices }
  }

  /** The selection with the parameters as their schema returns them, and the catalog entry of the model. */
  #check(selection: ResolvedModelSelection): { checked: ResolvedModelSelection; model: Model | undefined } {
    const model = this.#models.get(selection.provider)?.get(selection.name)
    const provider = model?.create === undefined ? this.#provider(selection) : undefined
    const checked = model?.params === undefined ? selection : parseParams(selection, model.params)
    try {
      provider?.validate?.(checked)
    } catch (cause) {
      if (FlowError.isInstance(cause)) throw cause
      // The provider's own text may contain hosts and keys: it stays in the cause. A FlowError was written for clients.
      throw invalidInput(`The ${nameOf(selection)} was refused by its provider.`, cause)
    }
    return { checked, model }
  }

  #provider({ provider: name }: ModelName): ModelProviderAdapter {
    const provider = this.#providers.get(name)
    if (provider !== undefined) return provider
    const known = [...this.#providers.keys()].map((key) => `'${key}'`).join(', ') || 'none'
    throw invalidInput(
      `Model provider '${name}' is not registered. Registered: ${known}. Pass it to the engine as providers: [...].`,
    )
  }
}

function parseParams(selection: ResolvedModelSelection, schema: StandardSchemaV1): ResolvedModelSelection {
  const result = schema['~standard'].validate(selection.params)
  if (result instanceof Promise) {
    result.catch(() => undefined)
    throw asynchronousSchema(selection)
  }
  if (result.issues !== undefined) {
    const issues = issueText(result.issues)
    throw invalidInput(`The parameters of ${nameOf(selection)} are not valid: ${issues}.`)
  }
  return { ...selection, params: copyParams(result.value, nameOf(selection)) }
}

function checkList(what: string, example: string, given: unknown): void {
  if (Array.isArray(given)) return
  throw registrationError(`The ${what} must be a list, as in ${example}; got ${shownValue(given)}.`)
}

function checkProvider(provider: ModelProviderAdapter): void {
  if (isName(provider?.provider) && typeof provider.resolve === 'function') return
  throw registrationError('A model provider must have a name in `provider` and a method resolve(selection).')
}

function checkModel(model: Model): void {
  if (!isName(model?.provider) || !isName(model.name)) {
    throw registrationError('A model must have a `provider` and a `name` that are not blank.')
  }
  const { prices } = model
  if (prices !== undefined && !(isPrice(prices?.input) && isPrice(prices.output) && isPrice(prices.cachedInput ?? 0))) {
    throw registrationError(
      `The prices of ${nameOf(model)} must be { input, output, cachedInput? }: numbers of at least 0 per million tokens.`,
    )
  }
  if (model.params === undefined) return
  if (typeof model.params['~standard']?.validate !== 'function') {
    const message = `The params of ${nameOf(model)} must be a Standard Schema (Zod, Valibot, ArkType).`
    throw registrationError(message)
  }
  // Only to find out whether the schema validates synchronously; the result does not matter.
  const probe = model.params['~standard'].validate({})
  if (!(probe instanceof Promise)) return
  probe.catch(() => undefined)
  throw asynchronousSchema(model)
}

function asynchronousSchema(model: ModelName): FlowRegistrationError {
  return registrationError(`The params schema of ${nameOf(model)} must validate synchronously.`)
}

function isPrice(value: unknown): boolean {
  return Number.isFinite(value) && (value as number) >= 0
}

function isName(value: unknown): boolean {
  return typeof value === 'string' && value.trim() !== ''
}

function nameOf({ provider, name }: ModelName): string {
  return `model '${name}' of provider '${provider}'`
}
