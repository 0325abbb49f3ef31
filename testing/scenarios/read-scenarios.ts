/**
 * Reads a scenario file: its title, the module that sets it up, and its scenarios as messages with what is expected
 * after each. What a single line says is read in `scenarios/scenario-lines.ts`.
 */
import { failureAt } from './scenario-failure.js'
import {
  type ActionLine,
  type AttachLine,
  type ExpectationLine,
  type ModelLine,
  type Place,
  readLine,
  type ScenarioLine,
  unknownLineText,
} from './scenario-lines.js'

/** A message of the user, an event or a time, what models answer to it, and what is expected then. */
export interface ScenarioTurn extends Place {
  readonly kind: 'turn'
  readonly sent: Extract<ActionLine, { readonly kind: 'user' | 'choose' | 'event' | 'after' }>
  /** The files that go with the message. */
  readonly attached: (AttachLine & Place)[]
  readonly model: (ModelLine & Place)[]
  readonly expectations: (ExpectationLine & Place)[]
}

/** What happens in a scenario, in order. */
export type ScenarioEvent =
  | ScenarioTurn
  | ({ readonly kind: 'wait'; readonly ms: number } & Place)
  | ({ readonly kind: 'restart' } & Place)

/** One scenario of a file. */
export interface ScenarioText extends Place {
  readonly title: string
  readonly given: (Place & { readonly phrase: string })[]
  readonly events: ScenarioEvent[]
  /** The lines that cannot be read: with one, the scenario fails, and no other scenario does. */
  readonly problems: Error[]
}

/** A file that was read. */
export interface ScenarioDocument {
  readonly title: string
  readonly setup: string
  /** The line that names it. */
  readonly setupPlace: Place
  readonly scenarios: readonly ScenarioText[]
}

/**
 * Reads a file.
 *
 * @param file - Its path, for failures.
 * @throws `ExpectationError` with the line that is wrong, if it belongs to no scenario.
 */
export function readDocument(text: string, file: string): ScenarioDocument {
  const reader = new DocumentReader(file)
  for (const line of linesOf(text)) reader.add(line)
  return reader.document()
}

/** The lines of a text; a line that is indented continues the one before. */
function linesOf(text: string): Place[] {
  const lines: { line: number; source: string }[] = []
  let blank = 0
  for (const [index, source] of text
    .replace(/^\uFEFF/, '')
    .split(/\r?\n/)
    .entries()) {
    const last = lines.at(-1)
    if (source.trim() === '') blank++
    else if (/^\s/.test(source) && last !== undefined && !last.source.startsWith('#')) {
      last.source += `${'\n'.repeat(blank + 1)}${source.trim()}`
      blank = 0
    } else {
      lines.push({ line: index + 1, source: source.trimEnd() })
      blank = 0
    }
  }
  return lines
}

class DocumentReader {
  readonly #file: string
  readonly #scenarios: ScenarioText[] = []
  #title: string | undefined
  #setup: (Place & { readonly module: string }) | undefined
  /** The failure of a line that names the set-up below a scenario. */
  #lateSetup: Error | undefined

  constructor(file: string) {
    this.#file = file
  }

