/** What may happen between two turns, what every command compares, and which session it is about. */
import fc from 'fast-check'
import { expect } from 'vitest'
import { viewOf } from './model-session.js'
import type { Interference, ReferenceModel } from './reference-model.js'
import type { SeatIndex, World } from './world.js'

export type Command = fc.AsyncCommand<ReferenceModel, World>

/**
 * Which session: a new one, one of those issued so far (also a deleted one) counted from the newest, or an ID that was
 * never issued.
 */
export type Target = 'new' | 'unheard-of' | number

export function idOf(target: Target, { issued }: World): string | undefined {
  if (target === 'new') return undefined
  if (target === 'unheard-of' || issued.length === 0) return 'unheard-of'
  return issued.at(-1 - (target % issued.length))
}

/** Everything that must hold between two commands. */
export async function compare(model: ReferenceModel, world: World): Promise<void> {
  const stored = new Map()
  for (const id of world.backing.keys()) {
    const document = await world.outsider.load(id)
    if (document !== undefined) stored.set(id, viewOf(document))
  }
  expect(stored).toEqual(model.sessions)
  expect(world.clock.pending).toBe(0)
  for (const { engine } of world.seats) expect(engine.getFlowSession().locked).toBe(0)
}

/** Another process writes to the store, between two turns. */
export class OutsideCommand implements Command {
  readonly target: Target
  readonly how: Interference

  constructor(target: Target, how: Interference) {
    this.target = target
    this.how = how
  }

  check(): boolean {
    return true
  }

  async run(model: ReferenceModel, world: World): Promise<void> {
    const sessionId = idOf(this.target, world) ?? 'unheard-of'
    await world.disturb(sessionId, this.how)
    model.disturb(sessionId, this.how)
    await compare(model, world)
  }

  toString(): string {
    return `outside(${fc.stringify(this.target)}, ${this.how})`
  }
}

export class RestartCommand implements Command {
  readonly seat: SeatIndex

  constructor(seat: SeatIndex) {
    this.seat = seat
  }

  check(): boolean {
    return true
  }

  async run(model: ReferenceModel, world: World): Promise<void> {
    await world.restart(this.seat)
    await compare(model, world)
  }

  toString(): string {
    return `restart(${this.seat})`
  }
}

/** Somebody sets the wall clock, between two turns. */
export class SetClockCommand implements Command {
  readonly ms: number

  constructor(ms: number) {
    this.ms = ms
  }

  check(): boolean {
    return true
  }

  async run(model: ReferenceModel, world: World): Promise<void> {
    world.clock.shiftWallTime(this.ms)
    await compare(model, world)
  }

  toString(): string {
    return `setClock(${this.ms})`
  }
}
