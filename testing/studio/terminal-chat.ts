/** A conversation with a flow in a terminal, over the lines of a studio. Everything is shown as plain text. */
import type { JsonValue } from '../../src/index.js'
import { partLines } from '../conversation/turns/part-lines.js'
import type { StudioUpdate } from './api/types.js'
import type { StudioLine } from './line/line.js'
import { viewOf } from './line/line-view.js'
import type { Studio } from './studio.js'

/**
 * A terminal, or what a test has in its place.
 *
 * @internal
 */
export interface Terminal {
  readonly lines: AsyncIterable<string>
  write(text: string): void
}

const help = `/state            the states of the steps, and the context
/step             the current step, its events and timers
/back [turns]     goes back, by default one turn
/advance [2h]     moves the time (s, m, h, d, w), by default to the next timer
/event name {…}   sends an event of the application
/save [name]      writes the conversation as a test; /save scenario [name]
/quit`

const units: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 }

/**
 * Runs until there are no more lines, or `/quit`.
 *
 * @internal
 */
export async function chat(studio: Studio, flowId: string, terminal: Terminal): Promise<void> {
  const conversation = new TerminalChat(studio, flowId, (text) => terminal.write(text))
  const stop = studio.listen((update) => conversation.show(update))
  try {
    for await (const line of terminal.lines) {
      if (line.trim() === '/quit') return
      await conversation.take(line)
    }
    terminal.write('\n')
  } finally {
    stop()
    conversation.isAsking = false
  }
}

