/** Measures the states and the context of a session as JSON, for `maxSessionBytes` and the memory store. */
import type { SessionStep } from '../../../session/session-document.js'
import { jsonSize, utf8Length } from '../../../util/json.js'

/** Sizes of frozen states and contexts, so that an unchanged one is measured once. */
const sizes = new WeakMap<object, number>()

/** The size of a state or a context as JSON. A frozen one must be deeply frozen. */
export function sizeOf(value: object): number {
  if (!Object.isFrozen(value)) return jsonSize(value)
  let size = sizes.get(value)
  if (size === undefined) {
    size = jsonSize(value)
    sizes.set(value, size)
  }
  return size
}

/** Like `jsonSize`, but from the sizes of the steps. */
export function sizeOfSteps(steps: Readonly<Record<string, SessionStep>>): number {
  let size = 1
  for (const stepId in steps) size += utf8Length(stepId) + 4 + sizeOf(steps[stepId] as SessionStep)
  return Math.max(2, size)
}
