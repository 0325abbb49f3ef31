/** Selections of models: completed from what a flow and a step returned, and cleaned for the document. */
import { InvalidInputError, invalidInput } from '../errors/engine-errors.js'
import { copyJson, isPlainObject, type JsonObject } from '../util/json.js'
import { isCredentialName } from '../util/patterns.js'
import type { ModelSelection, ResolvedModelSelection } from './model-provider.js'

/** Parameters are a handful of settings; deeper ones are a mistake. */
const maxParameterDepth = 16

const noParams: JsonObject = Object.freeze({})

/**
 * Completes a selection: a step's parameters are laid over the flow's where both name the same model.
 *
 * @param bases - Those of the flow.
 *
 * @param source - Who selected it, for error messages.
 * @throws {@link InvalidInputError}
 */
export function resolveSelection(
  selection: ModelSelection,
  bases: readonly ModelSelection[],
  source: string,
): ResolvedModelSelection {
  if (typeof selection?.provider !== 'string' || typeof selection.name !== 'string') {
    throw invalidInput(`${source} must return { provider, name, params? } with two strings.`)
  }
  const { provider, name, params } = selection
  const inherited = bases.find((base) => base.provider === provider && base.name === name)?.params
  if (params === undefined && inherited === undefined) return { provider, name, params: noParams }
  return { provider, name, params: copyParams({ ...inherited, ...params }, source) }
}

/** A copy of parameters that came from outside. */
export function copyParams(params: unknown, source: string): JsonObject {
  const refuse = (problem: string, cause: Error): Error =>
    invalidInput(`${source} gave parameters that cannot be used: ${problem}.`, cause)
  return copyJson(params, 'params', maxParameterDepth, refuse) as JsonObject
}

/** `selection` as a document may hold it: parameters named like credentials are left out, at any depth. */
export function withoutCredentials(selection: ResolvedModelSelection): ModelSelection {
  const { provider, name, params } = selection
  if (params === noParams) return { provider, name }
  return { provider, name, params: strip(params) as JsonObject }
}

function strip(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(strip)
  if (!isPlainObject(value)) return value
  return Object.fromEntries(
    Object.entries(value)
      .filter(([key]) => !isCredentialName(key))
      .map(([key, item]) => [key, strip(item)]),
  )
}
