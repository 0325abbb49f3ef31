/** Writes a line of the studio as a scenario, and reads it again, so that each of its lines means the same. */
import { isDeepStrictEqual } from 'node:util'
import type { FlowErrorCode } from '../../src/index.js'
import { list } from '../expectations/expectation-error.js'
import { readDocument } from '../scenarios/read-scenarios.js'
import { type ScenarioLine, timeUnits } from '../scenarios/scenario-lines.js'
import type { ScriptedAnswer, ScriptedReply } from '../scripted-model/scripted-answer.js'
import type { StoredTurn, TurnInput } from './api/types.js'
import { failureOf, flowCode, repliesOf, type SavedLine, type SentTurn, sentTurns } from './saved-test.js'
import type { FileToWrite } from './studio-files.js'

/** A line of a scenario, and what it must say; `undefined` if no line can say it. */
type Said = readonly [text: string, meant: ScenarioLine | undefined]

/**
 * Writes the scenario and its set-up, which has a script if lines of a scenario cannot say what models answered.
 *
 * @throws Error that says why, if no scenario can say the line.
 */
export function savedScenario(line: SavedLine): readonly FileToWrite[] {
  const { slug } = line
  const sent = sentTurns(line)
  const models = sent.map(({ all }) => all.flatMap(repliesOf).map(({ reply }) => modelLine(reply)))
  const hasScript = models.flat().some(([, meant]) => meant === undefined)
  const turns = sent.map((one, index) => {
    return [...actionLines(one), ...(hasScript ? [] : (models[index] ?? [])), ...expectationLines(one.turn)]
  })
  const title = line.title.replaceAll(/\s+/g, ' ').trim() || slug
  const lines = turns.map((one) => one.map(([text]) => `- ${text.replaceAll(/\n(?=.)/g, '\n  ')}`.trimEnd()).join('\n'))
  const text = `# ${title}\n\nSetup: ./${slug}.setup.mjs\n\n## ${title}\n\n${lines.join('\n\n')}\n`
  const read = linesIn(text)
  const unsaid = turns.flat().find(([, meant], index) => !isDeepStrictEqual(read[index], meant))
  if (unsaid) throw new Error(`A scenario cannot say this. Save the line as a test.\n${unsaid[0]}`)
  const { imports, setup, flow, options } = flowCode(line, sent, 'VirtualClock', hasScript)
  const code = `// The set-up of ${slug}.scenario.md. The studio wrote both; change them as you like.
${imports}
export default async () => {
${setup}  return {
${options}    flow: ${flow},
  }
}
`
  return [
    { name: `${slug}.scenario.md`, text },
    { name: `${slug}.setup.mjs`, text: code },
  ]
}

/** The lines of the scenario, as a file stores them, as far as they can be read. */
function linesIn(text: string): readonly object[] {
  const [scenario] = readDocument(Buffer.from(text).toString(), '').scenarios
  const lines = (scenario?.events ?? []).flatMap((one): readonly object[] => {
    return one.kind === 'turn' ? [one.sent, ...one.model, ...one.expectations] : [one]
  })
  return lines.map((one) =>
    Object.fromEntries(Object.entries(one).filter(([key]) => key !== 'line' && key !== 'source')),
  )
}

function actionLines({ turn, waitMs, isButton }: SentTurn): readonly Said[] {
  const { text, choice, attachments = [], event, sender } = turn.input
  const isClock = sender === 'clock'
  const time = waitMs > 0 || isClock ? [timeLine(waitMs, isClock)] : []
  if (isClock) return time
  if (event !== undefined) return [...time, eventLine(event, sender === 'application')]
  const chosen: Said = [`Choose ${text}`, isButton ? { kind: 'choose', label: text } : undefined]
  const said: Said = choice === undefined ? [`User: ${text}`, { kind: 'user', text }] : chosen
  return [...time, said, ...attachments.map((): Said => ['Attach a file', undefined])]
}

function eventLine(event: NonNullable<TurnInput['event']>, isSayable: boolean): Said {
  const { name, payload, by } = event
  // Two asterisks would be taken for bold type.
  const json = payload === undefined ? '' : ` ${JSON.stringify(payload).replaceAll('*', '\\u002a')}`
  return [
    `Event ${name}${json}${by === undefined ? '' : ` by ${by}`}`,
    isSayable ? { kind: 'event', ...JSON.parse(JSON.stringify(event)) } : undefined,
  ]
}

function timeLine(ms: number, isTurn: boolean): Said {
  // The largest that divides it.
  const [unit, size] = Object.entries(timeUnits).findLast(([, one]) => ms % one === 0) ?? ['second', 1000]
  const time = `${ms / size} ${unit}${ms === size ? '' : 's'}`
  return isTurn ? [`After ${time}`, { kind: 'after', ms }] : [`Wait: ${time}`, { kind: 'wait', ms }]
}

function modelLine(reply: ScriptedReply): Said {
  if (typeof reply === 'string') return [`Model: ${reply}`, { kind: 'model', text: reply }]
  const { text, toolCalls: [call, ...more] = [] } = reply as ScriptedAnswer
  const { name: tool = '', input = {}, ...rest } = call ?? {}
  const isOne = call !== undefined && text === undefined && more.length === 0 && Object.keys(rest).length === 0
  return [
    `Model calls: ${tool} ${JSON.stringify(input)}`,
    isOne ? { kind: 'model calls', tool, input: input as never } : undefined,
  ]
}

const partWords = { card: 'Card', form: 'Form', file: 'File', custom: 'Part' }

/** What the reply was, and in which step the turn ended. */
function expectationLines(turn: StoredTurn): readonly Said[] {
  const { parts = [], step, error, document } = turn
  const [code, text] = error === undefined ? [undefined, turn.reply] : failureOf(turn)
  const labels = list(parts.flatMap((part) => (part.type === 'choices' ? part.options.map(({ label }) => label) : [])))
  const shown = parts.map((part): Said => {
    const { type } = part
    if (type === 'choices') return [`Buttons: ${labels}`, { kind: 'buttons', labels }]
    const title = type === 'card' ? part.title : part.name
    return [`${partWords[type]}: ${escaped(title)}`, { kind: 'part', type, title }]
  })
  const lines: readonly (Said | false)[] = [
    code !== undefined && [`Fails: ${code}`, { kind: 'failure', code: code as FlowErrorCode }],
    text !== undefined && replyLine(text),
    ...shown,
    error === undefined && [`Step: ${step}`, { kind: 'step', step }],
    document?.runStatus === 'completed' && ['Completed: yes', { kind: 'completed' }],
  ]
  return lines.filter((one) => one !== false)
}

function replyLine(expected: string): Said {
  if (expected === '') return ['Bot: /^$/', { kind: 'reply', expected: /^$/ }]
  return [`Bot: ${escaped(expected)}`, { kind: 'reply', expected }]
}

/** A text between slashes would be a pattern. */
function escaped(text: string): string {
  return text.replace(/^\//, '\\/')
}
