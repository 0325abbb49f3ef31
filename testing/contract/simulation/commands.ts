/**
 * What may happen to two engines and their store, one thing after another: each command does it to the real ones and to
 * the reference model, and compares the answer and everything that is stored.
 */
import fc from 'fast-check'
import { expect } from 'vitest'
import type { FlowRunInput, FlowStream } from '../../../src/index.js'
import { photoOf } from './flows.js'
import type { FlowName, Verb } from './model-types.js'
import {
  type Command,
  compare,
  idOf,
  OutsideCommand,
  RestartCommand,
  SetClockCommand,
  type Target,
} from './other-commands.js'
import { readTurn } from './read-turn.js'
import { type Fault, type Interference, type ReferenceModel, turnTimeoutMs } from './reference-model.js'
import { type SeatIndex, settle, type World } from './world.js'

interface TurnPlan {
  readonly seat: SeatIndex
  readonly flow: FlowName
  readonly verb: Verb
  readonly target: Target
  readonly owner: string | undefined
  readonly hasConfig: boolean
  readonly hasPhoto: boolean
  /** Whether it is read as a stream. A client that cancels then leaves. */
  readonly isStreamed: boolean
  readonly interference: Interference
  /** How far the wall clock is set in the middle of its flow code. */
  readonly clockMs: number
  readonly faults: readonly Fault[]
}

class TurnCommand implements Command {
  readonly plan: TurnPlan

  constructor(plan: TurnPlan) {
    this.plan = plan
  }

  check(): boolean {
    return true
  }

  async run(model: ReferenceModel, world: World): Promise<void> {
    const { seat, flow, verb, target, owner, hasConfig, hasPhoto, isStreamed, interference, clockMs, faults } =
      this.plan
    const { engine, store, unknownSession } = world.seats[seat]
    const token = world.nextToken()
    const message = `${verb} ${token}`
    const config = hasConfig ? { theme: token } : undefined
    const photo = hasPhoto ? photoOf(token) : undefined
    const sessionId = idOf(target, world)
    const issuedBefore = world.issued.length
    const client = new AbortController()
    let stream: FlowStream | undefined
    let left: Promise<unknown> | undefined
    world.probes.set(token, async () => {
      world.clock.shiftWallTime(clockMs)
      if (interference === 'timeout' || interference === 'hang') world.clock.jump(turnTimeoutMs)
      if (interference === 'hang') return new Promise(() => undefined)
      if (interference === 'cancel' && isStreamed) left = stream?.return()
      else if (interference === 'cancel') client.abort()
      else await world.disturb(world.issued[issuedBefore] ?? sessionId ?? '', interference)
    })
    for (const fault of faults) store.inject(fault)
    let turnId = ''
    world.onTurn = (id) => {
      turnId = id
    }
    const input: FlowRunInput = {
      flowName: flow,
      userMessage: message,
      signal: client.signal,
      ...(sessionId === undefined ? {} : { sessionId }),
      ...(owner === undefined ? {} : { owner }),
      ...(config === undefined ? {} : { config }),
      ...(photo === undefined ? {} : { attachments: [{ type: 'image', mediaType: 'image/png', data: photo }] }),
    }
    if (isStreamed) stream = engine.stream(input)
    const answer = await (stream === undefined ? engine.execute(input) : readTurn(stream))
    await left
    // The faults are for its summary, too.
    await engine.settled()
    await settle()
    store.heal()
    const newId = world.issued[issuedBefore]
    const call = { flow, message, photo, sessionId, owner, config, newId, turnId, unknownSession, interference, faults }
    const expected = model.run(call)
    expect(answer === undefined).toBe(left !== undefined)
    // A client that disconnected gets no answer. What is stored must be right nevertheless.
    const { sessionState, restarted, ...outcome } = expected
    const { response, error, ...rest } = answer ?? { response: outcome, error: expected, sessionState, restarted }
    const { sessionState: state, restarted: reason } = rest
    expect({ ...response, code: error?.code, sessionState: state, restarted: reason }).toEqual(expected)
    if (answer !== undefined)
      expect(Object.keys(response).sort()).toEqual(['completed', 'contentType', 'message', 'session', 'success'])
    await compare(model, world)
    // What an aborted turn still does comes too late to count.
    await settle()
    await compare(model, world)
  }

  toString(): string {
    return `turn(${fc.stringify(this.plan)})`
  }
}

interface DeletePlan {
  readonly seat: SeatIndex
  readonly target: Target
  readonly owner: string | undefined | 'any'
  readonly faults: readonly Fault[]
}

class DeleteCommand implements Command {
  readonly plan: DeletePlan

  constructor(plan: DeletePlan) {
    this.plan = plan
  }

  check(): boolean {
    return true
  }

  async run(model: ReferenceModel, world: World): Promise<void> {
    const { seat, target, owner, faults } = this.plan
    const { engine, store } = world.seats[seat]
    const sessionId = idOf(target, world) ?? ''
    for (const fault of faults) store.inject(fault)
    const options = owner === 'any' ? undefined : owner === undefined ? {} : { owner }
    const { result, error } = await engine.executeDelete(sessionId, options)
    store.heal()
    const failure = model.delete(sessionId, owner, faults)
    const success = failure === undefined
    expect(result).toEqual(
      success ? { success, session: sessionId } : { success, message: failure.message, session: sessionId },
    )
    expect(error?.code).toBe(failure?.code)
    await compare(model, world)
  }

