/**
 * Model selections: completed from what a flow and a step returned, and without credentials for the session document.
 */
import { InvalidInputError, invalidInput } from '../errors/engine-errors.js'
import { copyJson, isPlainObject, type JsonObject } from '../util/json.js'
import { isCredentialName } from '../util/patterns.js'
import type { ModelSelection, ResolvedModelSelection } from './model-provider.js'

/** Parameters are a handful of settings: deeper nesting is a programming error. */
const maxParameterDepth = 16

const noParams: JsonObject = Object.freeze({})

/**
 * Completes a selection. If a step selects a model that its flow selects too, the step's parameters
 * are merged over the flow's.
 *
 * @param bases - The selections of the flow.
 * @param source - What returned the selection, for error messages.
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

/** A validated copy of parameters that an application passed. */
export function copyParams(params: unknown, source: string): JsonObject {
  const refuse = (problem: string, cause: Error): Error =>
    invalidInput(`${source} returned parameters that are not valid: ${problem}.`, cause)
  return copyJson(params, 'params', maxParameterDepth, refuse) as JsonObject
}

/** `selection` as a document stores it: without parameters that are named like credentials, at any depth. */
export function withoutCredentials(selection: ResolvedModelSelection): ModelSelection {
  const { provider, name, params } = selection
  if (params === noParams) return { provider, name }
  return { provider, name, params: strip(params) as JsonObject }
}

/** Whether `stored` is what {@link withoutCredentials} returns for a selection without parameters. */
export function isStoredAs({ provider, name, params }: ResolvedModelSelection, stored?: ModelSelection): boolean {
  return params === noParams && stored?.provider === provider && stored.name === name && stored.params === undefined
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
