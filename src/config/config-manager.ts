/**
 * Settings by name. Values that were passed in win over the environment, which wins over defaults. The environment is
 * read here and nowhere else, when a setting is asked for.
 */
import { InvalidInputError, invalidInput } from '../errors/engine-errors.js'
import { runtimeProcess } from './runtime.js'

/** Anything that answers settings by name: a {@link ConfigManager}, or an object of the application's own. */
export interface ConfigReader {
  /** The value of a setting, or `undefined` where it is not set. */
  get(key: string): string | undefined
}

/**
 * What the constructor of {@link ConfigManager} takes.
 *
 * @inline
 */
export type ConfigManagerOptions = {
  /** Values that win over the environment. Default: none. */
  readonly values?: Readonly<Record<string, string | undefined>>
  /** Values for what is set nowhere else. Default: none. */
  readonly defaults?: Readonly<Record<string, string | undefined>>
}

/**
 * Reads settings from the values passed in, then the environment, then defaults.
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

  /** The value of `key`, or `undefined` where it is set nowhere. An empty environment variable counts as not set. */
  get(key: string): string | undefined {
    return own(this.#values, key) ?? fromEnvironment(key) ?? own(this.#defaults, key)
  }

  /**
   * The value of `key`.
   *
   * @throws {@link InvalidInputError} that names the key where it is set nowhere.
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
    // A runtime that guards its environment (Deno without the permission) has nothing to say here.
    return undefined
  }
}