  toString(): string {
    return `delete(${fc.stringify(this.plan)})`
  }
}

const hour = 3_600_000
const clockMs: fc.Arbitrary<number> = fc.constantFrom(-24 * hour, -hour, -1_000, 1_000, hour, 24 * hour)
const seat: fc.Arbitrary<SeatIndex> = fc.constantFrom<SeatIndex>(0, 1)
const flow: fc.Arbitrary<FlowName> = fc.constantFrom<FlowName>('Notes', 'Ledger', 'Talk')
const target: fc.Arbitrary<Target> = fc.oneof(
  { weight: 12, arbitrary: fc.constantFrom(0, 0, 1) },
  { weight: 3, arbitrary: fc.nat({ max: 5 }) },
  { weight: 2, arbitrary: fc.constant('new' as const) },
  { weight: 1, arbitrary: fc.constant('unheard-of' as const) },
)
const owner: fc.Arbitrary<string | undefined> = fc.constantFrom(undefined, undefined, undefined, undefined, 'ann')
const fault: fc.Arbitrary<Fault> = fc.record({
  operation: fc.constantFrom('load', 'create', 'save', 'save', 'delete'),
  effect: fc.constantFrom('fail-before', 'fail-after'),
  nth: fc.constantFrom(1, 1, 1, 2),
  times: fc.constantFrom(1, 2, 3, Number.POSITIVE_INFINITY),
})
const faults: fc.Arbitrary<Fault[]> = fc.oneof(
  { weight: 2, arbitrary: fc.constant<Fault[]>([]) },
  {
    weight: 1,
    arbitrary: fc.uniqueArray(fault, {
      minLength: 1,
      maxLength: 2,
      selector: ({ operation }) => operation,
      size: 'max',
    }),
  },
)
const none = fc.constant('none' as const)
const interference = fc.constantFrom<Interference>('write', 'malform', 'remove', 'timeout', 'hang', 'cancel')
const calmVerb = fc.constantFrom<Verb>('say', 'say', 'csv', 'sheet', 'move', 'move')
const anyVerb = fc.constantFrom<Verb>('say', 'say', 'say', 'csv', 'sheet', 'move', 'move', 'end', 'boom')
const photo = fc.constantFrom(false, false, false, true)

function turnWhere(isCalm: boolean): fc.Arbitrary<Omit<TurnPlan, 'flow'>> {
  const trouble = isCalm ? 1 : 6
  return fc.record({
    seat,
    verb: fc.oneof({ weight: 7, arbitrary: calmVerb }, { weight: trouble, arbitrary: anyVerb }),
    target: isCalm
      ? fc.oneof({ weight: 9, arbitrary: fc.constant<Target>(0) }, { weight: 1, arbitrary: target })
      : target,
    owner: isCalm ? fc.constant(undefined) : owner,
    hasConfig: fc.boolean(),
    hasPhoto: photo,
    isStreamed: fc.boolean(),
    interference: fc.oneof({ weight: 14, arbitrary: none }, { weight: trouble, arbitrary: interference }),
    clockMs: fc.oneof({ weight: 4, arbitrary: fc.constant(0) }, { weight: 1, arbitrary: clockMs }),
    faults: isCalm
      ? fc.oneof({ weight: 9, arbitrary: fc.constant<Fault[]>([]) }, { weight: 1, arbitrary: faults })
      : faults,
  })
}

/** How many turns there are for each command of another kind. */
const turnsToOthers = 4

/**
 * Up to twenty commands in a row, most of them turns of one flow. In calm runs little else
 * happens, so that sessions grow.
 */
export const commands: fc.Arbitrary<Iterable<Command>> = fc.tuple(flow, fc.boolean()).chain(([usual, isCalm]) => {
  const flowOfTurn = fc.oneof(
    { weight: isCalm ? 40 : 5, arbitrary: fc.constant(usual) },
    { weight: 1, arbitrary: flow },
  )
  const turn = fc
    .tuple(turnWhere(isCalm), flowOfTurn)
    .map(([plan, flow]): Command => new TurnCommand({ ...plan, flow }))
  const others: fc.Arbitrary<Command>[] = [
    fc
      .record({ seat, target, owner: fc.oneof(fc.constant('any' as const), owner), faults })
      .map((plan) => new DeleteCommand(plan)),
    fc
      .tuple(target, fc.constantFrom<Interference>('write', 'malform', 'remove'))
      .map((fields) => new OutsideCommand(...fields)),
    seat.map((index) => new RestartCommand(index)),
    clockMs.map((ms) => new SetClockCommand(ms)),
  ]
  const turns = Array.from({ length: isCalm ? 10 * turnsToOthers : turnsToOthers }, () => turn)
  return fc.commands([...turns, ...others], { maxCommands: 20, size: 'max' })
})
