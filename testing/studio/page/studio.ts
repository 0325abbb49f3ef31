/** What the page knows, and how it calls the server: JSON both ways, with the token in the fragment of its address. */
import type { LineSummary, LineView, StudioRoutes, StudioUpdate, TurnDetail, TurnInput } from '../api/types.js'

const ended = { pending: undefined as TurnInput | undefined, text: '', tools: [] as readonly string[] }
const unread = { line: undefined as LineView | undefined, detail: undefined as TurnDetail | undefined, selected: 0 }
const none = { ...unread, ...ended }

/**
 * What the page shows: the line `current`, in it the turn under way (`pending`, its `text` and `tools`), and of the turn
 * `selected`, counted from 1 (0: the newest), its `detail`. Another `run` means that the code was loaded again.
 */
export const studio = {
  connection: 'connecting' as '' | 'connecting' | 'restarting' | 'refused',
  notice: '',
  flows: [] as readonly string[],
  lines: [] as readonly LineSummary[],
  run: '',
  current: '',
  ...none,
}
let draw = (): void => {}

export function update(changes: Partial<typeof studio>): void {
  Object.assign(studio, changes)
  draw()
}

/** Draws with each change, and follows the server. Connects again whenever its process has restarted. */
export async function start(drawAll: () => void): Promise<void> {
  draw = drawAll
  for (;;) {
    const response = await post('updates', {}).catch(() => undefined)
    if (response?.status === 401) return update({ connection: 'refused' })
    // A connection that breaks is what a restart looks like.
    if (response?.body) await readLines(response.body).catch(() => undefined)
    update({ connection: 'restarting' })
    await new Promise((resolve) => setTimeout(resolve, 300))
  }
}

function post(name: string, body: object): Promise<Response> {
  const headers = { 'content-type': 'application/json', 'x-studio-token': location.hash.slice(1) }
  return fetch(`/api/${name}`, { method: 'POST', headers, body: JSON.stringify(body) })
}

async function readLines(body: ReadableStream<BufferSource>): Promise<void> {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader()
  let rest = ''
  for (let read = await reader.read(); !read.done; read = await reader.read()) {
    const lines = (rest + read.value).split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) receive(JSON.parse(line))
  }
}

function receive(change: StudioUpdate): void {
  if (change.type === 'lines') receiveLines(change)
  else if (change.line !== studio.current) return
  else if (change.type === 'changed') void show({})
  else if (change.type === 'tool') update({ tools: [...studio.tools, change.text] })
  else update({ text: change.type === 'text' ? studio.text + change.text : '' })
}

function receiveLines({ flows, lines, run }: Extract<StudioUpdate, { type: 'lines' }>): void {
  const notice = studio.run === '' || studio.run === run ? studio.notice : 'The code was loaded again.'
  const isKnown = lines.some(({ id }) => id === studio.current)
  const opened = isKnown ? {} : { current: lines.at(-1)?.id ?? '', ...none }
  void show({ connection: '', flows, lines, run, notice, ...opened })
}

/** Calls a route. A refusal has a `problem`, too. */
async function call<Name extends keyof StudioRoutes>(name: Name, body: StudioRoutes[Name][0]) {
  const answer = await post(name, body).then(
    (response) => response.json(),
    () => ({ problem: 'The flow restarts.' }),
  )
  return answer as StudioRoutes[Name][1] & { readonly problem?: string }
}

/** Calls a route, and shows what came of it. Resolves to the problem; empty if there is none. */
export async function act<Name extends keyof StudioRoutes>(name: Name, body: StudioRoutes[Name][0]): Promise<string> {
  update({ notice: '' })
  const answer: { problem?: string; line?: string; files?: readonly string[] } = await call(name, body)
  const { problem = '', line, files } = answer
  update({ notice: files === undefined ? problem : `Written: ${files.join(', ')}` })
  if (line !== undefined) open(line)
  return problem
}

export function send(input: TurnInput): Promise<string> {
  update({ pending: input, selected: 0 })
  return act('send', { line: studio.current, ...input })
}

export function open(line: string): void {
  void show({ current: line, ...none })
}

/** Changes what is shown, and loads the open line and the selected turn again. */
export async function show(changes: Partial<typeof studio>): Promise<void> {
  update(changes)
  const { current, selected } = studio
  if (current === '') return
  const line = await call('line', { line: current })
  if (line.problem !== undefined || current !== studio.current) return
  update({ line, ...(!line.isBusy && ended) })
  const turn = selected || line.history.length
  const detail = turn === 0 ? undefined : await call('turn', { line: current, turn })
  if (detail?.problem === undefined && selected === studio.selected && current === studio.current) update({ detail })
}
