/** The user's event with which a page sends a form. */
import type { StandardSchemaV1 } from '@standard-schema/spec'
import { event, type FlowEvent } from '../flow/event.js'
import { isPlainObject } from '../util/json.js'
import type { Form } from './form.js'

/** Any object; the form checks its fields. */
export const anyObject: StandardSchemaV1<unknown, Readonly<Record<string, unknown>>> = {
  '~standard': {
    version: 1,
    vendor: 'turnkeeper',
    validate: (value) =>
      isPlainObject(value) ? { value } : { issues: [{ message: "expected an object with the form's fields" }] },
  },
}

export function submission(form: Form): FlowEvent {
  return event({
    name: form.id,
    byUser: true,
    input: anyObject,
    execute: (payload, turn) => form.submit(payload, turn),
  })
}
