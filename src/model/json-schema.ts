/** The JSON Schema of a Standard Schema, as it is sent to models. */
import type { StandardJSONSchemaV1, StandardSchemaV1 } from '@standard-schema/spec'
import { type FlowCodeError, flowCodeError } from '../errors/engine-errors.js'
import { copyJson, deepFreeze, isPlainObject, type JsonObject } from '../util/json.js'

/** Caches the conversion for each schema object: tools are created in every turn, but schemas usually are not. */
const jsonSchemas = new WeakMap<StandardSchemaV1, JsonObject>()

/** The maximum nesting of a copied JSON Schema. */
const maxDepth = 1000

/**
 * The JSON Schema of the values that a schema accepts.
 *
 * @param kind - Whether the schema describes an input or an output.
 * @param owner - The tool or step that owns the schema, for error messages.
 * @param given - A JSON Schema from the flow, used instead of converting the schema.
 * @throws {@link FlowCodeError} if the value is not a Standard Schema, or the schema cannot be converted.
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
  const refuse = (problem: string, cause?: unknown): FlowCodeError =>
    flowCodeError(`The ${kind} schema of ${owner} ${problem}`, cause)
  if (given !== undefined) {
    if (!isPlainObject(given)) throw refuse('has a JSON Schema that is not an object.')
    return given
  }
  const cached = jsonSchemas.get(schema)
  if (cached !== undefined) return cached
  if (standard.jsonSchema === undefined) {
    throw refuse(
      `(${standard.vendor}) cannot be converted to JSON Schema. Wrap it (Valibot: toStandardJsonSchema), or pass ${kind}JsonSchema.`,
    )
  }
  let converted: unknown
  try {
    converted = standard.jsonSchema.input({ target: 'draft-2020-12' })
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause)
    throw refuse(`cannot be converted to JSON Schema: ${reason}`, cause)
  }
  if (!isPlainObject(converted)) throw refuse('has a JSON Schema that is not an object.')
  const jsonSchema = deepFreeze(copyJson(converted, 'schema', maxDepth)) as JsonObject
  jsonSchemas.set(schema, jsonSchema)
  return jsonSchema
}
