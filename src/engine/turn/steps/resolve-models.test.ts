import { describe, expect, test } from 'vitest'
import {
  Flow,
  type Message,
  type ModelChoice,
  type ModelProviderAdapter,
  Step,
  type StepConstructor,
} from '../../../index.js'
import { ModelRegistry } from '../../../model/model-registry.js'
import { collectSteps } from '../draft/collect-steps.js'
import type { FlowSteps } from '../draft/flow-steps.js'
import { resolveModels } from './resolve-models.js'

const provider: ModelProviderAdapter = {
  provider: 'test',
  resolve: ({ name }) => ({
    provider: 'test',
    name,
    generate: async ({ messages }: { readonly messages: readonly Message[] }) => ({
      parts: messages.at(-1)?.parts ?? [],
    }),
  }),
}

/** A flow with one step, the models that both return from `model()`, and other fields of the step. */
function resolved(ofFlow: ModelChoice | undefined, ofStep: ModelChoice | undefined, fields: object = {}): FlowSteps {
  class Ask extends Step {
    static override readonly id: string = 'Ask'
    constructor() {
      super()
      Object.assign(this, fields)
    }
    override model(): ModelChoice | undefined {
      return ofStep
    }
  }
  class Talk extends Flow {
    static override readonly id: string = 'Talk'
    override model(): ModelChoice | undefined {
      return ofFlow
    }
    override steps(): readonly StepConstructor[] {
      return [Ask]
    }
  }
  const models = new ModelRegistry()
  models.registerProviders([provider], false)
  const flow = new Talk()
  const steps = collectSteps(flow, 'Talk')
  resolveModels(models, flow, 'Talk', steps, [])
  return steps
}

function namesOf(steps: FlowSteps): readonly string[] {
  return steps.modelsOf('Ask').map(({ model }) => model.name)
}

const large = { provider: 'test', name: 'large' }
const small = { provider: 'test', name: 'small' }

describe('the models of a step', () => {
  test('are those of its flow where it has none of its own', () => {
    expect(namesOf(resolved([large, small], undefined))).toEqual(['large', 'small'])
  })

  test('are its own, in order, each with the parameters that the flow has for it', () => {
    const steps = resolved({ ...large, params: { effort: 'low' } }, [small, large])
    expect(steps.modelsOf('Ask').map(({ selection }) => selection)).toEqual([
      { ...small, params: {} },
      { ...large, params: { effort: 'low' } },
    ])
  })

  test('must be named before the session is touched', () => {
    expect(() => resolved(undefined, undefined)).toThrow(
      "Step 'Ask' of flow 'Talk' has no model. Return one from model() of the step or of the flow.",
    )
  })

  test.each([
    ['flow', [], undefined],
    ['step', large, []],
  ])('must be at least one: an empty list of a %s is refused', (owner, ofFlow, ofStep) => {
    const id = owner === 'flow' ? 'Talk' : 'Ask'
    expect(() => resolved(ofFlow, ofStep)).toThrow(`model() of ${owner} '${id}' returned an empty list.`)
  })
})

test.each([
  ['modelTimeoutMs', 0],
  ['modelTimeoutMs', Number.NaN],
  ['toolTimeoutMs', -5],
  ['toolTimeoutMs', '500'],
])('a step with a %s of %j is refused before the session is touched', (name, value) => {
  expect(() => resolved(large, small, { [name]: value })).toThrow(
    `${name} of step 'Ask' must be a number above 0, or Infinity for no bound; got ${typeof value === 'string' ? `the text '${value}'` : value}.`,
  )
})
