// The flows whose mistakes `failure-messages.test.ts` provokes: one that is right, and one with a bug for each message.
import { z } from 'zod'
import { rollingSummary } from '../../../src/compaction/index.js'
import {
  Flow,
  type FlowCompaction,
  finish,
  go,
  LogicStep,
  type ModelSelection,
  reply,
  Step,
  type StepConstructor,
  stay,
  type Tool,
  type Transition,
  type Turn,
  tool,
} from '../../../src/index.js'

const never: Promise<never> = new Promise<never>(() => undefined)

/** Finds a table, and books it. */
export class Find extends Step<{ guests?: number; names?: string[] }> {
  static override readonly id = 'Find'
  override prompt() {
    return 'Find a table with find_table, then call choose.'
  }
  override tools(): readonly Tool[] {
    return [
      tool({
        name: 'find_table',
        description: 'Looks for a free table.',
        input: z.object({ day: z.string() }),
        execute: ({ day }) => {
          if (day === 'Monday') throw new Error('We are closed on Mondays.')
          return { free: 2 }
        },
      }),
      tool({
        name: 'choose',
        description: 'Takes the table.',
        input: z.object({ guests: z.number(), names: z.array(z.string()).optional() }),
        execute: ({ guests, names }) => {
          if (guests > 8) return stay('There is no table for so many.')
          this.state.guests = guests
          if (names !== undefined) this.state.names = names
          return go(Confirm)
        },
      }),
    ]
  }
}

/** Asks whether to book, and books once. */
export class Confirm extends LogicStep {
  static override readonly id = 'Confirm'
  override async run(turn: Turn): Promise<Transition> {
    if (turn.entered) return reply('Shall I book it?')
    if (turn.message === 'no') return go(Find).withReply('Which one then?')
    return finish(await turn.once('payment', () => 'It is booked.'))
  }
}

/** The flow that is right. */
export class Booking extends Flow {
  static override readonly id: string = 'Booking'
  override model(): ModelSelection {
    return { provider: 'openai', name: 'gpt-5-mini' }
  }
  override steps(): readonly StepConstructor[] {
    return [Find, Confirm]
  }
}

function priceOf(table: string): number {
  throw new Error(`no such table: ${table}`)
}

const bugs: Readonly<Record<string, (turn: Turn, step: { state: { at?: unknown } }) => unknown>> = {
  throws: () => priceOf('7'),
  caused: () => {
    throw new Error('The plan is missing.', { cause: new Error('plan.json is empty') })
  },
  text: () => {
    throw 'out of paper'
  },
  nothing: () => undefined,
  'a date': (_turn, step) => {
    step.state.at = new Date(0)
    return reply('Done.')
  },
  away: () => go('Nowhere'),
  round: () => go(Act),
  'no name': (turn) => turn.once('', () => 1),
  'other state': (turn) => turn.stateOf(Find),
  wait: () => never,
}

/** Does what the message says. */
class Act extends LogicStep<{ at?: unknown }> {
  static override readonly id = 'Act'
  override async run(turn: Turn): Promise<Transition> {
    const bug = bugs[turn.message]
    if (bug === undefined) return reply('Done.')
    return (await bug(turn, this)) as Transition
  }
}

/** The flow with the bugs. */
export class Faulty extends Flow {
  static override readonly id = 'Faulty'
  override steps(): readonly StepConstructor[] {
    return [Act]
  }
}

/** A step whose prompt has a bug. */
class Prompting extends Step {
  static override readonly id = 'Prompting'
  override prompt(turn: Turn): string {
    return turn.message === 'crash' ? String(priceOf('9')) : 'Answer.'
  }
}

/** The flow of it. */
export class Prompted extends Booking {
  static override readonly id: string = 'Prompted'
  override steps(): readonly StepConstructor[] {
    return [Prompting]
  }
}

/** The first flow, with a memory that is kept short. */
export class Summarized extends Booking {
  static override readonly id: string = 'Summarized'
  static override readonly compaction: FlowCompaction = {
    Find: rollingSummary({ above: 3, keep: 1, model: { provider: 'openai', name: 'gpt-5-nano' } }),
  }
}
