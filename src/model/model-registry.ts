/**
 * Which providers and models an engine knows. It says no to a selection at session start, with what is wrong and
 * what would do; it never calls a model.
 */
import type { StandardSchemaV1 } from '@standard-schema/spec'
import { FlowRegistrationError, InvalidInputError, ModelError } from '../errors/engine-errors.js'
import { FlowError } from '../errors/flow-error.js'
import type { JsonObject } from '../json.js'
import { copyJson, isPlainObject, JsonError } from '../json.js'
import type { Model, ModelProviderAdapter, ModelSelection, ResolvedModelSelection, RuntimeModel } from './model-provider.js'

/** Parameters are a handful of settings; deeper ones are a mistake. */
const maxParameterDepth = 16

/** The providers and the catalog of one engine. */
export class ModelRegistry {
  readonly #providers = new Map<string, ModelProviderAdapter>()
  /** Models by provider, then name. */
  readonly #models = new Map<string, Map<string, Model>>()

  registerProviders(providers: readonly ModelProviderAdapter[], replace: boolean): void {
    for (const provider of providers) checkProvider(provider)
    for (const provider of providers) {
      if (replace || !this.#providers.has(provider.provider)) this.#providers.set(provider.provider, provider)
    }
  }

  registerModels(models: readonly Model[], replace: boolean): void {
    for (const model of models) checkModel(model)
    for (const model of models) {
      let ofProvider = this.#models.get(model.provider)
      if (ofProvider === undefined) this.#models.set(model.provider, (ofProvider = new Map()))
      if (replace || !ofProvider.has(model.name)) ofProvider.set(model.name, model)
    }
  }

  /** Throws an `INVALID_INPUT` that says what is wrong with `selection`, or what its provider's `validate` throws. */
  validate(selection: ResolvedModelSelection): void {
    this.#check(selection)
  }

  resolve(selection: ResolvedModelSelection): RuntimeModel {
    const checked = this.#check(selection)
    const model = this.#models.get(selection.provider)?.get(selection.name)
    const make = model?.create === undefined ? this.#provider(checked).resolve : model.create
    const owner = model?.create === undefined ? this.#provider(checked) : model
    let resolved: RuntimeModel
    try {
      resolved = make.call(owner, checked)
    } catch (cause) {
      if (FlowError.isInstance(cause)) throw cause
      throw new ModelError({ provider: selection.provider, model: selection.name, detail: 'It could not be made.', cause })
    }
    if (typeof resolved?.generate !== 'function') {
      throw new ModelError({
        provider: selection.provider,
        model: selection.name,
        detail: 'What was made for it has no method generate(request).',
      })
    }
    return resolved
  }

  /** The selection as the model will get it: its parameters as their schema returns them. */
  #check(selection: ResolvedModelSelection): ResolvedModelSelection {
    const model = this.#models.get(selection.provider)?.get(selection.name)
    if (model?.create === undefined) this.#provider(selection)
    const params = model?.params === undefined ? selection.params : parseParams(selection, model.params)
    const checked = params === selection.params ? selection : { ...selection, params }
    const provider = this.#providers.get(selection.provider)
    try {
      if (model?.create === undefined) provider?.validate?.(checked)
    } catch (cause) {
      if (FlowError.isInstance(cause)) throw cause
      throw new InvalidInputError({ message: `${nameOf(selection)} was refused by its provider: ${textOf(cause)}`, cause })
    }
    return checked
  }

  #provider(selection: ResolvedModelSelection): ModelProviderAdapter {
    const provider = this.#providers.get(selection.provider)
    if (provider === undefined) {
      const known = [...this.#providers.keys()].map((name) => `'${name}'`).join(', ') || 'none'
      throw new InvalidInputError({
        message: `Model provider '${selection.provider}' is not registered. Registered: ${known}. Pass it to the engine as providers: [...].`,
      })
    }
    return provider
  }
}

/**
 * Completes a selection: a step's parameters are laid over the flow's where both name the same model.
 *
 * @param source - Who selected it, for error messages.
 */
