/**
 * Settings by name. Explicit values override the environment, which overrides the defaults. Only this module reads the
 * environment, and only when a setting is requested.
 */
import { InvalidInputError, invalidInput } from '../errors/engine-errors.js'
import { runtimeProcess } from './runtime.js'

/** Anything that returns settings by name: a {@link ConfigManager}, or an object of your application. */
export interface ConfigReader {
  /** The value of a setting, or `undefined` if it is not set. */
  get(key: string): string | undefined
}

/**
 * The constructor options of {@link ConfigManager}.
 *
 * @inline
 */
export type ConfigManagerOptions = {
  /** Values that override the environment. Default: none. */
  readonly values?: Readonly<Record<string, string | undefined>>
  /** Values for settings that are not set elsewhere. Default: none. */
  readonly defaults?: Readonly<Record<string, string | undefined>>
}

/**
 * Reads settings from explicit values, then the environment, then the defaults.
 *
 * @example
 * ```ts
 * const configManager = new ConfigManager({ values: { SESSION_STORE: 'memory' } })
 * const engine = await FlowEngine.create({ configManager })
 * ```
 */
export class ConfigManager implements ConfigReader {
  readonly #values: Readonly<Record<string, string | undefined>>
  readonly #defaults: Readonly<Record<string, string | undefined>>

  constructor(options: ConfigManagerOptions = {}) {
    this.#values = { ...options.values }
    this.#defaults = { ...options.defaults }
  }

  /** The value of `key`, or `undefined` if it is not set anywhere. An empty environment variable counts as not set. */
  get(key: string): string | undefined {
    return own(this.#values, key) ?? fromEnvironment(key) ?? own(this.#defaults, key)
  }

  /**
   * The value of `key`.
   *
   * @throws {@link InvalidInputError} that names the key, if it is not set anywhere.
   */
  require(key: string): string {
    const value = this.get(key)
    if (value === undefined) {
      throw invalidInput(`Setting '${key}' is missing. Set it in the environment, or pass it to ConfigManager.`)
    }
    return value
  }
}

function own(record: Readonly<Record<string, string | undefined>>, key: string): string | undefined {
  return Object.hasOwn(record, key) ? record[key] : undefined
}

function fromEnvironment(key: string): string | undefined {
  try {
    return own(runtimeProcess()?.env ?? {}, key) || undefined
  } catch {
    // Some runtimes throw when the environment is read (Deno without permission): treat the setting as not set.
    return undefined
  }
}
