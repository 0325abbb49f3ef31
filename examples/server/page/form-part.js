/**
 * A form part as a form: each field with its label, and with what is wrong about it. The page sends it as the user's
 * event with the form's name.
 */
import { textElement } from './text-element.js'

/** @typedef {Extract<import('./client.js').ChatPart, { type: 'form' }>} FormPart */
/** @typedef {HTMLInputElement | HTMLSelectElement} Control */
/** @typedef {Readonly<Record<string, any>>} FieldSchema */

let fields = 0

/**
 * @param {FormPart} part
 * @param {import('./parts.js').Answers} answers
 */
export function formOf({ name, schema, values, errors }, { fillIn }) {
  const form = document.createElement('form')
  const set = document.createElement('fieldset')
  set.className = 'form'
  set.setAttribute('aria-label', own(schema, 'title') ?? 'Form')
  const problem = document.createElement('p')
  problem.className = 'problem'
  problem.setAttribute('role', 'alert')
  const required = /** @type {readonly string[]} */ (schema.required ?? [])
  const controls = Object.entries(/** @type {FieldSchema} */ (schema.properties)).map(([field, of]) => {
    const value = own(values, field)
    const control = controlOf(of, value ?? own(of, 'default'))
    control.required = control.type !== 'checkbox' && required.includes(field)
    set.append(labelled(control, own(of, 'title') ?? field, own(of, 'description'), own(errors, field)))
    return /** @type {const} */ ([field, control, value !== undefined])
  })
  set.append(textElement('button', 'Send the form'))
  form.append(set, problem)
  form.addEventListener('submit', async (event) => {
    event.preventDefault()
    // An entry for each field, whatever its name is. A field without one keeps the value that the flow has for it.
    const payload = Object.fromEntries(
      controls.map(([field, control, wasFilled]) => [field, heldBy(control) ?? (wasFilled ? '' : undefined)]),
    )
    set.disabled = true
    problem.textContent = await fillIn(name, payload)
    if (problem.textContent !== '') set.disabled = false
  })
  return form
}

/**
 * A control with its label. What is said about it is read with it.
 *
 * @param {Control} control
 * @param {string} title
 * @param {string | undefined} description
 * @param {string | undefined} error
 */
function labelled(control, title, description, error) {
  control.id = `field-${++fields}`
  const label = textElement('label', control.required ? `${title} (required)` : title)
  label.htmlFor = control.id
  const notes = [description, error].flatMap((text) => (text === undefined ? [] : [textElement('p', text)]))
  notes.forEach((note, index) => {
    note.id = `${control.id}-${index}`
  })
  if (notes.length > 0) control.setAttribute('aria-describedby', notes.map(({ id }) => id).join(' '))
  if (error !== undefined) {
    control.setAttribute('aria-invalid', 'true')
    notes.at(-1)?.classList.add('problem')
  }
  const field = document.createElement('div')
  field.append(label, control, ...notes)
  return field
}

/**
 * @param {FieldSchema} schema
 * @param {unknown} value
 * @returns {Control}
 */
function controlOf(schema, value) {
  if (schema.enum !== undefined) return selectOf(schema, value)
  const input = document.createElement('input')
  if (schema.type === 'boolean') {
    input.type = 'checkbox'
    input.checked = value === true
    return input
  }
  const isNumber = schema.type !== 'string'
  input.type = isNumber ? 'number' : textTypeOf(schema)
  const attributes = isNumber
    ? { min: schema.minimum, max: schema.maximum, step: schema.type === 'integer' ? 1 : 'any' }
    : { minlength: schema.minLength, maxlength: schema.maxLength }
  for (const [attribute, bound] of Object.entries(attributes)) {
    if (bound !== undefined) input.setAttribute(attribute, String(bound))
  }
  if (value !== undefined) input.value = String(value)
  return input
}

/**
 * @param {FieldSchema} schema
 * @returns {string}
 */
function textTypeOf({ writeOnly, format }) {
  return writeOnly ? 'password' : (inputTypes.get(format) ?? 'text')
}

const inputTypes = new Map([
  ['email', 'email'],
  ['uri', 'url'],
  ['date', 'date'],
])

/**
 * @param {FieldSchema} schema
 * @param {unknown} value
 */
function selectOf({ enum: values, enumNames = [] }, value) {
  const select = document.createElement('select')
  select.add(new Option('', ''))
  values.forEach((/** @type {string} */ each, /** @type {number} */ index) => {
    select.add(new Option(enumNames[index] ?? each, each, false, each === value))
  })
  return select
}

/**
 * What a field holds; nothing if it is empty.
 *
 * @param {Control} control
 */
function heldBy(control) {
  if (control.type === 'checkbox') return /** @type {HTMLInputElement} */ (control).checked
  if (control.value === '') return undefined
  return control.type === 'number' ? Number(control.value) : control.value
}

/**
 * A property of an object of the server, and none of its prototype.
 *
 * @param {object | undefined} object
 * @param {string} key
 * @returns {any}
 */
function own(object, key) {
  return object !== undefined && Object.hasOwn(object, key) ? Reflect.get(object, key) : undefined
}
