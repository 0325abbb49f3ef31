/**
 * Checks the parameters of a selection, which become settings of the call. Parameters that the specification does not
 * have are refused; whether a provider supports a setting is up to its package.
 */
import type { JsonValue, ResolvedModelSelection } from '../../src/index.js'
import { invalidInput } from '../../src/util/options.js'
import type { CallOptions } from './language-model.js'

/** The settings of a call that the parameters of a selection can set. */
export type CallSettings = Omit<CallOptions, 'prompt' | 'tools' | 'abortSignal' | 'responseFormat' | 'includeRawChunks'>

interface ParameterType {
  /** For error messages. */
  readonly description: string
  readonly accepts: (value: JsonValue) => boolean
}

const isObject = (value: JsonValue | undefined): boolean =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const number: ParameterType = { description: 'a number', accepts: (value) => typeof value === 'number' }
const integer: ParameterType = { description: 'a whole number', accepts: (value) => Number.isInteger(value) }
const strings: ParameterType = {
  description: 'an array of strings',
  accepts: (value) => Array.isArray(value) && value.every((item) => typeof item === 'string'),
}
const objects: ParameterType = {
  description: 'an object with an object for each provider',
  accepts: (value) => isObject(value) && Object.values(value as object).every(isObject),
}

const types: Readonly<Record<keyof CallSettings, ParameterType>> = {
  temperature: number,
  maxOutputTokens: {
    description: 'a whole number above 0',
    accepts: (value) => Number.isInteger(value) && Number(value) > 0,
  },
  topP: number,
  topK: integer,
  seed: integer,
  stopSequences: strings,
  presencePenalty: number,
  frequencyPenalty: number,
  providerOptions: objects,
}

/**
 * The settings of a call from the parameters of a selection.
 *
 * @throws `InvalidInputError` for a parameter that is unknown or of the wrong type. The message never contains values.
 */
export function callSettings({ provider, name, params }: ResolvedModelSelection): CallSettings {
  const refuse = (problem: string): Error =>
    invalidInput(`The parameters of model '${name}' of provider '${provider}' are not valid: ${problem}.`)
  for (const [key, value] of Object.entries(params)) {
    if (!Object.hasOwn(types, key)) {
      throw refuse(`'${key.slice(0, 40)}' is unknown. Known: ${Object.keys(types).join(', ')}`)
    }
    const { description, accepts } = types[key as keyof CallSettings]
    if (!accepts(value)) throw refuse(`'${key}' must be ${description}`)
  }
  return params as CallSettings
}
