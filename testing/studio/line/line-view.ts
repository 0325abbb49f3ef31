/** What the page shows of a line: its turns, what it waits for, its map, and each turn in detail. */
import { type FlowEngine, type FlowEvent, type JsonValue, LogicStep, type SessionDocument } from '../../../src/index.js'
import { jsonSchemaOf } from '../../../src/model/json-schema.js'
import { invalidInput } from '../../../src/util/options.js'
import { eventsOf, timersOf } from '../../conversation/turns/timers.js'
import { diagramOf } from '../../diagram/diagram.js'
import { coverageOf, type FlowCoverage } from '../../flow-coverage/flow-coverage.js'
import { flowsOf, listedSteps } from '../../flow-steps/flow-steps.js'
import type { LineSummary, LineView, StoredTurn, TurnDetail, TurnView } from '../api/types.js'
import { changesOf } from './differences.js'
import type { StudioLine } from './line.js'

export function summaryOf({ stored: { id, flow, turns, parent, isReadOnly } }: StudioLine): LineSummary {
  return { id, flow, turns: turns.length, ...(parent && { parent }), ...(isReadOnly && { isReadOnly }) }
}

/** @param lines - All lines, for the counts of the map. */
export function viewOf(line: StudioLine, lines: readonly StudioLine[]): LineView {
  const { document, turns, isBusy, question, stored } = line
  return {
    ...summaryOf(line),
    now: stored.now,
    state: document?.runStatus ?? 'new',
    step: document?.flow.currentStep ?? '',
    history: turns.map(
      ({ document: _document, models: _models, calls: _calls, trace: _trace, ...turn }): TurnView => turn,
    ),
    events: eventsIn(line),
    timers: timersOf(document),
    map: mapOf(line, lines),
    isBusy,
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
  const before = turns.slice(0, number - 1).findLast(({ document }) => document !== undefined)?.document
  const { document: after = before, trace: _trace, ...shown } = turn
  const frames = (after?.flow.frames ?? []) as readonly JsonValue[]
  return { ...shown, changes: changesOf(before, after), frames, ...(after && { usage: after.usage }) }
}

/** The events that the session takes now. */
function eventsIn({ flow, document, stored }: StudioLine): LineView['events'] {
  if (flow === undefined || document === undefined || stored.isReadOnly) return []
  const steps = listedSteps('studio', flow)
  const declared = new Map<string, readonly FlowEvent[]>()
  const declare = (owner: string, events: () => readonly FlowEvent[]): void => {
    try {
      declared.set(owner, events())
    } catch {
      // Its events need a turn.
    }
  }
  for (const { id, flow: owner } of flowsOf(steps)) declare(id || flow.id, () => owner.events())
  for (const { id, stepClass } of steps) {
    const step = new stepClass()
    const readState = (): object => document.flow.steps[id]?.state ?? step.initialState()
    LogicStep.attach(step, { readState, writeState: () => undefined }, id)
    declare(id, () => step.events())
  }
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
  const { flow, document } = line
  if (flow === undefined) return { steps: [], moves: [] }
  const sessions = line.stored.isReadOnly && document ? [document] : []
  const ofFlow = lines.filter((one) => one.flow === flow)
  // A fork has the turns of the earlier line too.
  const turns = ofFlow.flatMap((one) => one.turns.slice(one.stored.parent?.turn ?? 0))
  const [all] = diagramOf(flow, { coverage: coverageOfTurns(line, turns), sessions }).flows
  const [own] = diagramOf(flow, { coverage: coverageOfTurns(line, line.turns), sessions }).flows
  const path = new Set(
    own?.transitions.flatMap(({ from, to, kind, seen = 0 }) => (seen > 0 ? [keyOf(from, to, kind)] : [])),
  )
  return {
    steps: (all?.steps ?? []).map(({ seen = 0, ...step }) => ({ ...step, seen })),
    moves: (all?.transitions ?? []).map(({ seen = 0, ...move }) => {
      return { ...move, seen, isOnPath: path.has(keyOf(move.from, move.to, move.kind)) }
    }),
  }
}

function keyOf(...parts: readonly (string | undefined)[]): string {
  return JSON.stringify(parts)
}

/** What coverage counts of the recorded events of turns: it gets them as if from an engine. */
function coverageOfTurns({ flow }: StudioLine, turns: readonly StoredTurn[]): FlowCoverage {
  const coverage = coverageOf(flow as NonNullable<typeof flow>)
  const listeners = new Map<string, ((payload: object) => void)[]>()
  const on = (name: string, listener: (payload: object) => void): void =>
    void listeners.set(name, [...(listeners.get(name) ?? []), listener])
  coverage.watch({ on } as unknown as FlowEngine)
  for (const [name, payload] of turns.flatMap(({ trace }) => trace)) {
    for (const listener of listeners.get(name) ?? []) listener(payload)
  }
  return coverage
}

/** The turns of a stored session, as far as its history has them. */
export function turnsOf(document: SessionDocument): StoredTurn[] {
  const { length } = document.history
  return document.history.map((entry, index): StoredTurn => {
    const { message: text, event, attachments: _attachments, turn: number, id: _id, at, ...reply } = entry
    const input = { text, ...(event && { event, sender: 'application' as const }) }
    const nothing = { path: [entry.step], durationMs: 0, calls: [], models: [], trace: [] }
    const whole = index === length - 1 ? { document } : {}
    return { ...reply, ...nothing, input, number, at: Date.parse(at), ...whole }
  })
}
