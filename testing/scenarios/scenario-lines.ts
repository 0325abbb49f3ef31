/**
 * What one line of a scenario says: `User: Hello`, `State of AskName: name = Ada`. Which line may stand where is
 * decided in `scenarios/read-scenarios.ts`, what is done for it in `scenarios/run-scenario.ts`.
 */
import type { FlowErrorCode, JsonValue } from '../../src/index.js'
import { hintAt } from '../../src/util/options.js'
import { unknownCodeText } from '../expectations/error-codes.js'
import { list } from '../expectations/expectation-error.js'

/** Where in a file a line is, and how it is written there. */
export interface Place {
  readonly line: number
  readonly source: string
}

/** What the user of the bot does, or what happens around the bot. */
export type ActionLine =
  | { readonly kind: 'user'; readonly text: string }
  | { readonly kind: 'choose'; readonly label: string }
  | { readonly kind: 'given'; readonly phrase: string }
  | { readonly kind: 'event'; readonly name: string; readonly payload?: JsonValue; readonly by?: string }
  | { readonly kind: 'after'; readonly ms: number }
  | { readonly kind: 'wait'; readonly ms: number }
  | { readonly kind: 'restart' }

/** What a model answers. */
export type ModelLine =
  | { readonly kind: 'model'; readonly text: string }
  | { readonly kind: 'model calls'; readonly tool: string; readonly input: JsonValue }

/** A file that is sent with a message. */
export interface AttachLine {
  readonly kind: 'attach'
  readonly name: string
}

/** What must be so after a message. */
export type ExpectationLine =
  | { readonly kind: 'reply'; readonly expected: string | RegExp }
  | { readonly kind: 'mention'; readonly text: string }
  | { readonly kind: 'meaning'; readonly text: string }
  | { readonly kind: 'buttons'; readonly labels: string }
  | { readonly kind: 'part'; readonly type: 'card' | 'form' | 'file' | 'custom'; readonly title: string | RegExp }
  | { readonly kind: 'row'; readonly label: string; readonly value: string | RegExp }
  | { readonly kind: 'step'; readonly step: string }
  | { readonly kind: 'state'; readonly step: string; readonly part: object }
  | { readonly kind: 'tools'; readonly names: readonly string[] }
  | { readonly kind: 'completed' }
  | { readonly kind: 'failure'; readonly code: FlowErrorCode }

/** What any line of a scenario says. */
export type ScenarioLine = ActionLine | AttachLine | ModelLine | ExpectationLine

/** Reads what follows the colon; returns a problem as a text. */
type Reader = (text: string, argument: string) => ScenarioLine | string

/** The lines, by what is before the colon; `State of ...` has an argument. */
const readers: Readonly<Record<string, Reader>> = {
  given: (phrase) => ({ kind: 'given', phrase }),
  user: (text) => ({ kind: 'user', text }),
  choose: (label) => ({ kind: 'choose', label }),
  attach: (name) => ({ kind: 'attach', name }),
  event: readEvent,
  after: (text) => readTime('after', text),
  model: (text) => ({ kind: 'model', text }),
  'model calls': readCall,
  bot: (text) => readReply(text),
  'bot mentions': (text) => ({ kind: 'mention', text }),
  'bot means': (text) => ({ kind: 'meaning', text }),
  buttons: (labels) => ({ kind: 'buttons', labels }),
  card: (title) => readPart('card', title),
  row: readRow,
  form: (name) => readPart('form', name),
  file: (name) => readPart('file', name),
  part: (name) => readPart('custom', name),
  step: (step) => ({ kind: 'step', step }),
  'state of': readState,
  tools: readTools,
  completed: (text) =>
    text === 'yes'
      ? { kind: 'completed' }
      : `it can only be "Completed: yes". To expect that it goes on, name the step.`,
  fails: readFailure,
  wait: (text) => readTime('wait', text),
  server: (text) => (text === 'restarts' ? { kind: 'restart' } : 'it can only be "Server: restarts".'),
}

