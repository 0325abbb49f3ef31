/** Describes the place of a failure in one line; the transcript below it shows the whole conversation. */
import type { ConversationTurn, TurnEvent } from './conversation-turn.js'
import { lastRead, namesOf, sessionBefore, type TurnsSoFar } from './turn-names.js'

/** The known facts about the place. */
export interface Whereabouts extends TurnsSoFar {
  readonly flowName: string
  /** The failed turn, one of `turns`, if none is running. */
  readonly turn: ConversationTurn | undefined
  /** Whether the failure happened after the turn. */
  readonly isAfter: boolean
}

/**
 * `flow 'Booking', step 'Find', turn 2`. The step is the one in which the turn failed, or at which it left the
 * conversation. A script that does not fit says it in the same words: `scripted-model/recorded-request.ts`.
 */
export function whereText(whereabouts: Whereabouts): string {
  const { flowName, turns, turn, running, start, isAfter } = whereabouts
  const flow = `flow '${flowName}'`
  const [first] = running
  if (first !== undefined) {
    const step = lastEntered(first.events) ?? stepOf(sessionBefore(first, whereabouts))
    return `${flow}${stepText(step)}, ${nameIn(whereabouts, turns.length)}`
  }
  if (turn === undefined) return `${flow}${stepText(stepOf(start))}, before the first turn`
  const { events, reply, stoppedAfter } = turn
  const stored = storedStep(turn, turns)
  const entered = lastEntered(events)
  const isDone = reply.success && stoppedAfter === undefined
  const step = isDone ? (stored ?? entered) : (entered ?? stored)
  return `${flow}${stepText(step)}, ${isAfter ? 'after ' : ''}${nameIn(whereabouts, turns.indexOf(turn))}`
}

/** The name of a turn, with its session if a turn of another session has the same name. */
function nameIn(soFar: TurnsSoFar, index: number): string {
  const names = namesOf(soFar)
  const { name, session } = names[index] as (typeof names)[number]
  const isAmbiguous = session !== undefined && names.some((one) => one.name === name && one.session !== session)
  return `${name.toLowerCase()}${isAmbiguous ? ` of session ${session}` : ''}`
}

/**
 * The step at which a turn left the session. If several turns ran in one session at once, only the last was read; its
 * history has the others.
 */
function storedStep(
  { document, number, reply }: ConversationTurn,
  turns: readonly ConversationTurn[],
): string | undefined {
  if (document !== undefined || number === undefined) return stepOf(document)
  return lastRead(turns, reply.session)?.history.find(({ turn }) => turn === number)?.step
}

function stepText(step: string | undefined): string {
  return step === undefined ? '' : `, step '${step}'`
}

function stepOf(document: TurnsSoFar['start']): string | undefined {
  return document?.flow.currentStep ?? undefined
}

function lastEntered(events: readonly TurnEvent[]): string | undefined {
  const steps = events.flatMap((event) => (event.kind === 'enter' || event.kind === 'return' ? [event.step] : []))
  return steps.at(-1)
}
