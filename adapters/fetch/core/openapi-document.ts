import type { JsonObject } from '../../../src/index.js'

/** A document of OpenAPI 3.1, as plain JSON. */
export interface OpenApiDocument {
  readonly openapi: string
  readonly info: JsonObject
  readonly servers?: readonly JsonObject[]
  /** By path: `/ai/run`. */
  readonly paths: Readonly<Record<string, JsonObject>>
  readonly components: Readonly<Record<'schemas' | 'headers', JsonObject>>
}
