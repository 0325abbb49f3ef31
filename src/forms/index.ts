/**
 * Forms: several questions that a user answers in any order and corrects at any time, by text, through a model, or on a
 * page.
 *
 * @module turnkeeper/forms
 */

// A list of names that is kept by hand, and nothing else.

export type { Field, FieldOptions, FormFields, FormValues, NeededValues } from './field.js'
export { field } from './field.js'
export type { FormState } from './form.js'
export { FormStep } from './form-step.js'
export { ModelFormStep } from './model-form-step.js'
export type { FormWords } from './words.js'
