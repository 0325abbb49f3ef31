// What `static next` and the coverage take, and what they refuse.
import { End, Flow, finish, LogicStep, type StepConstructor, type Transition } from '../../src/index.js'
import { coverageOf, type FlowCoverage } from './flow-coverage.js'

class First extends LogicStep {
  static override get next(): readonly StepConstructor[] {
    return [Second]
  }
  override run() {
    return finish()
  }
}
class Second extends LogicStep {
  static override readonly next = [First, End, 'Third']
  override run() {
    return finish()
  }
}
// @ts-expect-error a number is not a step
export class NotSteps extends LogicStep {
  static override readonly next: readonly number[] = [1]
  override run(): Transition {
    return finish()
  }
}
class Both extends Flow {
  override steps() {
    return [First, Second]
  }
}

export const coverage: FlowCoverage = coverageOf(Both, { tools: { First: ['a'] } })
coverageOf([Both]).expectFull({ except: ['First -> Second'] })
// @ts-expect-error a step is not a flow
coverageOf(First)
// @ts-expect-error what may be missing is a list of names
coverage.expectFull({ except: 'First' })
