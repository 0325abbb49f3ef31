/**
 * Checks the declarations of flows, steps and tools. JavaScript code need not follow the types, and a wrong static
 * property would be stored with sessions or match the wrong ones.
 */
import { type FlowRegistrationError, flowCodeError, registrationError } from '../errors/engine-errors.js'
import { shownValue } from '../util/shown-value.js'

const policies: readonly unknown[] = ['queue', 'reject', 'interrupt']

/**
 * Checks the static properties of a flow: which stored sessions it continues, and how it handles failed turns and busy
 * sessions.
 *
 * @param owner - The class, as error messages name it: `Flow 'Desk'`.
 * @throws {@link FlowRegistrationError}
 */
export function checkFlowStatics(
  owner: string,
  {
    aliases,
    version,
    outdated,
    migrate,
    onTurnError,
    busy,
  }: { readonly [Name in 'aliases' | 'version' | 'outdated' | 'migrate' | 'onTurnError' | 'busy']?: unknown },
): void {
  checkAliases(owner, aliases)
  if (!Number.isSafeInteger(version) || (version as number) < 1) {
    throw wrongStatic(owner, 'version', 'a whole number from 1', version)
  }
  if (outdated !== undefined && outdated !== 'refuse' && outdated !== 'restart') {
    throw wrongStatic(owner, 'outdated', "'refuse' or 'restart'", outdated)
  }
  if (onTurnError !== undefined && onTurnError !== 'abort' && onTurnError !== 'rollback') {
    throw wrongStatic(owner, 'onTurnError', "'abort' or 'rollback'", onTurnError)
  }
  if (busy !== undefined && !policies.includes(busy)) {
    throw wrongStatic(owner, 'busy', "'queue', 'reject' or 'interrupt'", busy)
  }
  if (migrate !== undefined && typeof migrate !== 'function') throw wrongStatic(owner, 'migrate', 'a function', migrate)
}

/**
 * Checks the static properties of a step that concern stored sessions.
 *
 * @throws {@link FlowRegistrationError}
 */
export function checkStepStatics(
  owner: string,
  stepClass: { readonly aliases?: unknown; readonly stateSchema?: unknown },
): void {
  checkAliases(owner, stepClass.aliases)
  const { stateSchema } = stepClass
  if (stateSchema === undefined) return
  const standard = (stateSchema as { readonly '~standard'?: { readonly validate?: unknown } } | null)?.['~standard']
  if (typeof standard?.validate !== 'function') {
    throw wrongStatic(owner, 'stateSchema', 'a Standard Schema (Zod, Valibot, ArkType)', stateSchema)
  }
}

function checkAliases(owner: string, aliases: unknown): void {
  const expected = 'a list of former IDs'
  if (!Array.isArray(aliases)) throw wrongStatic(owner, 'aliases', expected, aliases)
  for (const alias of aliases) {
    if (typeof alias === 'string' && alias.trim() !== '') continue
    throw registrationError(`${owner}: static aliases must be ${expected}; got a list with ${shownValue(alias)}.`)
  }
}

function wrongStatic(owner: string, name: string, expected: string, value: unknown): FlowRegistrationError {
  return registrationError(`${owner}: static ${name} must be ${expected}; got ${shownValue(value)}.`)
}

/**
 * Rejects a time limit that is set but is not a number above 0. `Infinity` switches the limit off.
 *
 * @param path - Names the value: `toolTimeoutMs of tool 'look_up'`.
 * @throws `FlowCodeError`
 */
export function checkTimeout(path: string, timeoutMs: unknown): void {
  if (timeoutMs === undefined || (typeof timeoutMs === 'number' && timeoutMs > 0)) return
  throw flowCodeError(`${path} must be a number above 0, or Infinity for no bound; got ${shownValue(timeoutMs)}.`)
}