  /** What was read. */
  document(): ScenarioDocument {
    const first: Place = { line: 1, source: 'The file is not complete.' }
    if (this.#setup === undefined) {
      const problem = 'A line above the first scenario must name the module that sets it up: Setup: ./desk.setup.js'
      throw this.#lateSetup ?? this.#wrong(first, problem)
    }
    if (this.#scenarios.length === 0) {
      throw this.#wrong(first, 'It has no scenario. A scenario begins with a heading: ## A customer asks for an order')
    }
    for (const scenario of this.#scenarios) {
      const problem = scenario.problems.length > 0 ? undefined : nothingChecked(scenario)
      if (problem !== undefined) scenario.problems.push(this.#wrong(scenario, problem))
    }
    const { module, ...setupPlace } = this.#setup
    return { title: this.#title ?? this.#file, setup: module, setupPlace, scenarios: this.#scenarios }
  }

  add(place: Place): void {
    const scenario = this.#scenarios.at(-1)
    try {
      this.#add(place)
    } catch (error) {
      if (scenario === undefined) throw error
      scenario.problems.push(error as Error)
    }
  }

  #add(place: Place): void {
    const { source } = place
    const [, marks = '', heading = ''] = /^(#+)\s+(.*?)(?:\s+#+)?$/.exec(source) ?? []
    if (/^##(?:[^#\s]|$)/.test(source)) {
      throw this.#wrong(place, 'A scenario begins with ##, a space and a title: ## A customer asks for an order')
    }
    if (marks !== '') this.#addHeading(place, marks.length, heading)
    else if (this.#scenarios.length === 0) this.#addToIntroduction(place)
    else if (!/^<!--.*-->$/s.test(source)) {
      this.#requireText(place)
      if (!source.startsWith('>')) this.#addLine(place)
    }
  }

  /** Fails if an indented line, which continues the one above, looks like a separate line. */
  #requireText({ line, source }: Place): void {
    for (const [index, text] of source.split('\n').entries()) {
      if (index === 0 || !looksLikeLine(text)) continue
      throw this.#wrong(
        { line: line + index, source: text },
        `The line is indented: it would become part of the line above. Take the spaces before it out. If it is text, write a backslash before it: \\${text}`,
      )
    }
  }

  #addHeading(place: Place, depth: number, title: string): void {
    if (depth === 1 && this.#title === undefined && this.#scenarios.length === 0) this.#title = title
    else if (depth === 2) this.#scenarios.push({ ...place, title, given: [], events: [], problems: [] })
    else
      throw this.#wrong(
        place,
        'The title of the file begins with one #, and each scenario with ##. There are no other headings.',
      )
  }

  #addToIntroduction(place: Place): void {
    const { keyword, text } = partsOf(place.source)
    if (isSetup(keyword)) this.#addSetup(place, text)
    else if (readLine(keyword, text) !== undefined) {
      throw this.#wrong(place, 'It belongs to no scenario. Write a heading above it: ## A customer asks for an order')
    }
  }

  #addSetup(place: Place, module: string): void {
    if (module === '')
      throw this.#wrong(place, 'Nothing follows the colon: name a module, as in Setup: ./desk.setup.js')
    if (this.#setup !== undefined) {
      throw this.#wrong(place, `Line ${this.#setup.line} names the set-up already, and a file has one.`)
    }
    this.#setup = { ...place, module }
  }

  #addLine(place: Place): void {
    const { keyword, text } = linePartsOf(place.source.replaceAll(/\n\\(.*)/g, withoutBackslash))
    if (isSetup(keyword)) {
      this.#lateSetup = this.#wrong(place, 'The set-up is named above the first scenario: move the line there.')
      throw this.#lateSetup
    }
    const line = readLine(keyword, text)
    if (line === undefined) throw this.#wrong(place, unknownLineText(place.source, keyword))
    if (typeof line === 'string') throw this.#wrong(place, `The line cannot be read: ${line}`)
    this.#addTo(this.#scenarios.at(-1) as ScenarioText, line, place)
  }

  #addTo({ events, given, problems }: ScenarioText, line: ScenarioLine, place: Place): void {
    switch (line.kind) {
      case 'user':
      case 'choose':
      case 'event':
      case 'after':
        events.push({ ...place, kind: 'turn', sent: line, attached: [], model: [], expectations: [] })
        return
      case 'wait':
      case 'restart':
        events.push({ ...place, ...line })
        return
      case 'given':
        if (events.length > 0) throw this.#wrong(place, 'What is given comes before the first message of the scenario.')
        given.push({ ...place, phrase: line.phrase })
        return
    }
    const turn = events.at(-1)
    if (turn?.kind !== 'turn') {
      // The line above may be one that could not be read.
      if (problems.length > 0) return
      throw this.#wrong(place, 'It belongs to a message of the user: write "User: ..." above it.')
    }
    this.#addToTurn(turn, line, place)
  }

  #addToTurn(turn: ScenarioTurn, line: AttachLine | ModelLine | ExpectationLine, place: Place): void {
    if (line.kind === 'failure' && turn.expectations.some(({ kind }) => kind === 'failure')) {
      throw this.#wrong(place, 'The message has a line "Fails:" already, and it fails with one code.')
    }
    if (line.kind === 'attach' && turn.sent.kind !== 'user') {
      throw this.#wrong(place, 'A file goes with a message of the user: write "User: ..." above it.')
    }
    if (line.kind === 'attach') turn.attached.push({ ...line, ...place })
    else if (line.kind === 'model' || line.kind === 'model calls') turn.model.push({ ...line, ...place })
    else turn.expectations.push({ ...line, ...place })
  }

  #wrong(place: Place, problem: string): Error {
    return failureAt(this.#file, place, problem)
  }
}

