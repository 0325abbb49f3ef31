/** The conversation: its turns, the one under way, what the studio asks, and what the developer can send. */
import { h, type VNode } from 'preact'
import { useLayoutEffect, useRef } from 'preact/hooks'
import { attachmentOf } from '../../../adapters/client/chat-message.js'
import { formOf } from '../../../examples/server/page/form-part.js'
import { keepNewest } from '../../../examples/server/page/parts.js'
import type { LineView, Question, TurnView } from '../api/types.js'
import { button, e, fold, form, json, row, tag } from './element.js'
import { Built, inputOf, replyOf } from './parts.js'
import { act, send, show, studio } from './studio.js'

export function Conversation({ line }: { line: LineView }): VNode {
  const { history, isBusy, isReadOnly = false, question, events, state } = line
  const log = useRef<HTMLOListElement>(null)
  useLayoutEffect(() => keepNewest(log.current as HTMLElement, isBusy || isReadOnly))
  const scrolls = [history.length, isBusy, studio.text === '', question?.id]
  useLayoutEffect(() => log.current?.scrollTo(0, log.current.scrollHeight), scrolls)
  useLayoutEffect(() => {
    // What had the focus may have gone with the earlier line.
    if (document.activeElement === document.body) document.querySelector('textarea')?.focus()
  }, [])
  const isEmpty = history.length === 0 && !isBusy
  const turns = history.map((turn, index) => turnOf(turn, index + 1, line))
  const hint = isEmpty ? 'Say something to begin.' : /^[ac]/.test(state) && `The conversation is ${state}.`
  const last = isBusy ? turnUnderWay() : hint && e('li.empty', hint)
  const spoken = tag('p.hidden', { role: 'status' }, !isBusy && history.at(-1)?.reply.slice(0, 500))
  const sent = [e('div.events', ...events.map((event) => eventOf(line.id, event))), composerOf(line)]
  const asked = question && ask(line.id, question)
  return e('div.conversation', tag('ol.log', { ref: log }, turns, last), spoken, asked, !isReadOnly && sent)
}

function turnOf(turn: TurnView, number: number, { id, history, isReadOnly }: LineView): VNode {
  const isSelected = number === (studio.selected || history.length)
  const { step, durationMs, differs = [] } = turn
  const inspect = (): unknown => isSelected || show({ selected: number })
  const click = ({ target }: Event): unknown => (target as Element).closest('button, a, summary, label') ?? inspect()
  const name = `Turn ${number} · ${step || 'no step'} · ${Math.round(durationMs)} ms`
  const again = (label: string, route: 'fork' | 'replay'): VNode =>
    button(label, () => act(route, { line: id, turn: number }), { class: 'quiet' })
  const choice = button(name, inspect, { class: 'quiet', 'aria-pressed': isSelected })
  const difference = differs.length > 0 && e('strong.differs', `differs: ${differs.join(', ')}`)
  const back = !isReadOnly && [again('Go on from here', 'fork'), again('Again from here', 'replay')]
  const content = [inputOf(turn.input), replyOf(turn), row(choice, difference, back)]
  return tag(`li.turn${isSelected ? '.selected' : ''}`, { onClick: click }, content)
}

function turnUnderWay(): VNode {
  const { pending, text, tools } = studio
  const notes = tools.map((tool) => e('p.note', 'Tool: ', tool))
  return tag('li.turn', { 'aria-busy': true }, pending && inputOf(pending), notes, e('p.text', text || '…'))
}

const focus = (element: HTMLElement | null): void => element?.focus()

function ask(line: string, { id, name, input, reason }: Question): VNode {
  const answer = (label: string, choice: 'run' | 'run-all' | 'refuse'): VNode =>
    button(label, () => act('answer', { line, question: id, answer: choice }))
  const why = reason && e('p', reason)
  const always = answer('Run it, and do not ask again in this line', 'run-all')
  const answers = row(answer('Run it', 'run'), always, answer('Do not run it', 'refuse'))
  const title = tag('h2', { id: 'ask' }, `Run ${name} for real?`)
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
    document.querySelector<HTMLFormElement>('.composer')?.reset()
    const attachments = (await Promise.all(files.map(attachmentOf))) as never
    await send({ text, ...(files.length > 0 && { attachments }) })
  }
  const placeholder = 'Message (Shift+Enter: a new line)'
  const text = tag('textarea', { name: 'text', 'aria-label': 'Message', placeholder, rows: 2, onKeyDown })
  const files = tag('input', { type: 'file', name: 'files', multiple: true, 'aria-label': 'Files' })
  const press = isBusy ? button('Stop', () => act('stop', { line: id })) : e('button.primary', 'Send')
  return form('composer', submit, text, row(files, press))
}

const anyPayload = { properties: { payload: { type: 'string', title: 'Payload as JSON' } } }

/** An event that the session takes now, with a form for its payload: a field each, or JSON if the schema has others. */
function eventOf(line: string, { name, byUser, schema }: LineView['events'][number]): VNode {
  const by = Object.assign(document.createElement('input'), { placeholder: 'Sent by', ariaLabel: 'Sent by' })
  const isFlat = hasControls(schema)
  const fillIn = async (_: string, fields: { readonly payload?: string }): Promise<string> => {
    try {
      const text = isFlat ? JSON.stringify(fields) : fields.payload
      const event = { name, ...(text !== undefined && { payload: JSON.parse(text) }) }
      if (byUser) return await send({ text: '', event })
      return await act('event', { line, ...event, ...(by.value !== '' && { by: by.value }) })
    } catch {
      return 'The payload is not valid JSON.'
    }
  }
  const part = { type: 'form', name, schema: (isFlat ? schema : anyPayload) as never } as const
  const build = (): HTMLElement[] => [...(byUser ? [] : [by]), formOf(part, { choose() {}, fillIn })]
  const summary = [e('code', name), byUser ? ' from you' : ' from the application']
  return fold('event', false, summary, h(Built, { key: JSON.stringify(part), build }))
}

/** Whether a schema is an object of fields that the form has a control for. */
function hasControls(schema: unknown): boolean {
  const { properties } = Object(schema) as { properties?: Record<string, { type?: string; enum?: unknown }> }
  const kinds = Object.values(properties ?? { none: {} }).map((field) => `${field.type} ${field.enum ? 'enum' : ''}`)
  return kinds.every((kind) => /^(?:string|(?:number|integer|boolean) $)/.test(kind))
}
