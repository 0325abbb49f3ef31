/**
 * From the parameters of a selection to the settings of a call. Whether a provider honours a setting is its own affair;
 * a parameter that no provider could get is refused here.
 */
import { InvalidInputError, type JsonValue, type ResolvedModelSelection } from '../../src/index.js'
import type { CallOptions } from './language-model.js'

/** The settings of a call that a selection may make. */
export type CallSettings = Omit<CallOptions, 'prompt' | 'tools' | 'abortSignal' | 'responseFormat' | 'includeRawChunks'>

interface Kind {
  readonly what: string
  readonly holds: (value: JsonValue) => boolean
}

const isObject = (value: JsonValue | undefined): boolean =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const number: Kind = { what: 'a number', holds: (value) => typeof value === 'number' }
const integer: Kind = { what: 'a whole number', holds: (value) => Number.isInteger(value) }
const texts: Kind = {
  what: 'a list of strings',
  holds: (value) => Array.isArray(value) && value.every((item) => typeof item === 'string'),
}
const options: Kind = {
  what: 'an object that has an object for each provider',
  holds: (value) => isObject(value) && Object.values(value as object).every(isObject),
}

const kinds: Readonly<Record<keyof CallSettings, Kind>> = {
  temperature: number,
  maxOutputTokens: { what: 'a whole number above 0', holds: (value) => Number.isInteger(value) && Number(value) > 0 },
  topP: number,
  topK: integer,
  seed: integer,
  stopSequences: texts,
  presencePenalty: number,
  frequencyPenalty: number,
  providerOptions: options,
}

/**
 * The settings that the parameters of a selection ask for.
 *
 * @throws `InvalidInputError` for a parameter that is unknown or of the wrong kind. Values are never in the message.
 */
export function callSettings({ provider, name, params }: ResolvedModelSelection): CallSettings {
  const refuse = (problem: string): Error =>
    new InvalidInputError({ message: `Parameters of model '${name}' of provider '${provider}' are wrong: ${problem}.` })
  for (const [key, value] of Object.entries(params)) {
    if (!Object.hasOwn(kinds, key)) {
      throw refuse(`'${key.slice(0, 40)}' is unknown. Known are ${Object.keys(kinds).join(', ')}`)
    }
    const { what, holds } = kinds[key as keyof CallSettings]
    if (!holds(value)) throw refuse(`'${key}' must be ${what}`)
  }
  return params as CallSettings
}
