/**
 * Four flows within each other, for the simulation. Their steps and hooks do what the message or the payload says, one
 * command after the other: `call Hours; set; back 3`. If no command is left, a step replies with its ID and state.
 */
import {
  back,
  call,
  event,
  Flow,
  type FlowConstructor,
  type FlowEvent,
  finish,
  go,
  LogicStep,
  reply,
  type StepConstructor,
  type Transition,
  type Turn,
} from '../../../src/index.js'

const hour = 3_600_000

/** What each flow lists. `Note` is in two of them. */
export const tree: Readonly<Record<string, readonly string[]>> = {
  Shop: ['Chat', 'Hours', 'Note', 'Address'],
  Address: ['Street', 'Town', 'Region'],
  Region: ['Land', 'City', 'Note', 'Zone'],
  Zone: ['Spot', 'Pin'],
}

/** The steps and flows that take an event with their name, and a script as its payload. */
export const takers: readonly string[] = ['Hours', 'Street', 'City', 'Spot', 'Address', 'Zone', 'Shop']

/** The steps with an event `tick` of the clock: after how long, and what it does. */
export const ticks: Readonly<Record<string, { readonly after: number; readonly script: string }>> = {
  Hours: { after: 31 * hour, script: 'set; back late +reply' },
  Street: { after: 53 * hour, script: 'set; timer 71; say tick' },
  City: { after: 47 * hour, script: 'go Land' },
  Pin: { after: 61 * hour, script: 'call Hours +lead' },
}

/** The flow with an event `quiet` of silence, and its milliseconds. */
export const quiet: { readonly flow: string; readonly ms: number } = { flow: 'Region', ms: 97 * hour }

/** The delay of the command `timer 5`; `undefined` ends the timer. */
export const hours = (count: string): number | undefined => (count === 'off' ? undefined : Number(count) * hour)

/** Does the first commands that are left, up to a transition; `undefined` if there is none. */
function decide(turn: Turn, step?: LogicStep<{ n: number }>): Transition | undefined {
  const script = scriptOf(turn)
  for (let command = script.shift(); command !== undefined; command = script.shift()) {
    const [verb, word = ''] = command.replace(/^(!|@\w+) ?/, '').split(' ')
    if (verb === 'set') {
      if (step !== undefined) step.state.n++
    } else if (verb === 'timer') {
      if (step !== undefined) turn.setTimer('tick', hours(word))
    } else return transitionOf(verb as string, word, command)
  }
  return undefined
}

function transitionOf(verb: string, word: string, command: string): Transition {
  if (verb === 'fail') throw new Error('fail')
  if (verb === 'say') return reply(word)
  if (verb === 'silent') return reply()
  if (verb === 'finish') return word === '' ? finish() : finish(word)
  let moving: Transition = verb === 'back' ? back(word) : verb === 'call' ? call(word) : go(word)
  if (command.includes('+lead')) moving = moving.withLead('L')
  if (command.includes('+reply')) moving = moving.withReply('R')
  return command.includes('+md') ? moving.withContentType('text/markdown') : moving
}

/** The commands of the turn that are left. */
function scriptOf(turn: Turn): string[] {
  const { transient } = turn
  if (!transient.has('script')) transient.set('script', turn.message.split('; '))
  return transient.get('script') as string[]
}

/** Has an event do a script. */
function play(turn: Turn, script: string, step?: LogicStep<{ n: number }>): Transition | undefined {
  turn.transient.set('script', script.split('; '))
  return decide(turn, step)
}

function stepOf(id: string): StepConstructor {
  return class extends LogicStep<{ n: number }> {
    static override readonly id = id
    override initialState() {
      return { n: 0 }
    }
    override events(): readonly FlowEvent[] {
      const own = event({ name: id, input: text, byUser: true, execute: (script, turn) => play(turn, script, this) })
      const { after, script } = ticks[id] ?? { after: 0, script: '' }
      const tick = (): FlowEvent => event({ name: 'tick', after, execute: (_, turn) => play(turn, script, this) })
      return [...(takers.includes(id) ? [own] : []), ...(after > 0 ? [tick()] : [])]
    }
    override onEnter(turn: Turn) {
      return scriptOf(turn)[0]?.startsWith('!') ? decide(turn, this) : undefined
    }
    override run(turn: Turn) {
      const { from, value } = turn.returned ?? {}
      return decide(turn, this) ?? reply(`${turn.step} ${this.state.n} ${from ?? ''} ${value ?? ''}`)
    }
  }
}

function flowOf(id: string): FlowConstructor {
  const listed = (tree[id] as readonly string[]).map((name) => (name in tree ? flowOf(name) : stepOf(name)))
  return class extends Flow {
    static override readonly id = id
    override steps() {
      return listed
    }
    override events(): readonly FlowEvent[] {
      const own = event({ name: id, input: text, byUser: true, execute: (script, turn) => play(turn, script) })
      const silent = event({ name: 'quiet', silence: quiet.ms, execute: () => undefined })
      return [...(takers.includes(id) ? [own] : []), ...(id === quiet.flow ? [silent] : [])]
    }
    override onMessage(turn: Turn) {
      return scriptOf(turn)[0]?.startsWith(`@${id} `) ? decide(turn) : undefined
    }
  }
}

/** The schema of a text. */
const text = {
  '~standard': {
    version: 1,
    vendor: 'test',
    validate: (value: unknown) => (typeof value === 'string' ? { value } : { issues: [{ message: 'no text' }] }),
    types: undefined as unknown as { readonly input: string; readonly output: string },
  },
} as const

export const Shop: FlowConstructor = flowOf('Shop')
