/** The tools that a model may call in a step of a flow among the steps. */
import type { Step } from '../../../flow/step.js'
import type { Tool } from '../../../flow/tool.js'
import type { Turn } from '../../../flow/turn.js'
import type { TurnDraft } from '../draft/turn-draft.js'
import { toolsByName } from '../steps/run-model-step.js'

/** The tools of the step and of the flows around it. A tool of an inside flow hides one of the same name outside. */
export async function toolsOfFlows(
  { steps, stepId }: TurnDraft,
  turn: Turn,
  step: Step,
): Promise<ReadonlyMap<string, Tool>> {
  const [own, ...outer] = steps.flowsFrom(steps.scopeOf(stepId))
  const ofFlow = (await own?.flow.tools(turn)) ?? []
  const tools = new Map(toolsByName([...ofFlow, ...(await step.tools(turn))], stepId))
  for (const { flow } of outer) {
    for (const tool of await flow.tools(turn)) if (!tools.has(tool.name)) tools.set(tool.name, tool)
  }
  return tools
}
