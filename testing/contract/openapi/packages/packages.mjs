// What the tests use of the packages of this folder: in JavaScript, because they are not installed
// where the types are checked.
import { Validator } from '@seriousme/openapi-schema-validator'
import Ajv from 'ajv/dist/2020.js'

/** The problems of a document by the schema of OpenAPI 3.1. Empty if there are none. */
export async function problemsOf(document) {
  const validator = new Validator()
  const { valid, errors } = await validator.validate(structuredClone(document))
  return valid && validator.version === '3.1' ? [] : [validator.version, errors]
}

/** Checks values by the schemas of a document. A property that an object has no schema of is a problem, too. */
export function createChecker(document) {
  const ajv = new Ajv({ strict: false, validateFormats: false })
  const closed = JSON.parse(JSON.stringify(document), (_key, value) =>
    value?.properties === undefined || value.type !== 'object' ? value : { additionalProperties: false, ...value },
  )
  ajv.addSchema(closed, 'document')
  return function check(pointer, value) {
    const validate = ajv.getSchema(`document#${pointer}`)
    return validate(value) ? [] : validate.errors
  }
}