/** Why a scenario checks nothing; `undefined` if it does. */
function nothingChecked({ events }: ScenarioText): string | undefined {
  const turns = events.filter((event) => event.kind === 'turn')
  if (turns.length === 0) {
    return 'The scenario checks nothing: it has no message of the user. Write "User: ..." below it.'
  }
  if (turns.some(({ expectations }) => expectations.length > 0)) return undefined
  return 'The scenario checks nothing: it expects nothing. Write an expectation below a message, as in Bot: What is your name?'
}

/** `Event decision {"approved": true} by Ada`, `After 7 days`. */
const withoutColon: readonly RegExp[] = [
  /^(event)\s+(\S+(?:\s+(?:[{["\d-]|true\b|false\b|null\b|by\s)[\s\S]*)?)$/i,
  /^(after)\s+(\d\S*\s\p{L}+)$/iu,
]

/**
 * The same as {@link partsOf}, and `Choose Tuesday` and `Attach roof.jpg` without a colon. Not for indented lines: a text
 * may begin with these words.
 */
function linePartsOf(source: string): { readonly keyword: string; readonly text: string } {
  const [, keyword, text = ''] = /^(choose|attach)\s+(?!:)([\s\S]+)$/i.exec(bareOf(source)) ?? []
  return keyword === undefined ? partsOf(source) : { keyword, text: text.trim() }
}

/** A line without its bullet. */
function bareOf(source: string): string {
  return source.replace(/^(?:[-*+•–—]|\d+[.)])\s*/, '').replaceAll('**', '')
}

/**
 * The keyword and the text of a line: `User: Hello`, `- **User:** Hello`, `1. User: Hello`, `• User: Hello`. `Event` and
 * `After` need no colon.
 */
function partsOf(source: string): { readonly keyword: string; readonly text: string } {
  const bare = bareOf(source)
  const [, word, rest = ''] = withoutColon.map((pattern) => pattern.exec(bare)).find((found) => found !== null) ?? []
  if (word !== undefined) return { keyword: word, text: rest.trim() }
  const [, keyword = '', text = ''] =
    /^(?:(?:[-*+•–—]|\d+[.)])\s*)?(?:\*\*)?(\p{L}[^:\n]*?)(?:\*\*)?\s*:(?:\*\*)?\s*([\s\S]*)$/u.exec(source) ?? []
  return { keyword, text: text.trim() }
}

function isSetup(keyword: string): boolean {
  return keyword.toLowerCase() === 'setup'
}

/** Whether a text would be a heading, or a line of a scenario, if it were not indented. */
function looksLikeLine(text: string): boolean {
  const { keyword, text: rest } = partsOf(text)
  return /^#+\s/.test(text) || readLine(keyword, rest) !== undefined
}

/** A continuing line whose backslash says that it is text. Any other backslash belongs to the text. */
function withoutBackslash(whole: string, text: string): string {
  return looksLikeLine(text) ? `\n${text}` : whole
}
