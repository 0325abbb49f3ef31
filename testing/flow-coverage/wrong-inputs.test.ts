// What programs without types pass to the coverage of flows by mistake.
import { describe, expect, test } from 'vitest'
import { Flow, type FlowEngine, finish, LogicStep, type StepConstructor } from '../../src/index.js'
import type { FlowCoverageReport } from './coverage-report.js'
import { coverageOf, type FlowCoverage } from './flow-coverage.js'
import { pathsOf } from './step-paths.js'

class Only extends LogicStep {
  static override readonly id = 'Only'
  override run() {
    return finish()
  }
}
class Plain extends Flow {
  static override readonly id = 'Plain'
  override steps(): StepConstructor[] {
    return [Only]
  }
}

/** A flow whose steps are these. */
function flowOf(steps: unknown): typeof Plain {
  return class extends Plain {
    override steps(): StepConstructor[] {
      return steps as StepConstructor[]
    }
  }
}

const coverage = coverageOf(Plain)
const [covered] = coverage.report().flows

describe('coverage refuses', () => {
  test.each<[string, () => unknown]>([
    ['coverageOf: the flow must be a class that extends Flow; got the class Only.', () => coverageOf(Only as never)],
    ['coverageOf: the flow must be a class that extends Flow; got {}.', () => coverageOf([Plain, {} as never])],
    ['pathsOf: the flow must be a class that extends Flow; got the class Only.', () => pathsOf(Only as never)],
    [
      'pathsOf: the flow must be a class that extends Flow; got the class Only.',
      () => pathsOf(Only as never, coverage),
    ],
    [
      "coverageOf: steps() of flow 'Plain' must return a list of classes of steps; got [the class Only, undefined].",
      () => coverageOf(flowOf([Only, undefined])),
    ],
    [
      "coverageOf: steps() of flow 'Plain' must return a list of classes of steps; got the class Only.",
      () => coverageOf(flowOf(Only)),
    ],
    [
      'coverageOf: tools must have a list of names for each step, as in { AskName: [\'capture_name\'] }; got {"Only":"a"}.',
      () => coverageOf(Plain, { tools: { Only: 'a' as never } }),
    ],
    ['as in { AskName: [\'capture_name\'] }; got ["a"].', () => coverageOf(Plain, { tools: ['a'] as never })],
    ['coverage.watch: the first argument must be a FlowEngine.', () => coverage.watch({} as FlowEngine)],
    [
      'coverage.watch: the first argument must be a FlowEngine; got a promise: await FlowEngine.create().',
      () => coverage.watch(Promise.resolve() as unknown as FlowEngine),
    ],
    [
      'pathsOf: coverage must be what coverageOf or coverFlows returned; got {}.',
      () => pathsOf(Plain, {} as FlowCoverage),
    ],
    [
      'pathsOf: coverage must be what coverageOf or coverFlows returned; got null.',
      () => pathsOf(Plain, null as never),
    ],
  ])('%s', (message, call) => {
    expect(call).toThrow(expect.objectContaining({ code: 'INVALID_INPUT', message: expect.stringContaining(message) }))
  })

  test.each<[string, unknown]>([
    ['{}.', {}],
    ['undefined.', undefined],
    ['a coverage: pass its report().', coverage],
    ['{"flows":[null]}.', { flows: [null] }],
    ['{"flows":[{"flow":"Plain"}]}.', { flows: [{ flow: 'Plain' }] }],
    [
      '{"flows":[{"flow":"Plain","turns":0,"steps":[],"tools":[],"transitions":[1]}]}.',
      {
        flows: [{ flow: 'Plain', turns: 0, steps: [], tools: [], transitions: [1] }],
      },
    ],
    ['{"flows":[{"turns":0', { flows: [{ ...covered, flow: undefined, turns: 0 }] }],
    ['{"flows":[{"flow":"Plain","turns":"1"', { flows: [{ ...covered, turns: '1' }] }],
  ])('a report that is %s', (shown, report) => {
    const message = `coverage.add: the report must be what report() of another coverage returned; got ${shown}`
    expect(() => coverage.add(report as FlowCoverageReport)).toThrow(
      expect.objectContaining({ code: 'INVALID_INPUT', message: expect.stringContaining(message) }),
    )
  })

  test('no report that was written as JSON', () => {
    expect(() => coverage.add(JSON.parse(JSON.stringify(coverage)))).not.toThrow()
  })
})
