/** What the page knows, and how it calls the server: JSON both ways, with the token in the fragment of its address. */
import type { LineSummary, LineView, StudioRoutes, StudioUpdate, TurnDetail, TurnInput } from '../api/types.js'

const ended = { text: '', tools: [] as readonly string[] }
type Detail = TurnDetail & { readonly turn: number }
const unread = { line: undefined as LineView | undefined, detail: undefined as Detail | undefined, selected: 0 }
const none = { ...unread, ...ended }

/**
 * What the page shows: the line `current`, in it `text` and `tools` of the turn under way, and of the turn
 * `selected`, counted from 1 (0: the newest), its `detail`. Another `run` means that the code was loaded again.
 */
export const studio = {
  connection: 'connecting' as 'connecting' | 'ready' | 'restarting' | 'down' | 'refused',
  notice: '',
  problem: '',
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
  for (let tries = 1; ; tries++) {
    const response = await post('updates', {}).catch(() => undefined)
    if (response?.status === 401) return update({ connection: 'refused' })
    if (response?.ok && response.body) {
      tries = 1
      // A connection that breaks is what a restart looks like.
      await readLines(response.body).catch(() => undefined)
    }
    // After two seconds.
    update({ connection: tries > 7 ? 'down' : 'restarting' })
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
  void show({ connection: 'ready', flows, lines, run, notice, ...opened })
  const [flow, another] = flows
  if (lines.length === 0 && flow !== undefined && another === undefined) void act('begin', { flow })
}

/** Calls a route. A refusal has a `problem`, too. */
async function call<Name extends keyof StudioRoutes>(name: Name, body: StudioRoutes[Name][0]) {
  const answer = await post(name, body).then(
    (response) => response.json(),
    () => ({ problem: 'The flow restarts.' }),
  )
  return answer as StudioRoutes[Name][1] & { readonly problem?: string }
}

/** Calls a route, and shows what came of it. Resolves to the problem, which it does not show if a form does. */
export async function act<Name extends keyof StudioRoutes>(name: Name, body: StudioRoutes[Name][0], isForm = false) {
  update({ notice: '', problem: '' })
  const answer: { problem?: string; line?: string; files?: readonly string[] } = await call(name, body)
  const { problem = '', line, files } = answer
  if (!isForm) update({ problem, notice: files === undefined ? '' : writtenText(files) })
  if (line !== undefined) open(line)
  return problem
}

function writtenText(files: readonly string[]): string {
  const scenario = files.find((file) => file.endsWith('.md'))
  const how = scenario ? `npx turnkeeper scenarios ${scenario}` : 'node --test, or with vitest if the project has it'
  return `Written: ${files.join(', ')}. Run it with ${how}.`
}

export function send(input: TurnInput, isForm = false): Promise<string> {
  update({ selected: 0 })
  return act('send', { line: studio.current, ...input }, isForm)
}

export function open(line: string): void {
  void show({ current: line, ...none })
}

let loads = 0

/** Changes what is shown, and loads the open line and the selected turn again, unless it is called again meanwhile. */
export async function show(changes: Partial<typeof studio>): Promise<void> {
  update(changes)
  const { current, selected } = studio
  if (current === '') return
  const load = ++loads
  // Updates come in groups.
  await new Promise((resolve) => setTimeout(resolve, 10))
  const line = load === loads && (await call('line', { line: current }))
  if (!line || load !== loads || line.problem !== undefined) return
  update({ line, ...(!line.isBusy && ended) })
  const turn = selected || line.history.length
  // The turn under way changes no other.
  if (turn === 0 || (line.isBusy && studio.detail?.turn === turn)) return
  const detail = await call('turn', { line: current, turn })
  if (load === loads && detail.problem === undefined) update({ detail: { ...detail, turn } })
}
