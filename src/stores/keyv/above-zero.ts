/** The check of numeric options that the functions which make a Keyv share. */
import { InvalidInputError } from '../../errors/engine-errors.js'

/** @throws {@link InvalidInputError} for anything else than a finite number above 0. */
export function checkAboveZero(maker: string, name: string, value: number): void {
  if (typeof value === 'number' && value > 0 && value !== Number.POSITIVE_INFINITY) return
  throw new InvalidInputError({ message: `${maker}: ${name} must be a number above 0; got ${String(value)}.` })
}
