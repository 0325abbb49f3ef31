import { expect, test } from 'vitest'
import { errorFacts, factsOf } from './error-facts.js'

test('an unknown code has the facts of an error of flow code', () => {
  expect(factsOf('TURN_ABORTED')).toBe(errorFacts.TURN_ABORTED)
  for (const code of ['OF_A_LATER_RELEASE', 'toString', '__proto__']) expect(factsOf(code)).toBe(errorFacts.FLOW_ERROR)
})
