/**
 * Whether a stored session is complete, and which of its texts a model said. It names what is missing; if the document
 * is not clear, it says so and does not guess.
 *
 * What the engine stores: each call that a model answered leaves one assistant message, and `usage.modelCalls` counts
 * all attempts at calls, failed ones too. A reply that no model made is stored as well, as the last message of its turn
 * in one namespace, if a model step took part. So an assistant message is certainly a model's unless it is the last of
 * its turn and a single text that was sent.
 */
import type { SessionDocument, StoredMessage } from '../../src/index.js'
import { count, ExpectationError, list, show } from '../expectations/expectation-error.js'
import { isReplyOf, type LastText, onlyText, rememberedText, type TurnMessages } from './recorded-turn.js'

/** The beginning of every refusal. */
function refuse(document: Pick<SessionDocument, 'id'>, problem: string): never {
  throw new ExpectationError(`Session '${document.id}' cannot be recorded: ${problem}`)
}

/** Refuses a session that is not complete. */
export function requireWhole(
  document: SessionDocument,
  groups: readonly TurnMessages[],
  named: readonly number[] = [],
): void {
  requireWholeHistory(document)
  requireAttachments(document)
  requireWholeMemory(document, groups)
  requireReplies(document, groups, named)
}

function requireWholeHistory(document: SessionDocument): void {
  const { runStatus, history, error, flow, turns } = document
  if (runStatus === 'aborted') {
    refuse(
      document,
      `it was aborted (${list(error.slice(-1))}). Nothing of the failed turn is stored: neither its message nor the answers of models.`,
    )
  }
  if (history.length === 0) refuse(document, 'no turn of it is stored.')
  for (const [index, { turn }] of history.entries()) {
    if (turn === index + 1) continue
    const missing = turn > index + 1 ? `turn ${index + 1} is missing` : `turn ${turn} is there twice`
    refuse(document, `its history is not whole: ${missing} (entry ${index + 1} is turn ${turn}).`)
  }
  const last = history.at(-1)?.step
  // A flow may answer for itself before a step is entered.
  if (flow.currentStep !== null && last !== flow.currentStep) {
    refuse(
      document,
      `its history ends in step '${last}', and its current step is '${flow.currentStep}': turns are missing.`,
    )
  }
  if (turns !== history.length) {
    refuse(
      document,
      `its history ends with turn ${history.length}, and its field turns is ${show(turns)}: turns are missing.`,
    )
  }
}

function requireWholeMemory(document: SessionDocument, groups: readonly TurnMessages[]): void {
  const { history } = document
  let before: TurnMessages | undefined
  for (const group of groups) {
    const place = `turn ${group.turn} in namespace '${group.namespace}'`
    if (group.turn < 1 || group.turn > history.length) {
      refuse(document, `its memory has messages of ${place}, and its history has ${count(history.length, 'turn')}.`)
    }
    if (before?.namespace === group.namespace && before.turn > group.turn) {
      refuse(document, `the messages of ${place} come after those of turn ${before.turn}.`)
    }
    before = group
    const problem = groupProblem(group.messages)
    if (problem !== undefined) refuse(document, `the messages of ${place} are not whole: ${problem}.`)
  }
}

/** A step for which a model answered keeps every reply of a turn that ends in it. */
function requireReplies(document: SessionDocument, groups: readonly TurnMessages[], named: readonly number[]): void {
  const { history, flow } = document
  for (const entry of history) {
    if (flow.steps[entry.step]?.model === undefined) continue
    if (named.includes(entry.turn) && !hasMessages(groups, entry.turn)) continue
    if (isSilent(entry)) continue
    const isThere = groups.some(({ turn, messages }) => {
      const end = messages.at(-1)
      return turn === entry.turn && end?.role === 'assistant' && isReplyOf(onlyText(end) ?? '', entry)
    })
    if (isThere) continue
    refuse(
      document,
      `turn ${entry.turn} ended in model step '${entry.step}', and no namespace has its reply ${show(entry.reply, 60)}: messages are missing.`,
    )
  }
}

