/** The conversation: its turns, the one under way, what the studio asks, and what the developer can send. */
import { h, type VNode } from 'preact'
import { useLayoutEffect, useRef } from 'preact/hooks'
import { attachmentOf } from '../../../adapters/client/chat-message.js'
import { formOf } from '../../../examples/server/page/form-part.js'
import type { LineView, Question, TurnView } from '../api/types.js'
import { button, e, form, json, row, tag } from './element.js'
import { Built, inputOf, replyOf } from './parts.js'
import { act, send, show, studio } from './studio.js'

export function Conversation({ line }: { line: LineView }): VNode {
  const { history, isBusy, isReadOnly = false, question, events, state } = line
  const log = useRef<HTMLOListElement>(null)
  const scrolls = [history.length, isBusy, studio.text === '', question?.id]
  useLayoutEffect(() => log.current?.scrollTo(0, log.current.scrollHeight), scrolls)
  useLayoutEffect(() => {
    // What had the focus may have gone with the earlier line.
    if (document.activeElement === document.body) document.querySelector('textarea')?.focus()
  }, [])
  const turns = history.map((turn, index) => turnOf(turn, index + 1, line))
  const hint = history.length === 0 ? 'Say something to begin.' : hasEnded(line) && `The conversation is ${state}.`
  const last = isBusy ? turnUnderWay(line) : hint && e('li.empty', hint)
  const spoken = tag('p.hidden', { role: 'status' }, !isBusy && history.at(-1)?.reply.slice(0, 500))
  const forms = e('div.events', ...events.map((event) => eventOf(line, event)))
  const sent = isReadOnly
    ? e('p.empty', 'This session can only be read.')
    : !hasEnded(line) && [forms, composerOf(line)]
  const below = tag('div', { inert: studio.connection === 'down' }, question && ask(line.id, question), sent)
  return e('div.conversation', tag('ol.log', { ref: log }, turns, last), spoken, below)
}

/** Whether nothing can be sent now. */
export function isClosed(line: LineView): boolean {
  return line.isBusy || line.isReadOnly === true || hasEnded(line) || studio.connection === 'down'
}

function hasEnded({ state }: LineView): boolean {
  return state === 'completed' || state === 'aborted'
}

function turnOf(turn: TurnView, number: number, line: LineView): VNode {
  const { id, history, isReadOnly, choices } = line
  const isSelected = number === (studio.selected || history.length)
  const { step, durationMs, differs } = turn
  const inspect = (): unknown => isSelected || show({ selected: number })
  const click = ({ target }: Event): unknown => (target as Element).closest('button, a, summary, label') ?? inspect()
  const name = `Turn ${number} · ${step || 'no step'}${durationMs > 0 ? ` · ${Math.round(durationMs)} ms` : ''}`
  const disabled = studio.connection === 'down'
  const again = (label: string, route: 'fork' | 'replay'): VNode =>
    button(label, () => act(route, { line: id, turn: number }), { class: 'quiet', disabled })
  const choice = button(name, inspect, { class: 'quiet', 'aria-pressed': isSelected })
  const difference = differs?.length ? e('strong.differs', `differs: ${differs.join(', ')}`) : e('span.note', 'same')
  const back = !isReadOnly && row(again('Go on from here', 'fork'), again('Again from here', 'replay'))
  const isOff = isClosed(line)
  const closed = { choices: isOff || turn.number !== choices, form: isOff || number < history.length }
  const content = [inputOf(turn.input), replyOf(turn, closed), row(choice, differs && difference, back)]
  return tag(`li.turn${isSelected ? '.selected' : ''}`, { onClick: click }, content)
}

function turnUnderWay({ pending }: LineView): VNode {
  const { text, tools } = studio
  const notes = tools.map((tool) => e('p.note', 'Tool: ', tool))
  return tag('li.turn', { 'aria-busy': true }, pending && inputOf(pending), notes, e('p.text', text || '…'))
}

const focus = (element: HTMLElement | null): void => element?.focus()

