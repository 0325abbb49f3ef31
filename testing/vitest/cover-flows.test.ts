import { expect, test } from 'vitest'
import { Flow, finish, LogicStep } from '../../src/index.js'
import { coverFlows } from './cover-flows.js'

class Only extends LogicStep {
  static override readonly id = 'Only'
  override run() {
    return finish()
  }
}
class Plain extends Flow {
  static override readonly id = 'Plain'
  override steps() {
    return [Only]
  }
}

const coverage = coverFlows(Plain)

test('coverFlows at the top of a file covers its flows; inside a test it is refused, because nothing would be passed on', async () => {
  expect(coverage.report().flows.map(({ flow }) => flow)).toEqual(['Plain'])
  const refused = /coverFlows was called inside a test\. Call it at the top of the file/
  expect(() => coverFlows(Plain)).toThrow(refused)
  await Promise.resolve()
  expect(() => coverFlows(Plain)).toThrow(refused)
})
