/** Writes a line of the studio as a test. `saved-scenario.ts` takes its turns, its script and its doubles from here. */
import { isDeepStrictEqual } from 'node:util'
import type { MessagePart } from '../../src/index.js'
import type { ConversationTurn } from '../conversation/turns/conversation-turn.js'
import { pressed } from '../conversation/turns/pressed-button.js'
import { codeOf } from '../expectations/code-of.js'
import { answerOf } from '../recording/recorded-turn.js'
import type { ScriptedReply } from '../scripted-model/scripted-answer.js'
import type { StoredTurn, TurnInput } from './api/types.js'
import type { FileToWrite } from './studio-files.js'

/** A line to save. */
export interface SavedLine {
  /** What its user calls it: any text. */
  readonly title: string
  /** Letters, digits and dashes: the names of the files begin with it. */
  readonly slug: string
  /** Milliseconds since the epoch, by the line's clock. */
  readonly startedAt: number
  readonly turns: readonly StoredTurn[]
  readonly source: FlowSource
}

/** Where the flow is, and how the project runs its tests. */
export interface FlowSource {
  /** The module, as a saved file imports it: `../flows.ts`. */
  readonly specifier: string
  /** The name of the export that is the flow's class. Absent if only the set-up has it. */
  readonly exportName?: string
  /** Whether `default` is a set-up, or a function that returns one. */
  readonly hasSetup: boolean
  /** The tools for which the set-up has doubles. */
  readonly doubles: readonly string[]
  readonly runner: 'vitest' | 'node:test'
}

/** A turn to play, and those of other timers of the same moment before it. */
export interface SentTurn {
  readonly turn: StoredTurn
  readonly all: readonly StoredTurn[]
  /** Milliseconds that pass before it. */
  readonly waitMs: number
  /** Whether its user pressed a button of the newest choices. */
  readonly isButton: boolean
}

/**
 * Writes the test: a `Conversation` with a script, doubles, and expectations after each turn.
 *
 * @throws Error that says why, if no test can play the line.
 */
export function savedTest(line: SavedLine): readonly FileToWrite[] {
  const sent = sentTurns(line)
  const { flow, imports, setup, options, unused } = flowCode(line, sent, 'Conversation, VirtualClock', true)
  const text = `// The studio wrote this test from a conversation. Change it as you like.
import { test } from '${line.source.runner}'
${imports}
test(${codeOf(line.title)}, async () => {
${setup}  const conversation = new Conversation(${flow}, {
${options}  })
${unused}  await conversation.use(async () => {
${sent.flatMap(turnCode).join('\n')}
  })
})
`
  return [{ name: `${line.slug}.test.mjs`, text }]
}

function turnCode({ turn, waitMs, isButton }: SentTurn): readonly string[] {
  const { input, reply, parts, step, error, document } = turn
  const isClock = input.sender === 'clock'
  const waits = waitMs > 0 || isClock ? [`await conversation.advance(${waitMs})`] : []
  const sends = isClock ? [] : [`await conversation.${sendCode(input, isButton)}`]
  const carried = parts === undefined ? '' : `.expectParts(${codeOf(parts)})`
  const end = document?.runStatus === 'completed' ? '.expectCompleted()' : ''
  const expected =
    error === undefined
      ? `expectReply(${codeOf(reply)})${carried}.expectStep(${codeOf(step)})${end}`
      : `expectError(${failureOf(turn).map(codeOf).join(', ')})`
  return [...waits, ...sends, `conversation.${expected}`].map((one) => `    ${one}`)
}

function sendCode({ text, choice, attachments, event, sender }: TurnInput, isButton: boolean): string {
  if (isButton) return `choose(${codeOf(text)})`
  if (event !== undefined && sender === 'application') {
    const { name, payload, by } = event
    return `sendEvent(${[name, payload, ...(by === undefined ? [] : [{ by }])].map(codeOf).join(', ')})`
  }
  const more = { ...(choice && { choice }), ...(attachments && { attachments }), ...(event && { event }) }
  return `say(${[text, ...(Object.keys(more).length === 0 ? [] : [more])].map(codeOf).join(', ')})`
}

/** The code of a failed turn; and its text, unless it is about a model. */
export function failureOf({ error, reply }: StoredTurn): readonly string[] {
  if (error === undefined) return []
  return reply === '' || error.code.startsWith('MODEL_') ? [error.code] : [error.code, reply]
}

/** A turn whose cause is not recorded. */
const unrepeatable = /^(TURN_TIMEOUT|SESSION_STORE_ERROR|SESSION_CONFLICT|MODEL_BLOCKED)$/

/**
 * The turns to play, without those that were stopped. Timers of one moment run in one `advance`: only the last of them
 * can be checked.
 *
 * @throws Error if there is none, or one cannot be repeated.
 */