function ask(line: string, { id, kind, name, input, reason }: Question): VNode {
  const answer = (label: string, choice: 'run' | 'run-all' | 'refuse'): VNode =>
    button(label, () => act('answer', { line, question: id, answer: choice }))
  const why = reason && e('p', reason)
  const always = answer('Run it, and do not ask again in this line', 'run-all')
  const then = kind === 'tool' ? 'the model gets a refusal' : 'the turn ends, and the session stays as it was'
  const answers = row(answer('Run it', 'run'), always, answer(`Do not run it: ${then}`, 'refuse'))
  const title = tag('h2', { id: 'ask' }, `Run ${kind === 'tool' ? 'the tool' : 'the effect'} ${name} for real?`)
  const role = { role: 'alertdialog', 'aria-labelledby': 'ask', tabIndex: -1 }
  return tag('div.ask', { key: id, ref: focus, ...role }, title, input !== undefined && json(input, true), why, answers)
}

function composerOf({ id, isBusy }: LineView): VNode {
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return
    event.preventDefault()
    ;(event.currentTarget as HTMLTextAreaElement).form?.requestSubmit()
  }
  const submit = async (fields: FormData): Promise<void> => {
    const text = String(fields.get('text'))
    const files = (fields.getAll('files') as File[]).filter(({ size }) => size > 0)
    if (isBusy || (text.trim() === '' && files.length === 0)) return
    const composer = document.querySelector<HTMLFormElement>('.composer')
    const attachments = (await Promise.all(files.map(attachmentOf))) as never
    const problem = await send({ text, ...(files.length > 0 && { attachments }) })
    if (problem === '') composer?.reset()
  }
  const placeholder = 'Message (Shift+Enter: a new line)'
  const text = tag('textarea', {
    name: 'text',
    'aria-label': 'Message',
    placeholder,
    rows: 2,
    readOnly: isBusy,
    onKeyDown,
  })
  const files = tag('input', { type: 'file', name: 'files', multiple: true, 'aria-label': 'Files' })
  const press = isBusy ? button('Stop', () => act('stop', { line: id })) : e('button.primary', 'Send')
  return form('composer', submit, text, row(files, press))
}

const anyPayload = { properties: { payload: { type: 'string', title: 'Payload as JSON' } } }

/** An event that the session takes now, with a form for its payload: a field each, or JSON if the schema has others. */
function eventOf({ id, history }: LineView, { name, byUser, schema }: LineView['events'][number]): VNode {
  const isFlat = hasControls(schema)
  const fillIn = async (_: string, fields: { readonly payload?: string }): Promise<string> => {
    try {
      const text = isFlat ? JSON.stringify(fields) : fields.payload
      const event = { name, ...(text !== undefined && { payload: JSON.parse(text) }) }
      return await (byUser ? send({ text: '', event }, true) : act('event', { line: id, ...event }, true))
    } catch {
      return 'The payload is not valid JSON.'
    }
  }
  const part = { type: 'form', name, schema: (isFlat ? schema : anyPayload) as never } as const
  const build = (): HTMLElement[] => {
    const built = formOf(part, { choose() {}, fillIn })
    built.querySelector('button')?.replaceChildren('Send the event')
    return [built]
  }
  const summary = e('summary', 'Event ', e('code', name), `, sent by the ${byUser ? 'user' : 'application'}`)
  // A form that was sent cannot be sent again.
  const key = `${history.length} ${JSON.stringify(part)}`
  return tag('details.event', { key: name }, summary, h(Built, { key, build }))
}

/** Whether a schema is an object of fields that the form has a control for. */
function hasControls(schema: unknown): boolean {
  const { properties } = Object(schema) as { properties?: Record<string, { type?: string; enum?: unknown }> }
  const kinds = Object.values(properties ?? { none: {} }).map((field) => `${field.type} ${field.enum ? 'enum' : ''}`)
  return kinds.every((kind) => /^(?:string|(?:number|integer|boolean) $)/.test(kind))
}
