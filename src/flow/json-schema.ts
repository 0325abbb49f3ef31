/** The JSON Schema of a Standard Schema, as a model is told of it. */
import type { StandardJSONSchemaV1, StandardSchemaV1 } from '@standard-schema/spec'
import { FlowCodeError, flowCodeError } from '../errors/engine-errors.js'
import { copyJson, deepFreeze, isPlainObject, type JsonObject } from '../util/json.js'

/** By schema object: what holds a schema is made anew in each turn, the schema is not. */
const jsonSchemas = new WeakMap<StandardSchemaV1, JsonObject>()

/**
 * What a schema takes, as JSON Schema.
 *
 * @param kind - What the schema is for.
 * @param owner - Whose it is, for messages.
 * @param given - What the flow says it is. Default: the schema is asked.
 * @throws {@link FlowCodeError} for what is no Standard Schema, and for one that cannot give its JSON Schema.
 */
export function jsonSchemaOf(
  schema: StandardSchemaV1,
  kind: 'input' | 'output',
  owner: string,
  given?: JsonObject,
): JsonObject {
  const standard = schema?.['~standard'] as StandardSchemaV1.Props & Partial<StandardJSONSchemaV1.Props>
  if (typeof standard?.validate !== 'function') {
    throw flowCodeError(`The ${kind} of ${owner} must be a Standard Schema (Zod, Valibot, ArkType).`)
  }
  const cached = jsonSchemas.get(schema)
  if (given === undefined && cached !== undefined) return cached
  const refuse = (problem: string, cause?: unknown): Error =>
    flowCodeError(`The ${kind} schema of ${owner} ${problem}`, cause)
  if (given === undefined && standard.jsonSchema === undefined) {
    throw refuse(
      `(${standard.vendor}) cannot give its JSON Schema. Wrap it (Valibot: toStandardJsonSchema), or pass ${kind}JsonSchema.`,
    )
  }
  let found: unknown = given
  try {
    if (given === undefined) found = standard.jsonSchema?.input({ target: 'draft-2020-12' })
  } catch (cause) {
    throw refuse(`has no JSON Schema: ${cause instanceof Error ? cause.message : String(cause)}`, cause)
  }
  if (!isPlainObject(found)) throw refuse('has a JSON Schema that is no object.')
  if (given !== undefined) return given
  const jsonSchema = deepFreeze(copyJson(found, 'schema', 1000)) as JsonObject
  jsonSchemas.set(schema, jsonSchema)
  return jsonSchema
}
