/** A memory store whose operations wait at gates, so that a schedule decides how far the turns get. */
import { MemorySessionStore, type SessionDocument } from '../../../src/index.js'
import { VirtualClock } from '../../index.js'
import { type Gate, gate } from '../engine-harness.js'

/** Waits until all of `gates` are opened. */
export function waitAt(gates: Gate[]): Promise<void> {
  const one = gate()
  gates.push(one)
  return one.opened
}

export function openAll(gates: Gate[]): void {
  for (const one of gates.splice(0)) one.open()
}

/** One turn of the event loop: by then every chain of settled promises has run. */
export const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

export class GatedStore extends MemorySessionStore {
  /** The session whose operations wait. */
  gated: string | 'every' | undefined
  readonly claims: Gate[] = []
  readonly loads: Gate[] = []
  readonly saves: Gate[] = []
  readonly clock: VirtualClock

  /** @param backing - Two stores over one are two processes. */
  constructor(backing?: MemorySessionStore['backing'], clock: VirtualClock = new VirtualClock()) {
    super(backing === undefined ? { clock } : { clock, backing })
    this.clock = clock
  }

  override async claim(...args: Parameters<MemorySessionStore['claim']>): Promise<string> {
    if (this.gated === 'every') await waitAt(this.claims)
    return super.claim(...args)
  }

  override async load(sessionId: string): Promise<SessionDocument | undefined> {
    if (this.#waits(sessionId)) await waitAt(this.loads)
    return super.load(sessionId)
  }

  override async create(...args: Parameters<MemorySessionStore['create']>): Promise<void> {
    if (this.#waits(args[0].id)) await waitAt(this.saves)
    return super.create(...args)
  }

  override async save(...args: Parameters<MemorySessionStore['save']>): Promise<void> {
    if (this.#waits(args[0].id)) await waitAt(this.saves)
    return super.save(...args)
  }

  #waits(sessionId: string): boolean {
    return this.gated === 'every' || this.gated === sessionId
  }
}
