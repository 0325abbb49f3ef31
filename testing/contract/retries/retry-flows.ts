/** The flows that clients with keys talk to. */
import { rollingSummary } from '../../../src/compaction/index.js'
import {
  Flow,
  type FlowCompaction,
  type FlowConstructor,
  LogicStep,
  reply,
  type StepConstructor,
  type Turn,
} from '../../../src/index.js'
import { Listen, stepId, Talk } from '../storm/talk.js'

/** A step whose messages that are meant to fail do so most of the time, and not always. */
class ListenAtLast extends Listen {
  protected override fails(text: string): boolean {
    return super.fails(text) && Math.random() < 0.6
  }
}

/**
 * A turn that fails leaves the session as it was, and a repeat runs again. In `Talk` a turn that
 * fails aborts the session.
 */
export class RolledBackTalk extends Talk {
  static override readonly id: string = 'RolledBackTalk'
  static override readonly onTurnError: 'rollback' = 'rollback'
  override steps(): readonly StepConstructor[] {
    return [ListenAtLast]
  }
}

/** A model shortens the memory after every few turns, beside the next messages. */
export class SummarizedTalk extends RolledBackTalk {
  static override readonly id: string = 'SummarizedTalk'
  static override readonly compaction: FlowCompaction = {
    [stepId]: rollingSummary({ above: 12, keep: 4, model: { provider: 'echo', name: 'echo' } }),
  }
}

/** A message interrupts the one that runs. */
export class InterruptedTalk extends RolledBackTalk {
  static override readonly id: string = 'InterruptedTalk'
  static override readonly busy: 'interrupt' = 'interrupt'
}

/** What a message to {@link refundTalk} asks for: a refund by `turn.once`, or one without it. */
export type RefundWay = 'once' | 'bare'

/** The ID of {@link refundTalk}. */
export const refundTalkId = 'RefundTalk'

/**
 * A flow whose turns have a service refund something. The service counts.
 *
 * @param service - Its address.
 * @param pauseTurn - Holds the turn when the refund is made, and nothing of it is stored.
 */
export function refundTalk(service: string, pauseTurn: () => Promise<void>): FlowConstructor {
  class Order extends LogicStep {
    static override readonly id: string = 'Order'
    override async run(turn: Turn) {
      const [way, name = ''] = turn.message.split(' ') as [RefundWay, string]
      if (way === 'bare') return reply(await this.#refund(name, false))
      const text = await turn.once(`refund:${name}`, ({ uncertain }) => this.#refund(name, uncertain))
      return reply(text)
    }

    async #refund(name: string, mayBeDone: boolean): Promise<string> {
      const address = `${service}/refunds/${name}`
      const found = mayBeDone ? await fetch(address) : undefined
      if (found?.ok === true) return found.text()
      const text = await (await fetch(address, { method: 'POST' })).text()
      await pauseTurn()
      return text
    }
  }
  return class RefundTalk extends Flow {
    static override readonly id: string = refundTalkId
    override steps(): readonly StepConstructor[] {
      return [Order]
    }
  }
}
