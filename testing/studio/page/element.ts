/** How the page writes its elements: `e('p.note', 'text')`. All text becomes text nodes. */
import { type ComponentChildren, h, type VNode } from 'preact'

type Content = ComponentChildren[]

/** An element: its tag and classes, its properties, and what is in it. */
export function tag(name: string, properties: object, ...content: Content): VNode {
  const [type = '', ...classes] = name.split('.')
  return h(type, { ...(classes.length > 0 && { class: classes.join(' ') }), ...properties }, ...content)
}

/** An element without properties: nothing that the server sent can become one. */
export const e = (name: string, ...content: Content): VNode => tag(name, {}, ...content)
export const row = (...content: Content): VNode => e('div.row', ...content)

export function button(label: string, press: () => unknown, properties: object = {}): VNode {
  return tag('button', { type: 'button', onClick: () => void press(), ...properties }, label)
}

/** What opens and closes. */
export function fold(name: string, isOpen: boolean, summary: ComponentChildren, ...content: Content): VNode {
  return tag(`details.${name}`, { open: isOpen }, e('summary', summary), ...content)
}

/** A form that is sent with its fields. */
export function form(name: string, submit: (fields: FormData) => unknown, ...content: Content): VNode {
  const onSubmit = (event: SubmitEvent): void => {
    event.preventDefault()
    void submit(new FormData(event.currentTarget as HTMLFormElement))
  }
  return tag(`form.${name}`, { onSubmit }, ...content)
}

/** A value as JSON: a short one as it is, a long one to open, unless it is to be seen whole. */
export function json(value: unknown, isWhole = false): VNode {
  const line = JSON.stringify(value) ?? 'nothing'
  if (line.length <= 80) return e('code', line)
  const whole = e('pre', JSON.stringify(value, null, 2))
  return isWhole ? whole : fold('json', false, e('code', `${line.slice(0, 36)}…`), whole)
}

const units = { month: 'short', day: 'numeric', hour: 'numeric', minute: '2-digit' } as const

/** A time, given in milliseconds since the epoch. */
export function timeOf(ms: number): VNode {
  const date = new Date(ms)
  const year = date.getFullYear() === new Date().getFullYear() ? {} : ({ year: 'numeric' } as const)
  const dateTime = date.toISOString()
  return tag('time', { dateTime, title: dateTime }, date.toLocaleString(undefined, { ...units, ...year }))
}

/** `1 turn`, `2 turns`. */
export const count = (number: number, thing: string): string => `${number} ${thing}${number === 1 ? '' : 's'}`
