/** The studio's page: its head, and below it three columns on a wide screen or one of them on a narrow one. */
import { h, render, type VNode } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { msOf } from '../api/duration.js'
import type { LineSummary, LineView } from '../api/types.js'
import { Conversation, isClosed } from './conversation.js'
import { button, count, e, fold, form, row, tag, timeOf } from './element.js'
import { inspectorOf } from './inspector.js'
import { FlowMap } from './map.js'
import { act, open, start, studio, update } from './studio.js'

const narrow = matchMedia('(max-width: 1000px)')
const panes = ['Conversation', 'Map', 'Inspector']
const down = 'The flow does not answer. Its code may not load: see the terminal.'
const refused = 'This address has no valid token. Open the whole address that the studio printed when it started.'

function App(): VNode {
  const [isNarrow, setNarrow] = useState(narrow.matches)
  const [shown, setShown] = useState(0)
  useEffect(() => narrow.addEventListener('change', () => setNarrow(narrow.matches)), [])
  const { line, connection, notice, problem, selected, detail } = studio
  if (connection === 'refused') return e('main.refused', e('h1', 'Turnkeeper studio'), e('p', refused))
  const contents = line && [
    h(Conversation, { key: line.id, line }),
    line.map.steps.length > 0 ? h(FlowMap, { line }) : e('p.empty', 'The flow of this session is not here.'),
    tag('div', { key: `${line.id} ${selected}` }, inspectorOf(detail)),
  ]
  const paneOf = (name: string, index: number): VNode => {
    const content = contents?.[index] ?? (index === 0 && e('p.empty', 'Begin with "New conversation".'))
    return tag('section.pane', { id: name, 'aria-label': name, hidden: isNarrow && index !== shown }, content)
  }
  const wrong = connection === 'down' ? down : problem
  const news = connection === 'restarting' ? 'The flow restarts.' : notice
  const notices = tag('p.notice', { role: 'status' }, wrong === '' ? news : e('span.problem', wrong))
  const tabs = panes.map((name, index) => button(name, () => setShown(index), { 'aria-pressed': index === shown }))
  return e('div.studio', head(isNarrow), notices, e('main', isNarrow && e('div.tabs', tabs), panes.map(paneOf)))
}

function head(isNarrow: boolean): VNode {
  const { line, flows, lines, current, connection } = studio
  const begin = (fields: FormData): Promise<string> => act('begin', { flow: String(fields.get('flow') ?? flows[0]) })
  const flow = tag('select', { name: 'flow', 'aria-label': 'Flow' }, ...flows.map((name) => e('option', name)))
  const beginForm = form('row', begin, flows.length > 1 && flow, e('button', 'New conversation'))
  const onChange = ({ currentTarget }: Event): void => open((currentTarget as HTMLSelectElement).value)
  const options = lines.map((each) => tag('option', { value: each.id }, lineName(each)))
  const choice = tag('select', { 'aria-label': 'Conversation', value: current, onChange }, ...options)
  const own = line && !line.isReadOnly
  const more = [own && clockOf(line), openOf(), own && saveOf(line.id)]
  const rest = isNarrow ? fold('more', false, 'Time, save, open…', row(more)) : more
  const controls = [beginForm, lines.length > 0 && choice, rest]
  return e('header', e('h1', 'Turnkeeper studio'), tag('div.row', { inert: connection === 'down' }, controls))
}

function lineName({ id, turns, parent, isReadOnly }: LineSummary): string {
  const origin =
    parent && `fork of ${parent.line} ${parent.turn === 0 ? 'from the start' : `after turn ${parent.turn}`}`
  const { line } = studio
  const length = line?.id === id ? line.history.length : turns
  return [id, count(length, 'turn'), origin, isReadOnly && 'read-only'].filter(Boolean).join(', ')
}

function clockOf(line: LineView): VNode {
  const { id, now, timers } = line
  const disabled = isClosed(line)
  const advance = (ms?: number): Promise<string> => act('advance', { line: id, ...(ms !== undefined && { ms }) })
  const move = (fields: FormData): Promise<string> => advance(msOf(String(fields.get('time'))))
  const amount = { pattern: '\\d+ *[smhdw]', placeholder: '2h, 30m, 5d', size: 9, required: true, disabled }
  const moves = [
    button('1 hour', () => advance(msOf('1h')), { disabled }),
    button('1 week', () => advance(msOf('1w')), { disabled }),
    button('next timer', () => advance(), { disabled: disabled || timers.length === 0, title: timers[0]?.name }),
    form('row', move, tag('input', { name: 'time', 'aria-label': 'Another time', ...amount })),
  ]
  return row(timeOf(now), e('span.note', 'Move the time:'), moves)
}

function saveOf(line: string): VNode {
  const save = (fields: FormData): Promise<string> =>
    act('save', { line, as: fields.get('as') as 'test' | 'scenario', name: String(fields.get('name')) })
  const kinds = ['test', 'scenario'].map((kind) => tag('option', { value: kind }, `As a ${kind}`))
  const as = tag('select', { name: 'as', 'aria-label': 'Save as' }, ...kinds)
  const name = tag('input', { name: 'name', 'aria-label': 'Name', placeholder: 'Name', required: true, maxLength: 60 })
  return fold('menu', false, 'Save…', form('row', save, as, name, e('button.primary', 'Save')))
}

function openOf(): VNode {
  const onChange = ({ currentTarget }: Event): void => {
    const input = currentTarget as HTMLInputElement
    const refuse = (): void => update({ problem: 'The file is not valid JSON.' })
    void new Response(input.files?.[0]).json().then((document) => act('open', { document }), refuse)
    input.value = ''
  }
  return e('label.button', 'Open a session…', tag('input.hidden', { type: 'file', accept: '.json', onChange }))
}

addEventListener('hashchange', () => location.reload())
void start(() => render(h(App, {}), document.body))