export function resolveSelection(selection: ModelSelection, base: ModelSelection | undefined, source: string): ResolvedModelSelection {
  if (typeof selection?.provider !== 'string' || typeof selection.name !== 'string') {
    throw new InvalidInputError({ message: `${source} must return { provider, name, params? } with provider and name as strings.` })
  }
  const { provider, name } = selection
  const inherited = base !== undefined && base.provider === provider && base.name === name ? base.params : undefined
  if (selection.params === undefined && inherited === undefined) return { provider, name, params: noParams }
  return { provider, name, params: copyParams({ ...inherited, ...selection.params }, source) }
}

const noParams: JsonObject = Object.freeze({})

function copyParams(params: unknown, source: string): JsonObject {
  try {
    return copyJson(params, 'params', maxParameterDepth) as JsonObject
  } catch (cause) {
    if (!(cause instanceof JsonError)) throw cause
    throw new InvalidInputError({ message: `${source} returned parameters that cannot be used: ${cause.message}.`, cause })
  }
}

function parseParams(selection: ResolvedModelSelection, schema: StandardSchemaV1): JsonObject {
  const result = schema['~standard'].validate(selection.params)
  if (result instanceof Promise) throw asynchronousSchema(selection)
  if (result.issues !== undefined) {
    throw new InvalidInputError({ message: `Parameters of ${nameOf(selection)} are not supported: ${issueText(result.issues)}.` })
  }
  return copyParams(result.value, nameOf(selection))
}

/** The issues of a Standard Schema as one line: `path: reason; path: reason`. */
export function issueText(issues: readonly StandardSchemaV1.Issue[]): string {
  return issues
    .map((issue) => {
      const path = (issue.path ?? []).map((segment) => String(typeof segment === 'object' ? segment.key : segment)).join('.')
      return path === '' ? issue.message : `${path}: ${issue.message}`
    })
    .join('; ')
}

function checkProvider(provider: ModelProviderAdapter): void {
  if (!isBlank(provider?.provider) && typeof provider.resolve === 'function') return
  throw new FlowRegistrationError({
    message: 'A model provider must have a name in `provider` and a method resolve(selection).',
  })
}

function checkModel(model: Model): void {
  if (isBlank(model?.provider) || isBlank(model.name)) {
    throw new FlowRegistrationError({ message: 'A model must have `provider` and `name` as strings that are not blank.' })
  }
  if (model.params === undefined) return
  if (typeof model.params['~standard']?.validate !== 'function') {
    throw new FlowRegistrationError({ message: `The params of ${nameOf(model)} must be a Standard Schema (Zod, Valibot, ArkType).` })
  }
  // A probe: whether it is accepted does not matter, only that the answer comes at once.
  const probe = model.params['~standard'].validate({})
  if (!(probe instanceof Promise)) return
  probe.catch(() => undefined)
  throw asynchronousSchema(model)
}

function asynchronousSchema(model: { readonly provider: string; readonly name: string }): FlowRegistrationError {
  return new FlowRegistrationError({
    message: `The params schema of ${nameOf(model)} validates asynchronously; a model is checked at session start and needs a synchronous schema.`,
  })
}

function isBlank(value: unknown): boolean {
  return typeof value !== 'string' || value.trim() === ''
}

function nameOf(model: { readonly provider: string; readonly name: string }): string {
  return `model '${model.name}' of provider '${model.provider}'`
}

function textOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown)
}

/** `selection` as a document may hold it: parameters named like credentials are left out, at any depth. */
export function withoutCredentials(selection: ResolvedModelSelection): ModelSelection {
  const { provider, name, params } = selection
  return Object.keys(params).length === 0 ? { provider, name } : { provider, name, params: strip(params) as JsonObject }
}

const credentialName = /api[-_]?key|token$|secret|password|passwd|authorization|credential|bearer|private[-_]?key|access[-_]?key/i

function strip(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(strip)
  if (!isPlainObject(value)) return value
  return Object.fromEntries(
    Object.entries(value)
      .filter(([key]) => !credentialName.test(key))
      .map(([key, item]) => [key, strip(item)]),
  )
}