/** The words before the colon, as they are written. */
const knownWords: readonly string[] = [
  ...[
    'Given',
    'User',
    'Choose',
    'Attach',
    'Event',
    'After',
    'Model',
    'Model calls',
    'Bot',
    'Bot mentions',
    'Bot means',
    'Buttons',
    'Card',
    'Row',
    'Form',
    'File',
    'Part',
    'Step',
    'State of <step>',
    'Tools',
  ],
  ...['Completed', 'Fails', 'Wait', 'Server'],
]

/**
 * What is wrong with a line that begins with none of the known words and a colon.
 *
 * @param keyword - What is before its colon; empty if it has no colon.
 */
export function unknownLineText(source: string, keyword: string): string {
  const hint = keyword === '' ? colonHint(source) : hintAt(keyword, knownWords)
  const rule = `A line of a scenario begins with one of these words and a colon: ${list(knownWords)}. A line that continues the one above is indented, and a note begins with >`
  return hint === '' ? rule : `${rule}\n${hint.trimStart()}`
}

/** The hint for a line that begins with a known word, and has no colon. */
function colonHint(source: string): string {
  const text = source.replace(/^[^\p{L}]+/u, '').toLowerCase()
  // Of two words with the same beginning, the longer one comes later.
  const word = knownWords.findLast((known) => {
    const start = known.replace(' <step>', '').toLowerCase()
    return text.startsWith(start) && !/^\p{L}/u.test(text.slice(start.length))
  })
  return word === undefined ? '' : `Write a colon after '${word}'.`
}

/** The lines that may have no text after the colon. */
const mayBeEmpty: readonly string[] = ['user', 'model']

/**
 * Reads a line, which is a keyword, a colon and a text.
 *
 * @returns What it says; a problem as a text; `undefined` if it does not begin with a keyword.
 */
export function readLine(keyword: string, text: string): ScenarioLine | string | undefined {
  const name = keyword.toLowerCase().replaceAll(/\s+/g, ' ')
  const stateOf = /^state of (.+)$/i.exec(keyword)
  const key = stateOf === null ? name : 'state of'
  const reader = Object.hasOwn(readers, key) ? readers[key] : undefined
  if (reader === undefined || (key === 'state of' && stateOf === null)) return undefined
  if (text === '' && !mayBeEmpty.includes(name)) return 'nothing follows the colon.'
  return reader(text, stateOf?.[1]?.trim() ?? '')
}

function readReply(text: string): ScenarioLine | string {
  const pattern = patternOf(text)
  if (typeof pattern === 'string') return pattern
  return { kind: 'reply', expected: pattern ?? unescaped(text) }
}

function readPart(type: 'card' | 'form' | 'file' | 'custom', text: string): ScenarioLine | string {
  const pattern = patternOf(text)
  return typeof pattern === 'string' ? pattern : { kind: 'part', type, title: pattern ?? unescaped(text) }
}

/** `Status = on its way`. */
function readRow(text: string): ScenarioLine | string {
  const [, label = '', value = ''] = /^(.+?)\s*=\s*([\s\S]+)$/.exec(text) ?? []
  if (label === '') return 'it needs a label, = and a value, as in Row: Status = on its way'
  const pattern = patternOf(value)
  return typeof pattern === 'string' ? pattern : { kind: 'row', label, value: pattern ?? unescaped(value) }
}