export function sentTurns({ turns, startedAt }: SavedLine): readonly SentTurn[] {
  const kept = turns.filter(({ error }) => error?.code !== 'TURN_ABORTED')
  if (kept.length === 0) throw new Error('There is no turn to save yet: send a message first.')
  const replies = kept.map(({ parts, number }) => ({ reply: { parts, turn: number } }) as unknown as ConversationTurn)
  let now = startedAt
  let all: StoredTurn[] = []
  return kept.flatMap((turn, index) => {
    const { at, error, input } = turn
    const next = kept[index + 1]
    const isClock = input.sender === 'clock'
    // A timer whose turn failed would be due again.
    if (error && (unrepeatable.test(error.code) || (isClock && next))) {
      const what = `${isClock ? 'a timer' : 'a turn'} that failed with ${error.code}`
      throw new Error(`Turn ${turns.indexOf(turn) + 1}: no test can repeat ${what}. Go back to the turn before it.`)
    }
    all = [...all, turn]
    if (isClock && next?.input.sender === 'clock' && next.at === at) return []
    const button = input.attachments === undefined && pressed(input.text, replies.slice(0, index))
    const played = { turn, all, waitMs: at - now, isButton: isDeepStrictEqual(input.choice, button) }
    now = at
    all = []
    return played
  })
}

type FlowCode = Readonly<Record<'imports' | 'setup' | 'flow' | 'options' | 'unused', string>>

/**
 * Code that takes the flow and its set-up, and the options for what the line has recorded.
 *
 * @param harness - The names that it imports from `turnkeeper/testing`.
 */
export function flowCode(
  { source, startedAt }: SavedLine,
  sent: readonly SentTurn[],
  harness: string,
  hasScript: boolean,
): FlowCode {
  const { specifier, exportName, hasSetup } = source
  const turns = sent.flatMap(({ all }) => all)
  const calls = turns.flatMap((turn) => turn.calls)
  const real = calls.filter(({ kind, mustRun }) => kind === 'once' || mustRun === true)
  const doubled = calls.filter((call) => !real.some(({ kind, name }) => kind === call.kind && name === call.name))
  const toolError = doubled.some(({ isToolError }) => isToolError) ? "import { ToolError } from 'turnkeeper'\n" : ''
  const results = doubled.map(({ name, result, error, isToolError }): Entry => {
    return [
      name,
      error === undefined ? codeOfResult(result) : `new ${isToolError ? 'Tool' : ''}Error(${codeOf(error)})`,
    ]
  })
  const replies = hasScript ? turns.flatMap(repliesOf).map(({ step, reply }): Entry => [step, codeOf(reply)]) : []
  const unused = source.doubles.filter((double) => !doubled.some(({ name }) => name === double))
  const id = turns.find(({ document }) => document !== undefined)?.document?.id ?? ''
  const isShown = id !== '' && codeOf(turns.map(({ reply, parts = [] }) => [reply, ...parts])).includes(id)
  const options = [
    ...(hasSetup ? ['...setup,'] : []),
    ...(isShown ? [`generateId: (kind) => (kind === 'session' ? ${codeOf(id)} : undefined),`] : []),
    `clock: new VirtualClock(${startedAt}), // ${new Date(startedAt).toISOString()}`,
    ...(real.length > 0 ? ['// turn.once, and tools without a double here, run as they are.'] : []),
    ...listsOf('tools', results, hasSetup ? '\n      ...setup.tools,' : ''),
    ...listsOf('script', replies),
  ]
  const taken = "typeof flows.default === 'function' ? await flows.default() : flows.default"
  return {
    imports: `${toolError}import { ${harness} } from 'turnkeeper/testing'\nimport * as flows from ${codeOf(specifier)}\n`,
    setup: hasSetup ? `  const { flow, given, script, providers, ...setup } = ${taken}\n` : '',
    flow: exportName === undefined ? 'flow' : `flows.${exportName}`,
    options: options.map((one) => `    ${one}\n`).join(''),
    unused: unused.length === 0 ? '' : `  conversation.tools.allowUnused(${codeOf(unused)})\n`,
  }
}

type Entry = readonly [key: string, code: string]

/** An option that has a list for each key. */
function listsOf(option: string, entries: readonly Entry[], first = ''): readonly string[] {
  const lists = Array.from(new Set(entries.map(([key]) => key)), (name) => {
    const codes = entries.flatMap(([key, code]) => (key === name ? [`\n        ${code},`] : []))
    return `\n      ${codeOf(name)}: [${codes.join('')}\n      ],`
  })
  return lists.length === 0 ? [] : [`${option}: {${first}${lists.join('')}\n    },`]
}

type StepReply = { readonly step: string; readonly reply: ScriptedReply }

/** What models answered in a turn, as a script says it. */
export function repliesOf({ models }: StoredTurn): readonly StepReply[] {
  return models.flatMap(({ step, answer, tools }, index) => {
    // The step was answered by the next attempt, or by another model.
    if (answer === undefined && models[index + 1]?.step === step) return []
    if (answer === undefined) return { step, reply: new Error('The model did not answer.') }
    const { text = '', toolCalls } = answerOf(answer as readonly MessagePart[])
    if (toolCalls === undefined) return { step, reply: text }
    const calls = toolCalls.map(({ id: _id, offered: _offered, ...call }) =>
      tools.some(({ name }) => name === call.name) ? call : { ...call, offered: false as const },
    )
    return { step, reply: { ...(text && { text }), toolCalls: calls } }
  })
}

/** A list of results cannot have `undefined`: a tool that returns nothing has a function. */
function codeOfResult(result: unknown): string {
  return result === undefined ? '() => undefined' : codeOf(result)
}
