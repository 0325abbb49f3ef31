/** Structured answers: describes the form to the model, and checks an answer against it. */
import type { StandardSchemaV1 } from '@standard-schema/spec'
import { FlowCodeError, flowCodeError } from '../../../errors/engine-errors.js'
import type { Step } from '../../../flow/step.js'
import { jsonSchemaOf } from '../../../model/json-schema.js'
import type { ModelOutputSchema } from '../../../model/model-provider.js'
import { issueText } from '../../../model/schema-issues.js'
import { toToolName } from '../../../util/patterns.js'

/** A parsed answer: its value, or its problem in words for the model. */
export type ReadOutput = { readonly value: unknown } | { readonly problem: string }

/**
 * The description of a step's `output` for the model; `undefined` if the step has none.
 *
 * @throws {@link FlowCodeError}
 */
export function outputOf(step: Step<object, unknown>, stepId: string): ModelOutputSchema | undefined {
  const { output, outputJsonSchema, maxRepairs } = step
  if (output === undefined) return undefined
  if (!Number.isInteger(maxRepairs) || maxRepairs < 0) {
    throw flowCodeError(`maxRepairs of step '${stepId}' must be a whole number of at least 0.`)
  }
  const schema = jsonSchemaOf(output, 'output', `step '${stepId}'`, outputJsonSchema)
  return { name: toToolName(stepId), schema }
}

/**
 * Reads an answer.
 *
 * @throws any error of the schema; {@link FlowCodeError} if it returns neither a value nor issues
 */
export async function readOutput(schema: StandardSchemaV1, text: string, stepId: string): Promise<ReadOutput> {
  let json: unknown
  try {
    json = JSON.parse(unfenced(text.trim()))
  } catch {
    return { problem: 'It is not valid JSON' }
  }
  const { issues, ...rest } = Object((await schema['~standard'].validate(json)) as unknown)
  if (Array.isArray(issues)) return { problem: issueText(issues) }
  if (issues === undefined && 'value' in rest) return { value: rest.value }
  throw flowCodeError(`The output schema of step '${stepId}' returned neither a value nor issues.`)
}

/** Some models put JSON into a fenced block, whatever the prompt asks for. */
function unfenced(text: string): string {
  return text.startsWith('```') && text.endsWith('```') ? text.slice(3, -3).replace(/^json/i, '') : text
}
