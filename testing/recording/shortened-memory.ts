/**
 * Memories of which the oldest messages are gone, because the flow's compaction or a limit removed them. The history
 * still has the message and the reply of each turn, so a model's last answer is known, but no tool call before it.
 */
import type { SessionDocument, StoredMessage } from '../../src/index.js'
import { ExpectationError, list } from '../expectations/expectation-error.js'
import type { TurnMessages } from './recorded-turn.js'
import { isSilent } from './whole-session.js'

/** The messages of a session, and what was made up for those that are gone. */
export interface RestoredMessages {
  readonly groups: readonly TurnMessages[]
  /** The turns whose messages come from the history. */
  readonly shortened: ReadonlySet<number>
  /** The last summary of each memory, as its model wrote it. */
  readonly summaries: Readonly<Record<string, string>>
}

/**
 * Restores the first turns of shortened memories from the history.
 *
 * @param without - The turns that the flow answered without a model, and of which memory never had anything.
 * @throws `ExpectationError` if it is not clear to which memory a turn belongs.
 */
export function restoredMessages(
  document: SessionDocument,
  stored: readonly TurnMessages[],
  without: readonly number[] = [],
): RestoredMessages {
  const summaries: Record<string, string> = {}
  const groups = stored.flatMap((group): TurnMessages[] => {
    const [first, ...rest] = group.messages
    if (first?.summary !== true) return [group]
    summaries[group.namespace] = summaryIn(first)
    return rest.length === 0 ? [] : [{ ...group, messages: rest }]
  })
  const shortened = new Set<number>()
  const restored = document.history.flatMap((entry): TurnMessages[] => {
    const { turn, step, event, reply, encoding } = entry
    const message = event === undefined ? entry.message : `Event: ${event.name}`
    const isOfModel = document.flow.steps[step]?.model !== undefined && encoding === undefined
    if (!isOfModel || isSilent(entry) || without.includes(turn) || groups.some((group) => group.turn === turn))
      return []
    const namespace = namespaceOf(document, turn, step)
    const kept = groups.find((group) => group.namespace === namespace)
    const isCutBefore = kept === undefined ? Object.hasOwn(summaries, namespace ?? '') : turn < kept.turn
    if (namespace === undefined || !isCutBefore) return []
    shortened.add(turn)
    return [{ turn, namespace, messages: [textOf('user', message, turn), textOf('assistant', reply, turn)] }]
  })
  return { groups: [...restored, ...groups], shortened, summaries }
}

/** The memory of a step, of which the document has only the name: most memories have the name of their step. */
function namespaceOf({ id, flow }: SessionDocument, turn: number, step: string): string | undefined {
  const names = Object.keys(flow.memory)
  if (names.includes(step) || names.length < 2) return names.includes(step) ? step : names[0]
  throw new ExpectationError(
    `Session '${id}' cannot be recorded: the messages of turn ${turn} are gone, and it is not clear in which memory step '${step}' had them (${list(names)}). Record sessions with such a step before their memory is shortened.`,
  )
}

/** What the model wrote: the engine puts a heading above it. */
function summaryIn({ parts }: StoredMessage): string {
  const text = parts.map((part) => (part.type === 'text' ? part.text : '')).join('')
  return text.slice(text.indexOf('\n\n') + 1).trim()
}

function textOf(role: 'user' | 'assistant', text: string, turn: number): StoredMessage {
  return { role, parts: [{ type: 'text', text }], turn }
}
