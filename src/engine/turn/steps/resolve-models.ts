/** Resolves and checks the models of the flow and of each model step before the session is loaded. */
import { flowCodeError, invalidInput } from '../../../errors/engine-errors.js'
import { checkTimeout } from '../../../flow/check-declarations.js'
import type { Flow } from '../../../flow/flow.js'
import { Step } from '../../../flow/step.js'
import { checkPrices, type ModelBudgets } from '../../../model/model-budget.js'
import type { ModelChoice, ModelSelection } from '../../../model/model-provider.js'
import type { ModelRegistry, ResolvedModel } from '../../../model/model-registry.js'
import { resolveSelection } from '../../../model/model-selection.js'
import type { FlowSteps } from '../draft/flow-steps.js'
import { outputOf } from './structured-output.js'

/**
 * Resolves the model of every model step, and gives it to the steps. Each choice is resolved once.
 *
 * @throws `InvalidInputError` for an invalid model; `FlowCodeError` for a step without a model, and for an invalid
 * `output` or time limit
 */
export function resolveModels(
  models: ModelRegistry,
  flow: Flow,
  flowName: string,
  steps: FlowSteps,
  budgets: readonly ModelBudgets[],
): void {
  const flowChoice = flow.model()
  if (flowChoice !== undefined) {
    steps.flowModels = resolve(models, budgets, flowChoice, undefined, `model() of flow '${flowName}'`)
  }
  for (const [stepId, step] of steps.all()) {
    if (!(step instanceof Step)) continue
    outputOf(step, stepId)
    checkTimeouts(step, stepId)
    const ofFlow = steps.scopeOf(stepId) === steps.root ? undefined : innermostModel(steps, stepId)
    const choice = step.model() ?? ofFlow
    if (choice !== undefined) {
      steps.setModels(stepId, resolve(models, budgets, choice, ofFlow ?? flowChoice, `model() of step '${stepId}'`))
    } else if (steps.flowModels === undefined) {
      throw flowCodeError(
        `Step '${stepId}' of flow '${flowName}' has no model. Return one from model() of the step or of the flow.`,
      )
    }
  }
}

/** The model that the innermost flow around a step selects. */
function innermostModel(steps: FlowSteps, stepId: string): ModelChoice | undefined {
  const choices = steps.flowsFrom(steps.scopeOf(stepId)).map(({ flow }) => flow.model())
  return choices.find((choice) => choice !== undefined)
}

function checkTimeouts(step: Step, stepId: string): void {
  for (const name of ['modelTimeoutMs', 'toolTimeoutMs'] as const) {
    if (step[name] !== undefined) checkTimeout(`${name} of step '${stepId}'`, step[name])
  }
}

function resolve(
  models: ModelRegistry,
  budgets: readonly ModelBudgets[],
  choice: ModelChoice,
  base: ModelChoice | undefined,
  source: string,
): readonly ResolvedModel[] {
  const selections = listOf(choice)
  if (selections.length === 0) throw invalidInput(`${source} returned an empty list.`)
  return selections.map((selection) => {
    const resolved = models.resolve(resolveSelection(selection, listOf(base), source))
    checkPrices(budgets, resolved)
    return resolved
  })
}

function listOf(choice: ModelChoice | undefined): readonly ModelSelection[] {
  if (choice === undefined) return []
  return Array.isArray(choice) ? choice : [choice as ModelSelection]
}
