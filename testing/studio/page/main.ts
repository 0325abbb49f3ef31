/** The studio's page: its head, and below it three columns on a wide screen or three tabs on a narrow one. */
import { h, render, type VNode } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import type { LineSummary, LineView } from '../api/types.js'
import { Conversation } from './conversation.js'
import { button, e, fold, form, row, tag, timeOf } from './element.js'
import { inspectorOf } from './inspector.js'
import { FlowMap } from './map.js'
import { act, open, start, studio, update } from './studio.js'

const narrow = matchMedia('(max-width: 1000px)')
const panes = ['Conversation', 'Map', 'Inspector']
const hourMs = 3_600_000
const refused = 'This address has no valid token. Open the whole address that the studio printed when it started.'

function App(): VNode {
  const [isNarrow, setNarrow] = useState(narrow.matches)
  const [shown, setShown] = useState(0)
  useEffect(() => narrow.addEventListener('change', () => setNarrow(narrow.matches)), [])
  const { line, connection, notice, selected, detail } = studio
  if (connection === 'refused') return e('main.refused', e('h1', 'Turnkeeper studio'), e('p', refused))
  const contents = line && [
    h(Conversation, { key: line.id, line }),
    line.map.steps.length > 0 ? h(FlowMap, { line }) : e('p.empty', 'The flow of this session is not here.'),
    tag('div', { key: `${line.id} ${selected}` }, inspectorOf(line, detail)),
  ]
  const paneOf = (name: string, index: number): VNode => {
    const role = isNarrow ? { role: 'tabpanel', hidden: index !== shown } : {}
    const content = contents?.[index] ?? (index === 0 && e('p.empty', 'Begin with "New conversation".'))
    return tag('section.pane', { id: name, 'aria-label': name, ...role }, content)
  }
  const news = tag('p.notice', { role: 'status' }, connection === 'restarting' ? 'The flow restarts.' : notice)
  return e('div.studio', head(isNarrow), news, e('main', isNarrow && tabs(shown, setShown), ...panes.map(paneOf)))
}

/** The arrow keys move from tab to tab. */
function tabs(shown: number, show: (index: number) => void): VNode {
  const onKeyDown = ({ key, currentTarget }: KeyboardEvent): void => {
    const step = { ArrowRight: 1, ArrowLeft: panes.length - 1 }[key]
    if (step === undefined) return
    const next = (shown + step) % panes.length
    show(next)
    ;(currentTarget as HTMLElement).querySelectorAll('button')[next]?.focus()
  }
  const tabOf = (name: string, index: number): VNode => {
    const states = { 'aria-selected': index === shown, tabIndex: index === shown ? 0 : -1 }
    return button(name, () => show(index), { role: 'tab', 'aria-controls': name, ...states })
  }
  return tag('div.tabs', { role: 'tablist', 'aria-label': 'Panes', onKeyDown }, ...panes.map(tabOf))
}

function head(isNarrow: boolean): VNode {
  const { line, flows, lines, current } = studio
  const begin = (fields: FormData): Promise<string> => act('begin', { flow: String(fields.get('flow')) })
  const flow = tag('select', { name: 'flow', 'aria-label': 'Flow' }, ...flows.map((name) => e('option', name)))
  const beginForm = form('row', begin, flow, e('button', 'New conversation'))
  const onChange = ({ currentTarget }: Event): void => open((currentTarget as HTMLSelectElement).value)
  const options = lines.map((each, index) => tag('option', { value: each.id }, lineName(each, index)))
  const choice = tag('select', { 'aria-label': 'Conversation', value: current, onChange }, ...options)
  const more = [line && !line.isReadOnly && [clockOf(line), saveOf(line.id)], openOf()]
  const rest = isNarrow ? fold('more', false, 'Time and files', more) : more
  return e('header', e('h1', 'Turnkeeper studio'), beginForm, lines.length > 0 && choice, rest)
}

function lineName({ flow, turns, parent, isReadOnly }: LineSummary, index: number): string {
  const number = studio.lines.findIndex(({ id }) => id === parent?.line) + 1
  const origin = parent ? `, fork of ${number || parent.line} after turn ${parent.turn}` : ''
  return `${index + 1}: ${flow}${origin}, ${turns} ${turns === 1 ? 'turn' : 'turns'}${isReadOnly ? ', read-only' : ''}`
}

function clockOf({ id, now, timers, isBusy }: LineView): VNode {
  const [next] = [...timers].sort((one, other) => one.at - other.at)
  const advance = (label: string, body: { ms?: number }, isOff = false): VNode =>
    button(label, () => act('advance', { line: id, ...body }), { disabled: isBusy || isOff })
  const moves = [advance('In an hour', { ms: hourMs }), advance('A week later', { ms: 7 * 24 * hourMs })]
  const timer = next && e('span.note', next.name, ', ', timeOf(next.at))
  return row(timeOf(now), moves, advance('Next timer', {}, next === undefined), timer)
}

function saveOf(line: string): VNode {
  const save = (fields: FormData): Promise<string> =>
    act('save', { line, as: fields.get('as') as 'test' | 'scenario', name: String(fields.get('name')) })
  const kinds = ['test', 'scenario'].map((kind) => tag('option', { value: kind }, `As a ${kind}`))
  const name = e('label', 'Name ', tag('input', { name: 'name', required: true, maxLength: 60 }))
  const as = tag('select', { name: 'as', 'aria-label': 'Save as' }, ...kinds)
  return fold('menu', false, 'Save…', form('panel', save, as, name, e('button.primary', 'Save')))
}

function openOf(): VNode {
  const onChange = ({ currentTarget }: Event): void => {
    const input = currentTarget as HTMLInputElement
    const refuse = (): void => update({ notice: 'The file is not valid JSON.' })
    void new Response(input.files?.[0]).json().then((document) => act('open', { document }), refuse)
    input.value = ''
  }
  return e('label.button', 'Open a session…', tag('input.hidden', { type: 'file', accept: '.json', onChange }))
}

addEventListener('hashchange', () => location.reload())
void start(() => render(h(App, {}), document.body))
