/** What the page shows of a line: its turns, what it waits for, its map, and each turn in detail. */
import type { JsonValue, SessionDocument } from '../../../src/index.js'
import { jsonSchemaOf } from '../../../src/model/json-schema.js'
import { invalidInput } from '../../../src/util/options.js'
import { eventsOf, timersOf } from '../../conversation/turns/timers.js'
import { diagramOf } from '../../diagram/diagram.js'
import { declaredEvents, flowsOf, listedSteps, stepWithState } from '../../flow-steps/flow-steps.js'
import { statesOf } from '../../recording/recorded-turn.js'
import type { LineSummary, LineView, MapMove, StoredTurn, TurnDetail, TurnView } from '../api/types.js'
import { changesOf } from './differences.js'
import type { StudioLine } from './line.js'

export function summaryOf({ stored: { id, flow, turns, parent, isReadOnly } }: StudioLine): LineSummary {
  return { id, flow, turns: turns.length, ...(parent && { parent }), ...(isReadOnly && { isReadOnly }) }
}

/** @param lines - All lines, for the counts of the map. */
export function viewOf(line: StudioLine, lines: readonly StudioLine[]): LineView {
  const { document, turns, isBusy, question, stored } = line
  const step = document?.flow.currentStep ?? ''
  const { choices } = document?.flow.steps[step] ?? {}
  return {
    ...summaryOf(line),
    now: stored.now,
    state: document?.runStatus ?? 'new',
    step,
    history: turns.map(({ document: _document, models: _models, calls: _calls, ...turn }): TurnView => turn),
    events: eventsIn(line),
    ...(choices && { choices: choices.turn }),
    timers: timersOf(document),
    map: mapOf(line, lines),
    isBusy,
    ...(isBusy && line.input && { pending: line.input }),
    ...(question && { question }),
  }
}

/**
 * @param number - Counted from 1.
 * @throws `InvalidInputError` if there is no such turn.
 */
export function detailOf({ turns }: StudioLine, number: number): TurnDetail {
  const turn = turns[number - 1]
  if (turn === undefined) throw invalidInput(`There is no turn ${number}.`)
  const before = turns[number - 2]?.document
  const { document: after, ...shown } = turn
  const frames = (after?.flow.frames ?? []) as readonly JsonValue[]
  return {
    ...shown,
    changes: changesOf(comparedOf(before), comparedOf(after)),
    frames,
    ...(after && { usage: after.usage }),
  }
}

/** A document as a developer reads it: where the session is and what it holds come first. */
function comparedOf(document: SessionDocument | undefined): object | undefined {
  if (document === undefined) return undefined
  const { flow, revision: _revision, savedAt: _savedAt, bytes: _bytes, ...rest } = document
  const { currentStep: step, steps, context, sequence: _sequence, ...more } = flow
  return { step, state: statesOf(steps), context, ...more, ...rest }
}

/** The events that the session takes now. */
function eventsIn({ flow, document, stored }: StudioLine): LineView['events'] {
  if (flow === undefined || document === undefined || stored.isReadOnly) return []
  const steps = listedSteps('studio', flow)
  const declared = new Map([
    ...flowsOf(steps).map(({ id, flow: owner }) => [id || flow.id, declaredEvents(owner)] as const),
    ...steps.map((step) => [step.id, declaredEvents(stepWithState(step, document))] as const),
  ])
  // The clock sends the others: the time is moved for them.
  const sent = eventsOf(document, flow.id, declared).filter((one) => (one.after ?? one.silence) === undefined)
  return sent.map(({ name, byUser, input }) => {
    try {
      return { name, byUser, ...(input && { schema: jsonSchemaOf(input, 'input', name) as JsonValue }) }
    } catch {
      return { name, byUser }
    }
  })
}

function mapOf(line: StudioLine, lines: readonly StudioLine[]): LineView['map'] {
  const { flow } = line
  if (flow === undefined) return { steps: [], moves: [] }
  const counted = (sessions: readonly SessionDocument[]): LineView['map'] => {
    const [{ steps, transitions } = { steps: [], transitions: [] }] = diagramOf(flow, { sessions }).flows
    return { steps, moves: transitions } as unknown as LineView['map']
  }
  const own = counted(sessionsOf(line)).moves.filter(({ seen }) => seen > 0)
  const isOwn = ({ from, to, kind }: MapMove): boolean =>
    own.some((one) => one.from === from && one.to === to && one.kind === kind)
  const ofFlow = lines.filter((one) => one.flow === flow)
  // A fork has the turns of the earlier line too.
  const { steps, moves } = counted(ofFlow.flatMap((one) => sessionsOf(one, one.stored.parent?.turn)))
  return { steps, moves: moves.map((move) => ({ ...move, isOnPath: isOwn(move) })) }
}

/** The turns of a line as diagrams count sessions: one each, or the stored one that was opened. */
function sessionsOf({ stored, document, turns }: StudioLine, from = 0): readonly SessionDocument[] {
  if (stored.isReadOnly) return document ? [document] : []
  const flows = turns.slice(from).map(({ path }) => ({ name: stored.flow, sequence: path, currentStep: null }))
  return flows.map((flow) => ({ flow })) as unknown as SessionDocument[]
}

/** The turns of a stored session, as far as its history has them. */
export function turnsOf(document: SessionDocument): StoredTurn[] {
  const { length } = document.history
  return document.history.map((entry, index): StoredTurn => {
    const { message: text, event, attachments: _attachments, turn: number, id: _id, at, ...reply } = entry
    const input = { text, ...(event && { event, sender: 'application' as const }) }
    const nothing = { path: [{ step: entry.step, level: 0 }], durationMs: 0, calls: [], models: [] }
    const whole = index === length - 1 ? { document } : {}
    return { ...reply, ...nothing, input, number, at: Date.parse(at), ...whole }
  })
}