/** `decision {"approved": true} by Ada Meier`: the payload and the sender may be left out. */
function readEvent(text: string): ScenarioLine | string {
  const [, name = '', json = '', by = ''] = /^(\S+)\s*([\s\S]*?)(?:(?<=\s)by ([^"{}[\]]+))?$/.exec(text) ?? []
  const sender = by === '' ? {} : { by: by.trim() }
  if (json.trim() === '') return { kind: 'event', name, ...sender }
  try {
    return { kind: 'event', name, payload: JSON.parse(json), ...sender }
  } catch (error) {
    return `what comes with the event is not valid JSON: ${(error as Error).message}. Write it as in Event decision {"approved": true} by Ada`
  }
}

function readCall(text: string): ScenarioLine | string {
  const [, tool = '', input = ''] = /^(\S+)\s*([\s\S]*)$/.exec(text) ?? []
  if (input === '') return { kind: 'model calls', tool, input: {} }
  try {
    return { kind: 'model calls', tool, input: JSON.parse(input) }
  } catch (error) {
    return `what the model gives to the tool is not valid JSON: ${(error as Error).message}. Write it as in Model calls: find_order {"number": "A-1", "urgent": true}`
  }
}

/** `find_tables, choose_day`; `none` for no tool. */
function readTools(text: string): ScenarioLine | string {
  const names = text.toLowerCase() === 'none' ? [] : text.split(',').map((name) => name.trim())
  return names.every((name) => /^\S+$/.test(name))
    ? { kind: 'tools', names }
    : 'it needs the names of tools with a comma between two of them, as in Tools: find_tables, choose_day'
}

function readFailure(text: string): ScenarioLine | string {
  return unknownCodeText(text) ?? { kind: 'failure', code: text as FlowErrorCode }
}

/** `name = Ada`, `wish.day = Friday`, `guests = 4`, `table = nothing`, `note = /fern/`. */
function readState(text: string, step: string): ScenarioLine | string {
  const [, path = '', value = ''] = /^([^=\s]+)\s*=\s*([\s\S]+)$/.exec(text) ?? []
  if (path === '') return 'it needs a name, = and a value, as in State of AskName: name = Ada'
  const expected = expectedValueOf(value)
  if (typeof expected === 'object' && 'problem' in expected) return expected.problem
  const part = path.split('.').reduceRight<unknown>((inner, name) => ({ [name]: inner }), expected.value)
  return { kind: 'state', step, part: part as object }
}

function expectedValueOf(text: string): { readonly value: unknown } | { readonly problem: string } {
  if (text === 'nothing') return { value: undefined }
  const pattern = patternOf(text)
  if (typeof pattern === 'string') return { problem: pattern }
  if (pattern !== undefined) return { value: pattern }
  try {
    return { value: JSON.parse(text) }
  } catch (error) {
    if (!/^[{[]/.test(text)) return { value: unescaped(text) }
    const problem = `a value that begins with ${text[0]} is JSON, and this is not valid JSON: ${(error as Error).message}.`
    return { problem: `${problem} To expect it as a text, write it in quotes: ${JSON.stringify(text)}` }
  }
}

/** The units of time of a line, in milliseconds. */
export const timeUnits: Readonly<Record<string, number>> = {
  second: 1000,
  minute: 60_000,
  hour: 3_600_000,
  day: 86_400_000,
  week: 7 * 86_400_000,
}
/** About 100 years: the dates that a clock can show have an end. */
const longestWaitDays = 36_500

function readTime(kind: 'after' | 'wait', text: string): ScenarioLine | string {
  const [, number = '', unit = ''] = /^(\d+(?:\.\d+)?) (second|minute|hour|day|week)s?$/.exec(text) ?? []
  const ms = Number(number) * (timeUnits[unit] ?? 0)
  if (ms > longestWaitDays * 86_400_000) return `the longest wait is ${longestWaitDays} days.`
  return ms > 0
    ? { kind, ms }
    : `it needs a number and a unit: seconds, minutes, hours, days or weeks, as in ${kind === 'wait' ? 'Wait:' : 'After'} 20 minutes`
}

/**
 * The pattern that a text is, if it is between its only two slashes, which flags may follow; a problem as a text.
 * Within a pattern a slash has a backslash before it: what has more slashes is a path.
 */
function patternOf(text: string): RegExp | string | undefined {
  const [, source, flags = ''] = /^\/((?:[^\\/]|\\[\s\S])+)\/([imsu]*)$/.exec(text) ?? []
  if (source === undefined) return undefined
  try {
    return new RegExp(source, flags)
  } catch (error) {
    return `a text between slashes is a pattern, and this is not a valid one: ${(error as Error).message}`
  }
}

/** A text that begins with a slash, and would be taken for a pattern, is written with a backslash before it. */
function unescaped(text: string): string {
  return text.replace(/^\\\//, '/')
}
