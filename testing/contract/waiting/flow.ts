/** The flow of the simulation: a step with events and timers, one without, and a flow with both. */
import {
  event,
  Flow,
  type FlowEvent,
  finish,
  go,
  LogicStep,
  reply,
  type StepConstructor,
  type Turn,
} from '../../../src/index.js'

const hour = 3_600_000

/** When the clock sends each event, in milliseconds. No two of them come due at one moment. */
export const delays: Readonly<Record<'quiet' | 'remind' | 'nag' | 'expired', number>> = {
  quiet: 73 * hour,
  remind: 241 * hour,
  nag: 487 * hour,
  expired: 719 * hour,
}

/** Holds a message up in the middle of its turn. */
export interface Gate {
  wait: Promise<void>
}

class Ask extends LogicStep<{ reminded: number }> {
  static override readonly id = 'Ask'
  override initialState() {
    return { reminded: 0 }
  }
  override events() {
    return [
      event({
        name: 'decision',
        input: approval,
        execute: ({ approved }) => (approved ? go(Rest) : reply('declined')),
      }),
      event({
        name: 'remind',
        after: delays.remind,
        execute: (_, turn) => {
          this.state.reminded++
          if (this.state.reminded < 3) turn.setTimer('remind', delays.remind)
        },
      }),
      event({ name: 'nag', after: delays.nag, execute: () => Promise.reject(new Error('nag')) }),
      event({ name: 'expired', after: delays.expired, execute: () => finish('expired') }),
    ]
  }
  override run(turn: Turn) {
    return said(turn, 'asked')
  }
}

class Rest extends LogicStep {
  static override readonly id = 'Rest'
  override run(turn: Turn) {
    return said(turn, 'resting')
  }
}

async function said({ message, entered, services }: Turn, text: string) {
  if (entered) return reply(text)
  await (services as Gate).wait
  if (message === 'ask') return go(Ask)
  if (message === 'rest') return go(Rest)
  if (message === 'fail') throw new Error('fail')
  return message === 'end' ? finish('bye') : reply(`${text} ${message}`)
}

/** The schema of the payload `{ approved: boolean }`. */
const approval = {
  '~standard': {
    version: 1,
    vendor: 'test',
    validate: (value: unknown) => {
      const { approved } = (value ?? {}) as { approved?: unknown }
      return typeof approved === 'boolean' ? { value: { approved } } : { issues: [{ message: 'no decision' }] }
    },
    types: undefined as unknown as { readonly input: { approved: boolean }; readonly output: { approved: boolean } },
  },
} as const

export class Waiting extends Flow {
  static override readonly id = 'Waiting'
  override steps(): readonly StepConstructor[] {
    return [Ask, Rest]
  }
  override events(): readonly FlowEvent[] {
    return [
      event({ name: 'ping', execute: () => reply('pong') }),
      event({ name: 'quiet', silence: delays.quiet, execute: () => undefined }),
    ]
  }
}
