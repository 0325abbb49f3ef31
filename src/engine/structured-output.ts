/** Answers that must have a form: what the model is told of it, and whether an answer has it. */
import type { StandardSchemaV1 } from '@standard-schema/spec'
import { FlowCodeError } from '../errors/engine-errors.js'
import { jsonSchemaOf } from '../flow/json-schema.js'
import type { Step } from '../flow/step.js'
import type { ModelOutputSchema } from '../model/model-provider.js'
import { issueText } from '../model/schema-issues.js'

/**
 * What the model is told of the `output` of a step; `undefined` where it has none.
 *
 * @throws {@link FlowCodeError}
 */
export function outputOf(step: Step<object, unknown>, stepId: string): ModelOutputSchema | undefined {
  const { output, outputJsonSchema, maxRepairs } = step
  if (output === undefined) return undefined
  if (!Number.isInteger(maxRepairs) || maxRepairs < 0) {
    throw new FlowCodeError({ message: `maxRepairs of step '${stepId}' must be a whole number of at least 0.` })
  }
  const schema = outputJsonSchema ?? jsonSchemaOf(output, 'output', `step '${stepId}'`)
  return { name: stepId.replace(/[^\w-]/g, '_').slice(0, 64), schema }
}

/** The value of an answer, or what is wrong with it, in words for the model. */
export async function readOutput(
  schema: StandardSchemaV1,
  text: string,
): Promise<{ readonly value: unknown } | { readonly problem: string }> {
  let json: unknown
  try {
    // Some models put JSON into a fenced block, whatever they are told.
    json = JSON.parse(text.replace(/^\s*```(?:json)?\s*\n([\s\S]*)\n\s*```\s*$/, '$1'))
  } catch {
    return { problem: 'It is no JSON' }
  }
  const { issues, ...validated } = await schema['~standard'].validate(json)
  return issues === undefined ? (validated as { value: unknown }) : { problem: issueText(issues) }
}