class TerminalChat {
  /** A question waits for its answer. */
  isAsking = false
  readonly #studio: Studio
  readonly #terminal: (text: string) => void
  readonly #commands: Readonly<Record<string, (rest: string) => Promise<string | undefined> | string>> = {
    help: () => help,
    state: () => this.#state(),
    step: () => this.#step(),
    back: (turns) => this.#back(turns === '' ? 1 : Number(turns)),
    advance: (time) => this.#turn(() => this.#line.advance(time === '' ? undefined : msOf(time))),
    event: (rest) => this.#event(rest),
    save: (rest) => this.#save(rest),
  }
  #line: StudioLine
  /** What the turn under way says in the end. */
  #running: Promise<string | undefined> | undefined
  #hasText = false
  /** Text stands before the cursor. */
  #isLineOpen = false

  constructor(studio: Studio, flowId: string, terminal: (text: string) => void) {
    this.#studio = studio
    this.#terminal = terminal
    this.#line = studio.begin(flowId)
    this.#end(`${flowId}. /help lists the commands.`)
  }

  /** A message, a command, or an answer to a question. */
  async take(text: string): Promise<void> {
    // The terminal has ended the line.
    this.#isLineOpen = false
    this.isAsking = false
    const [, name, rest = ''] = /^\/(\w+)\s*(.*)$/s.exec(text.trim()) ?? []
    let said: string | undefined
    try {
      if (this.#line.question !== undefined) said = await this.#answer(text.trim().toLowerCase())
      else if (name === undefined) said = await this.#turn(() => this.#line.send({ text }))
      else if (Object.hasOwn(this.#commands, name)) said = await this.#commands[name]?.(rest)
      else said = `There is no command /${name}. /help lists them.`
    } catch (error) {
      said = error instanceof Error ? error.message : String(error)
    }
    if (this.#line.question === undefined) return this.#end(said)
    this.isAsking = true
    this.#end(this.#questionText())
    // Ctrl-C may end the turn before an answer does.
    void this.#running?.then(
      (late) => this.isAsking && this.#end(late),
      () => undefined,
    )
  }

  /** Shows pieces of the reply, as they come. */
  show(update: StudioUpdate): void {
    if (!('text' in update)) return
    this.#hasText = update.type === 'text' || (update.type === 'tool' && this.#hasText)
    if (update.type === 'text') this.#write(update.text)
    else this.#print(update.type === 'tool' ? `[${update.text}]` : '(taken back)')
  }

  #end(text = ''): void {
    this.isAsking = this.isAsking && this.#line.question !== undefined
    this.#print(text)
    this.#write('> ')
  }

  /** Writes whole lines. */
  #print(text: string): void {
    if (this.#isLineOpen) this.#write('\n')
    if (text !== '') this.#write(`${text}\n`)
  }

  #write(text: string): void {
    const shown = plain(text)
    if (shown === '') return
    this.#isLineOpen = !shown.endsWith('\n')
    this.#terminal(shown)
  }

  /** Runs a turn until it ends or asks. Returns what it said, if it has ended. */
  #turn(begin: () => Promise<string | undefined>): Promise<string | undefined> {
    this.#hasText = false
    const before = this.#line.turns.length
    this.#running = begin().then((problem) => problem ?? this.#said(before))
    return this.#untilAsked()
  }

  #untilAsked(): Promise<string | undefined> {
    const asking = new Promise<undefined>((resolve) => {
      const stop = this.#studio.listen(() => {
        if (this.#line.question === undefined && this.#line.isBusy) return
        stop()
        if (this.#line.question !== undefined) resolve(undefined)
      })
    })
    return Promise.race([this.#running, asking])
  }

  #answer(text: string): Promise<string | undefined> {
    const answer = text === 'all' ? 'run-all' : text === 'y' || text === 'yes' ? 'run' : 'refuse'
    const waiting = this.#untilAsked()
    void this.#line.answer(this.#line.question?.id ?? '', answer)
    return waiting
  }

  #questionText(): string {
    const { name, input, hasRun } = this.#line.question ?? {}
    const why = hasRun ? ' It ran before, and has to run again because it changes the session.' : ''
    return `Run ${name}${input === undefined ? '' : ` ${JSON.stringify(input)}`} for real?${why} (y/n/all)`
  }

  #said(from: number): string {
    const said = this.#line.turns.slice(from).map(({ reply, contentType, encoding, parts = [], error }) => {
      const text = encoding === undefined ? reply : `[${contentType}]`
      const isShown = error !== undefined || this.#hasText
      const failed = error === undefined ? [] : [`${error.code}: ${error.text}`, ...error.frames]
      return [...(isShown ? [] : [text]), ...partLines(parts), ...failed].join('\n')
    })
    const end = this.#line.document?.runStatus ?? 'running'
    return [...said, end === 'running' ? '' : `The conversation is ${end}.`].filter(Boolean).join('\n')
  }

  #state(): string {
    const { context = {}, steps = {} } = this.#line.document?.flow ?? {}
    const states = Object.fromEntries(Object.entries(steps).map(([id, { state }]) => [id, state]))
    return JSON.stringify({ ...states, context }, null, 2)
  }

  #step(): string {
    const { step, events, timers, now } = viewOf(this.#line, [this.#line])
    const due = timers.map(({ name, at }) => `  timer ${name}: ${new Date(at).toISOString()}`)
    const taken = events.map(({ name, byUser }) => `  event ${name}${byUser ? ' (by the user)' : ''}`)
    return [step || 'No step yet.', ...taken, ...due, `  time ${new Date(now).toISOString()}`].join('\n')
  }

  #back(turns: number): string {
    const left = this.#line.turns.length - turns
    if (!(turns > 0 && left >= 0)) throw new Error(`There are ${this.#line.turns.length} turns to go back.`)
    this.#line = this.#studio.fork(this.#line, left)
    const last = this.#line.turns.at(-1)
    return last === undefined ? 'Back at the beginning.' : `Back after turn ${left}: ${last.reply}`
  }

  #event(rest: string): Promise<string | undefined> {
    const [, name = '', json = ''] = /^(\S+)\s*(.*)$/s.exec(rest) ?? []
    let payload: { readonly payload?: JsonValue }
    try {
      payload = json === '' ? {} : { payload: JSON.parse(json) }
    } catch (error) {
      return Promise.resolve(`The payload is not JSON: ${(error as Error).message}`)
    }
    return this.#turn(() => this.#line.sendEvent({ name, ...payload }))
  }

  #save(rest: string): string {
    const [, scenario, title] = /^(scenario\b)?\s*(.*)$/s.exec(rest) ?? []
    const name = title || this.#line.stored.flow
    return this.#studio.save(this.#line, scenario === undefined ? 'test' : 'scenario', name).join('\n')
  }
}

function msOf(text: string): number {
  const [, number = '', unit = ''] = /^(\d+(?:\.\d+)?)\s*([smhdw])$/.exec(text) ?? []
  if (number !== '') return Number(number) * Number(units[unit])
  throw new Error(`'${text}' is not a time: write a number and s, m, h, d or w, as in /advance 2h`)
}

/** A text without the characters that are commands to a terminal, or turn the order of others around. */
function plain(text: string): string {
  return text.replace(/[^\P{Cc}\n\t]|\p{Bidi_Control}/gu, '')
}
