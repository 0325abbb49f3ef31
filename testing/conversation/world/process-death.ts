/**
 * The death of a conversation's process just after an effect: what it would write from then on is lost, and so is its
 * reply.
 */
import type { ExecuteResult, FlowRunInput, SendEventInput } from '../../../src/index.js'
import type { FakeSessionStore } from '../../fake-session-store/fake-session-store.js'
import type { TurnEnd } from '../turns/conversation-turn.js'
import type { DeathBefore, EffectLog } from './effect-log.js'

/** When the current process dies, and whether it has. */
export class ProcessDeath {
  readonly #effects: EffectLog
  /** Fires when the process dies; `undefined` if it is not to die. */
  #deathSignal: AbortController | undefined
  #diedAfter: string | undefined

  constructor(effects: EffectLog) {
    this.#effects = effects
  }

  /** The effect after which the process died; `undefined` while it lives. */
  get diedAfter(): string | undefined {
    return this.#diedAfter
  }

  /**
   * Has the process die after the next run of an effect.
   *
   * @param storeOf - Its store at that time.
   */
  prepare(name: string, before: DeathBefore, storeOf: () => FakeSessionStore | undefined): void {
    const die = (): void => {
      this.#diedAfter = name
      const store = storeOf()
      // A fault that was prepared earlier could let a write pass.
      store?.heal()
      store?.outage()
      this.#deathSignal?.abort()
    }
    this.#effects.dieAfter({ name, before, die })
  }

  /** An input whose turn ends with the process, if it is to die. */
  withDeathSignal<Input extends FlowRunInput | SendEventInput>(input: Input): Input {
    if (this.#effects.awaited === undefined) return input
    this.#deathSignal ??= new AbortController()
    const { signal } = this.#deathSignal
    return { ...input, signal: input.signal === undefined ? signal : AbortSignal.any([input.signal, signal]) }
  }

  /** Settles like `work`; resolves to `undefined` if the process dies before. */
  async unlessDead<T>(work: Promise<T>): Promise<T | undefined> {
    if (this.#effects.awaited === undefined) return work
    this.#deathSignal ??= new AbortController()
    const { signal } = this.#deathSignal
    const death = new Promise<undefined>((resolve) => {
      signal.addEventListener('abort', () => resolve(undefined), { once: true })
    })
    return Promise.race([work, death])
  }

  /** How a turn ended for its client, who gets no reply of a process that has died. */
  endOf({ response, ...more }: ExecuteResult): TurnEnd {
    const diedAfter = this.#diedAfter
    if (diedAfter !== undefined) return { session: '', stoppedAfter: '', diedAfter }
    return { reply: { ...response, ...more } }
  }

  /**
   * A new process takes the place of the one that died. Returns the effect after which it died; `undefined` if it
   * lives.
   */
  forget(): string | undefined {
    const name = this.#diedAfter
    if (name !== undefined) this.#deathSignal = undefined
    this.#diedAfter = undefined
    return name
  }
}