/** Whether a turn took an event, and said nothing. */
export function isSilent({ event, reply }: SessionDocument['history'][number]): boolean {
  return event !== undefined && reply === ''
}

/** Whether memory has anything of a turn: it has nothing of one that `onMessage` of the flow answered. */
function hasMessages(groups: readonly TurnMessages[], number: number): boolean {
  return groups.some(({ turn }) => turn === number)
}

/**
 * Refuses a session from which bytes of the user were removed: without them the models cannot get the same request.
 */
function requireAttachments(document: SessionDocument): void {
  const stored = new Set((document.attachments ?? []).map(({ id }) => id))
  for (const { turn, attachments = [] } of document.history) {
    for (const { type, attachment } of attachments) {
      if (attachment === undefined || stored.has(attachment)) continue
      refuse(
        document,
        `the bytes of the ${type} of turn ${turn} were removed. Record sessions with limits: { attachmentTurns: Infinity, maxSessionBytes: Infinity }.`,
      )
    }
  }
}

/** What is wrong with the messages of one turn in one namespace. */
function groupProblem(messages: readonly StoredMessage[]): string | undefined {
  if (isReplyAlone(messages)) return undefined
  if (messages[0]?.role !== 'user') return 'they do not begin with what the user said'
  /** The calls that have no result yet. */
  const open: string[] = []
  for (const message of messages) {
    const problem = message.role === 'tool' ? resultProblem(message, open) : missingResult(open)
    if (problem !== undefined) return problem
    if (message.role === 'assistant') open.push(...callIdsOf(message))
  }
  return (
    missingResult(open) ?? (messages.at(-1)?.role === 'user' ? 'they end with a message that has no answer' : undefined)
  )
}

/** Whether messages are what an event or a return said without a model: a model would have been asked something. */
function isReplyAlone([first, ...more]: readonly StoredMessage[]): boolean {
  return first?.role === 'assistant' && more.length === 0
}

/** Takes the calls whose results are in a tool message out of `open`. */
function resultProblem({ parts }: StoredMessage, open: string[]): string | undefined {
  for (const part of parts) {
    if (part.type !== 'tool-result') return 'a tool message has a part that is not a result'
    const expected = open.shift()
    if (expected !== part.toolCallId) return `the result of '${part.toolName}' (${part.toolCallId}) has no call`
  }
  return undefined
}

function missingResult(open: readonly string[]): string | undefined {
  return open.length > 0 ? `the tool call ${open[0]} has no result` : undefined
}

function callIdsOf({ parts }: StoredMessage): string[] {
  return parts.flatMap((part) => (part.type === 'tool-call' ? [part.toolCallId] : []))
}

/**
 * The texts that the flow made itself, among those that were the last of their turns.
 *
 * @param named - The turns in which the flow answered itself, if the caller knows.
 * @param failedAttempts - Attempts at model calls that failed, if the caller knows. Default: as few as the document
 * allows.
 */
