/** A conversation with a flow in a terminal, over the lines of a studio. Everything is shown as plain text. */
import type { JsonValue } from '../../src/index.js'
import { partLines } from '../conversation/turns/part-lines.js'
import { statesOf } from '../recording/recorded-turn.js'
import { msOf } from './api/duration.js'
import type { StudioUpdate, TurnView } from './api/types.js'
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

/**
 * Runs until there are no more lines, or `/quit`.
 *
 * @internal
 */
export async function chat(studio: Studio, flowId: string, terminal: Terminal): Promise<void> {
  let isOver = false
  const conversation = new TerminalChat(studio, flowId, (text) => isOver || terminal.write(text))
  const stop = studio.listen((update) => conversation.show(update))
  try {
    for await (const line of terminal.lines) {
      if (line.trim() === '/quit') return
      await conversation.take(line)
    }
    terminal.write('\n')
  } finally {
    stop()
    isOver = true
  }
}

/** What a command says; `undefined` if a turn runs, which says it when it ends. */
type Said = string | undefined

class TerminalChat {
  readonly #studio: Studio
  readonly #terminal: (text: string) => void
  readonly #commands: Readonly<Record<string, (rest: string) => Said>> = {
    help: () => help,
    state: () => this.#state(),
    step: () => this.#step(),
    back: (turns) => this.#back(turns === '' ? 1 : Number(turns)),
    advance: (time) => this.#turn((line) => line.advance(time === '' ? undefined : typedMs(time)), true),
    event: (rest) => this.#event(rest),
    save: (rest) => this.#save(rest),
  }
  #line: StudioLine
  /** The question that was shown last. */
  #asked: string | undefined
  /** Called when the prompt is there again. */
  #prompted = (): void => undefined
  #hasText = false
  /** Text stands before the cursor. */
  #isLineOpen = false

  constructor(studio: Studio, flowId: string, terminal: (text: string) => void) {
    this.#studio = studio
    this.#terminal = terminal
    this.#line = studio.begin(flowId)
    this.#end(`${flowId}. /help lists the commands.`)
  }

  /** A message, a command, or an answer to a question. Resolves with the next prompt. */
  take(text: string): Promise<void> {
    // The terminal has ended the line.
    this.#isLineOpen = false
    const prompted = new Promise<void>((resolve) => {
      this.#prompted = resolve
    })
    try {
      const said = this.#act(text)
      if (said !== undefined) this.#end(said)
    } catch (error) {
      this.#end(textOf(error))
    }
    return prompted
  }

  #act(text: string): Said {
    const [, name, rest = ''] = /^\/(\w+)\s*(.*)$/s.exec(text.trim()) ?? []
    if (this.#line.question !== undefined) return this.#answer(this.#line.question.id, text.trim().toLowerCase())
    if (name === undefined) return this.#turn((line) => line.send({ text }))
    if (Object.hasOwn(this.#commands, name)) return this.#commands[name]?.(rest)
    return `There is no command /${name}. /help lists them.`
  }

  /** Shows pieces of the reply, and questions, as they come. */
  show(update: StudioUpdate): void {
    const { question } = this.#line
    if (question !== undefined && question.id !== this.#asked) {
      this.#asked = question.id
      this.#end(this.#questionText())
    }
    if (!('text' in update)) return
    this.#hasText = update.type === 'text'
    if (update.type === 'text') this.#write(update.text)
    else this.#print(update.type === 'tool' ? `[${update.text}]` : '(the model starts again)')
  }

  /** The next line can be typed. */
  #end(text: string): void {
    this.#print(text)
    this.#write('> ')
    this.#prompted()
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

  #turn(begin: (line: StudioLine) => Promise<string | undefined>, hasTime = false): undefined {
    this.#hasText = false
    const before = this.#line.turns.length
    const end = (problem: string | undefined): void => {
      const now = hasTime ? [`It is ${timeOf(this.#line.stored.now)}.`] : []
      this.#end(problem ?? [this.#said(before), ...now].filter(Boolean).join('\n'))
    }
    void begin(this.#line).then(end, (error: unknown) => this.#end(textOf(error)))
  }

  #answer(question: string, text: string): undefined {
    const answer = text === 'all' ? 'run-all' : text === 'y' || text === 'yes' ? 'run' : 'refuse'
    void this.#line.answer(question, answer)
  }

  #questionText(): string {
    const { name, input, reason } = this.#line.question ?? {}
    const why = reason === undefined ? '' : ` ${reason}`
    return `Run ${name}${input === undefined ? '' : ` ${JSON.stringify(input)}`} for real?${why} (y/n/all)`
  }

  #said(from: number): string {
    const said = this.#line.turns.slice(from).map((turn) => {
      const { parts = [], error } = turn
      const isShown = error !== undefined || this.#hasText
      const failed = error === undefined ? [] : [`${error.code}: ${error.text}`, ...error.frames]
      return [...(isShown ? [] : [replyOf(turn)]), ...partLines(parts), ...failed].join('\n')
    })
    const end = this.#line.document?.runStatus ?? 'running'
    return [...said, end === 'running' ? '' : `The conversation is ${end}.`].filter(Boolean).join('\n')
  }

  #state(): string {
    const { context = {}, steps = {} } = this.#line.document?.flow ?? {}
    return JSON.stringify({ ...statesOf(steps), context }, null, 2)
  }

  #step(): string {
    const { step, events, timers, now } = viewOf(this.#line, [this.#line])
    const due = timers.map(({ name, at }) => `  timer ${name}: ${timeOf(at)}`)
    const taken = events.map(({ name, byUser }) => `  event ${name}${byUser ? ' (by the user)' : ''}`)
    return [step || 'No step yet.', ...taken, ...due, `  time ${timeOf(now)}`].join('\n')
  }

  #back(turns: number): string {
    const { length } = this.#line.turns
    const left = length - turns
    if (!(turns > 0 && left >= 0)) {
      throw new Error(length === 1 ? 'There is 1 turn to go back.' : `There are ${length} turns to go back.`)
    }
    this.#line = this.#studio.fork(this.#line, left)
    const last = this.#line.turns.at(-1)
    if (last === undefined) return 'Back at the beginning.'
    return [`Back after turn ${left}: ${replyOf(last)}`, ...partLines(last.parts ?? [])].join('\n')
  }

  #event(rest: string): Said {
    const [, name = '', json = ''] = /^(\S+)\s*(.*)$/s.exec(rest) ?? []
    if (name === '') return this.#events()
    try {
      const payload = json === '' ? {} : { payload: JSON.parse(json) as JsonValue }
      return this.#turn(async (line) => {
        const problem = await line.sendEvent({ name, ...payload })
        const isUnknown = problem?.includes('does not take the event')
        return isUnknown ? `The event '${name}' is not taken now. ${this.#events()}` : problem
      })
    } catch (error) {
      return `The payload is not JSON: ${textOf(error)}`
    }
  }

  #events(): string {
    const names = viewOf(this.#line, [this.#line]).events.map(({ name }) => name)
    return names.length === 0 ? 'There is no event to send.' : `Events: ${names.join(', ')}`
  }

  #save(rest: string): string {
    const [, scenario, title] = /^(scenario\b)?\s*(.*)$/s.exec(rest) ?? []
    const name = title || this.#line.stored.flow
    return this.#studio.save(this.#line, scenario === undefined ? 'test' : 'scenario', name).join('\n')
  }
}

function replyOf({ reply, contentType, encoding }: TurnView): string {
  return encoding === undefined ? reply : `[${contentType}]`
}

function timeOf(ms: number): string {
  return new Date(ms).toISOString()
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

function typedMs(text: string): number {
  const ms = msOf(text)
  if (ms !== undefined) return ms
  throw new Error(`'${text}' is not a time: write a number and s, m, h, d or w, as in /advance 2h`)
}

/** A text without the characters that are commands to a terminal, or turn the order of others around. */
function plain(text: string): string {
  return text.replace(/[^\P{Cc}\n\t]|\p{Bidi_Control}/gu, '')
}
