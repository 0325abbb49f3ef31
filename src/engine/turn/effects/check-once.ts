/** Checks the arguments of `turn.once` and `turn.forget`. */
import { flowCodeError } from '../../../errors/engine-errors.js'
import type { FlowError } from '../../../errors/flow-error.js'
import type { Turn } from '../../../flow/turn.js'
import { findUnknownName } from '../../../util/options.js'

type OnceOptions = Parameters<Turn['once']>[2]

const maxNameLength = 200
const optionNames: { readonly [Name in keyof NonNullable<OnceOptions>]-?: true } = { durable: true }

/** @throws `FlowCodeError` for an invalid name of an effect */
export function checkName(name: unknown): void {
  if (typeof name === 'string' && name !== '' && name.length <= maxNameLength) return
  const got = typeof name === 'string' ? `${name.length}` : typeof name
  throw flowCodeError(`The name for turn.once or turn.forget must be 1 to ${maxNameLength} characters; got ${got}.`)
}

/**
 * The option `durable` of `turn.once`; `undefined` if it is not given.
 *
 * @throws `FlowCodeError` for invalid work or options
 */
export function isDurable(name: string, work: unknown, options: OnceOptions): boolean | undefined {
  if (typeof work !== 'function') throw flowCodeError(`turn.once('${name}') needs a function; got ${typeof work}.`)
  const unknown = findUnknownName(options ?? {}, optionNames)
  if (unknown !== undefined) {
    throw flowCodeError(`turn.once('${name}') has no option '${unknown}'. The only option is durable.`)
  }
  const durable: unknown = options?.durable
  if (durable === undefined || typeof durable === 'boolean') return durable
  throw flowCodeError(`durable of turn.once('${name}') must be true or false; got ${typeof durable}.`)
}

/**
 * The error for code that continues after its turn, or its part of the turn, is over.
 *
 * @param cause - The error of its work.
 */
export function hasEnded(name: string, cause?: unknown): FlowError {
  return flowCodeError(`turn.once('${name}') was called, or its work ended, when the turn was over.`, cause)
}