export function ownTextsOf(
  document: SessionDocument,
  groups: readonly TurnMessages[],
  named: readonly number[] | undefined,
  failedAttempts?: number,
): LastText[] {
  const { modelCalls } = document.usage
  const isReply = ({ role }: StoredMessage): boolean => role === 'assistant'
  const replies = groups.flatMap(({ messages }) => messages.filter(isReply)).length
  const possible = groups.flatMap((group) => lastTextOf(document, group) ?? [])
  const certain = possible.filter((text) => isOwnForCertain(document, groups, text))
  const open = possible.filter((text) => !certain.includes(text) && !isModelForCertain(groups, text))
  const failed = failedAttempts ?? Math.max(0, modelCalls + certain.length - replies)
  const missing = replies - (modelCalls - failed) - certain.length
  if (missing < 0 || missing > open.length) {
    refuse(
      document,
      `it counts ${count(modelCalls, 'model call')}${failed === 0 ? '' : `, ${failed} of which failed`}, and its memory has ${count(replies, 'reply', 'replies')}. The flow itself can have made no fewer than ${certain.length} and no more than ${certain.length + open.length} of these, which does not fit: messages are missing, or were changed.`,
    )
  }
  if (named !== undefined) {
    const inMemory = named.filter((turn) => hasMessages(groups, turn) || turn > document.history.length)
    return namedTexts(document, certain, open, inMemory, missing)
  }
  if (missing === 0) return certain
  if (missing === open.length) return [...certain, ...open]
  const lines = open.map(({ turn, text }) => `  turn ${turn}: ${show(text, 60)}`)
  refuse(
    document,
    `${count(missing, 'reply', 'replies')} of these ${open.length} the flow made itself, without a model, and the document does not tell which:\n${lines.join('\n')}\nName the turns in which the flow answered itself: recordingOf(document, { ownReplies: [${open[0]?.turn}] }).`,
  )
}

function namedTexts(
  document: SessionDocument,
  certain: readonly LastText[],
  open: readonly LastText[],
  named: readonly number[],
  missing: number,
): LastText[] {
  const chosen = open.filter(({ turn }) => named.includes(turn))
  const unknown = named.filter((turn) => ![...certain, ...open].some((text) => text.turn === turn))
  if (unknown.length > 0) {
    refuse(document, `ownReplies names turn ${list(unknown.map(String))}, and no reply of it can be the flow's own.`)
  }
  if (chosen.length !== missing) {
    refuse(
      document,
      `ownReplies names ${count(chosen.length, 'reply', 'replies')} as the flow's own, but by the number of model calls there ${missing === 1 ? 'is' : 'are'} ${missing}. The candidates are turns ${list(open.map(({ turn }) => String(turn)))}. If attempts at calls failed, name their number: recordingOf(document, { ownReplies, failedAttempts: 1 }).`,
    )
  }
  return [...certain, ...chosen]
}

/** The last text of a turn, if it is the one that was sent: a model or the flow made it. */
function lastTextOf(document: SessionDocument, { turn, namespace, messages }: TurnMessages): LastText | undefined {
  const last = messages.at(-1)
  const entry = document.history[turn - 1]
  if (last?.role !== 'assistant' || entry === undefined) return undefined
  const text = onlyText(last)
  return text === rememberedText(entry) || text === entry.reply ? { turn, namespace, text } : undefined
}

/** If a turn ended in a step for which no model ever answered, or with bytes, or no model was asked, it was the flow. */
function isOwnForCertain(
  document: SessionDocument,
  groups: readonly TurnMessages[],
  { turn, namespace, text }: LastText,
): boolean {
  const entry = document.history[turn - 1]
  if (entry === undefined) return false
  const own = groups.find((group) => group.turn === turn && group.namespace === namespace)
  if (own !== undefined && isReplyAlone(own.messages)) return true
  const { steps } = document.flow
  const noModelEver = Object.hasOwn(steps, entry.step) && steps[entry.step]?.model === undefined
  return noModelEver || text !== entry.reply
}

/** After a tool that only gave the model a result, the model speaks again. */
function isModelForCertain(groups: readonly TurnMessages[], { turn, namespace }: LastText): boolean {
  const messages = groups.find((group) => group.turn === turn && group.namespace === namespace)?.messages ?? []
  const results: boolean[] = []
  for (let index = messages.length - 2; messages[index]?.role === 'tool'; index--) {
    for (const part of messages[index]?.parts ?? []) {
      if (part.type !== 'tool-result') continue
      // A result that moved on is a text, and so is the result of a call that was not run after it.
      const movedOn = typeof part.output === 'string' && (part.isError !== true || part.output.startsWith('Not run:'))
      results.push(!movedOn)
    }
  }
  return results.length > 0 && results.every(Boolean)
}
