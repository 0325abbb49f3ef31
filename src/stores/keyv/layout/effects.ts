/**
 * Turns a document's record `effects` into a list of pairs, so that a save writes only new pairs. After a load the
 * record is a different object, so its values are compared; there are few of them, and most sessions have none.
 */
import { freezeList } from '../../../session/lists/shared-lists.js'
import { setOwn } from '../../../util/json.js'

/**
 * The pairs of a record, after a round trip through JSON. The list is frozen.
 *
 * @param stored - The stored pairs. A pair that did not change is taken from here. Default: none.
 */
export function effectPairs(
  effects: Readonly<Record<string, unknown>>,
  stored: readonly unknown[] = [],
): readonly unknown[] {
  const pairs: unknown[] = []
  for (const [name, effect] of Object.entries(effects)) {
    if (JSON.stringify(effect) === undefined) continue
    const text = JSON.stringify([name, effect])
    const before = stored[pairs.length]
    pairs.push(JSON.stringify(before) === text ? before : JSON.parse(text))
  }
  freezeList(pairs)
  return pairs
}

/** Turns pairs back into a record; `undefined` if one of them is not a pair. */
export function effectsOf(pairs: readonly unknown[]): Record<string, unknown> | undefined {
  const effects = {}
  for (const pair of pairs) {
    if (!Array.isArray(pair) || pair.length !== 2 || typeof pair[0] !== 'string') return undefined
    setOwn(effects, pair[0], pair[1])
  }
  return effects
}
