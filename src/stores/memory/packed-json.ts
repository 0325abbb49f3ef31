/**
 * JSON as compact text: every string, number and set of keys is written once, and named by its number after that. A
 * conversation says much twice (history and messages hold the same texts), and each entry has the keys of the one
 * before. What is packed, and when, is left to the caller.
 *
 * The text is a JSON array of three: the primitives; the shapes, which are lists of keys; and the value as a flat list
 * of integers, outermost first. `n > 0` is primitive `n - 1`; `0` is a list, and its length follows; `n < 0` is an
 * object of shape `-n - 1`.
 */

import { isPlainObject, setOwn } from '../../util/json.js'

type Primitive = string | number | boolean | null

/** Deeper values are left alone: both directions recurse, and must not meet the end of the stack. */
const maxDepth = 100

/** Shapes that are compared with a new one; later ones are written again each time. */
const comparedShapes = 16

/** Thrown inside, to give a value up. */
class Unpackable extends Error {}

/** Plain JSON as text; `undefined` for what is none, or is nested more than 100 levels deep. */
export function packJson(value: unknown): string | undefined {
  const packer = new Packer()
  try {
    packer.add(value, 0)
  } catch (error) {
    if (error instanceof Unpackable) return undefined
    throw error
  }
  return packer.toText()
}

class Packer {
  readonly #primitives: Primitive[] = []
  readonly #numbers = new Map<Primitive, number>()
  readonly #shapes: (readonly string[])[] = []
  readonly #tokens: number[] = []

  add(value: unknown, depth: number): void {
    if (isPrimitive(value)) {
      this.#tokens.push(this.#numberOf(value))
      return
    }
    if (depth === maxDepth) throw new Unpackable()
    if (Array.isArray(value)) {
      this.#tokens.push(0, value.length)
      for (const item of value) this.add(item, depth + 1)
      return
    }
    if (!isPlainObject(value)) throw new Unpackable()
    const keys = Object.keys(value)
    this.#tokens.push(-1 - this.#shapeOf(keys))
    for (const key of keys) this.add(value[key], depth + 1)
  }

  toText(): string {
    return JSON.stringify([this.#primitives, this.#shapes, this.#tokens])
  }

  /** From 1 on. */
  #numberOf(primitive: Primitive): number {
    let number = this.#numbers.get(primitive)
    if (number === undefined) {
      number = this.#primitives.push(primitive)
      this.#numbers.set(primitive, number)
    }
    return number
  }

  /** From 0 on. */
  #shapeOf(keys: readonly string[]): number {
    const count = Math.min(this.#shapes.length, comparedShapes)
    for (let index = 0; index < count; index++) {
      if (sameKeys(this.#shapes[index] as readonly string[], keys)) return index
    }
    return this.#shapes.push(keys) - 1
  }
}

function isPrimitive(value: unknown): value is Primitive {
  return typeof value === 'string' || typeof value === 'boolean' || value === null || Number.isFinite(value)
}

function sameKeys(left: readonly string[], right: readonly string[]): boolean {
  if (left.length !== right.length) return false
  for (let index = 0; index < left.length; index++) if (left[index] !== right[index]) return false
  return true
}

/** What {@link packJson} was given, as a copy. */
export function unpackJson(text: string): unknown {
  const [primitives, shapes, tokens] = JSON.parse(text) as [Primitive[], string[][], number[]]
  let at = 0
  function next(): unknown {
    const token = tokens[at++] as number
    if (token > 0) return primitives[token - 1]
    if (token === 0) {
      const list: unknown[] = []
      for (let length = tokens[at++] as number; length > 0; length--) list.push(next())
      return list
    }
    const object = {}
    for (const key of shapes[-1 - token] as string[]) {
      setOwn(object, key, next())
    }
    return object
  }
  return next()
}
