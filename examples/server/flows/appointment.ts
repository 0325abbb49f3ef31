/**
 * Booking a repair at a bicycle workshop, in logic steps only. What to look at:
 *
 * - `Question` asks in the pass in which it is entered and reads the answer in the next turn (`turn.entered`).
 * - No step knows "the next step". An answered question goes to the first open question, so an answer can be corrected
 *   at any moment (`change day`) and the conversation continues where it was.
 * - Each step keeps its own answer in `state`; others read it with `turn.stateOf`.
 * - The booking carries a reference made from the session: booking twice is booking once.
 */
import { EndStep, Flow, finish, go, LogicStep, reply, type StepConstructor, type Turn } from 'turnkeeper'
import { dayName } from '../services/calendar.js'

const repairs: ReadonlyMap<string, number> = new Map([
  ['tune-up', 60],
  ['brakes', 35],
  ['new tyre', 25],
])

abstract class Question<State extends object> extends LogicStep<State> {
  /** The question; it may show the answer that is there already. */
  protected abstract ask(turn: Turn): string
  /** Keeps the answer, or returns what is wrong with it. */
  protected abstract take(answer: string, turn: Turn): string | undefined

  override run(turn: Turn) {
    if (turn.entered) return reply(this.ask(turn))
    const wish = elsewhere(turn)
    if (wish !== undefined) return go(wish)
    const problem = this.take(turn.message.trim(), turn)
    return problem === undefined ? go(firstOpen(turn)) : reply(`${problem} ${this.ask(turn)}`)
  }
}

export class ChooseRepair extends Question<{ repair?: string }> {
  static override readonly id = 'ChooseRepair'

  protected override ask() {
    const list = Array.from(repairs, ([repair, price]) => `${repair} (${price})`)
    return `What does your bicycle need: ${list.join(', ')}?`
  }

  protected override take(answer: string) {
    const repair = answer.toLowerCase()
    if (!repairs.has(repair)) return 'We do not offer that.'
    this.state.repair = repair
    return undefined
  }
}

export class ChooseDay extends Question<{ day?: string }> {
  static override readonly id = 'ChooseDay'

  protected override ask(turn: Turn) {
    const list = turn.services.calendar.openDays().map((day, index) => `${index + 1}. ${dayName(day)}`)
    return `On which day? ${list.join(', ')}. A number or a date will do.`
  }

  protected override take(answer: string, turn: Turn) {
    const days = turn.services.calendar.openDays()
    const day = days.find((candidate, index) => candidate === answer || String(index + 1) === answer)
    if (day === undefined) return 'That is none of the days we are open.'
    this.state.day = day
    // The time that was chosen for another day may be taken on this day.
    const chosen = turn.stateOf(ChooseTime)
    if (chosen.time !== undefined && !turn.services.calendar.freeTimes(day).includes(chosen.time)) delete chosen.time
    return undefined
  }
}

export class ChooseTime extends Question<{ time?: string }> {
  static override readonly id = 'ChooseTime'

  protected override ask(turn: Turn) {
    return `At what time? Free: ${this.#free(turn).join(', ')}.`
  }

  protected override take(answer: string, turn: Turn) {
    const time = answer.padStart(5, '0')
    if (!this.#free(turn).includes(time)) return 'That time is not free.'
    this.state.time = time
    return undefined
  }

  #free(turn: Turn): readonly string[] {
    return turn.services.calendar.freeTimes(turn.stateOf(ChooseDay).day ?? '')
  }
}

export class AskContact extends Question<{ name?: string; phone?: string }> {
  static override readonly id = 'AskContact'

  protected override ask() {
    return 'Your name and a phone number, with a comma between them?'
  }

  protected override take(answer: string) {
    const [name = '', phone = ''] = answer.split(',', 2).map((part) => part.trim())
    const digits = phone.replaceAll(/[\s()/-]/g, '')
    if (name.length < 2) return 'The name is missing.'
    if (!/^\+?\d{6,15}$/.test(digits)) return 'That is not a phone number.'
    this.state = { name, phone: digits }
    return undefined
  }
}

export class Confirm extends LogicStep {
  static override readonly id = 'Confirm'

  override run(turn: Turn) {
    if (turn.entered) {
      return reply(`${summary(turn)} Is that right? Answer yes, cancel, or "change" with repair, day, time or contact.`)
    }
    const wish = elsewhere(turn)
    if (wish !== undefined) return go(wish)
    if (turn.message.trim().toLowerCase() !== 'yes') return reply('Yes, cancel, or change what?')
    const { day = '' } = turn.stateOf(ChooseDay)
    const { time = '' } = turn.stateOf(ChooseTime)
    if (turn.services.calendar.book({ reference: reference(turn), day, time })) return finish()
    delete turn.stateOf(ChooseTime).time
    return go(ChooseTime).withReply('Somebody was quicker and took that time. Name another one, please.')
  }
}

/** `finish()` goes to the first end step of `steps()`. */
export class Booked extends EndStep {
  static override readonly id = 'Booked'
  override message(turn: Turn) {
    return `Booked, ${turn.stateOf(AskContact).name}: ${summary(turn)} Your reference is ${reference(turn)}.`
  }
}

export class Cancelled extends EndStep {
  static override readonly id = 'Cancelled'
  override message() {
    return 'Nothing was booked. Until another time.'
  }
}

export class Appointment extends Flow {
  static override readonly id = 'Appointment'
  override steps() {
    return [ChooseRepair, ChooseDay, ChooseTime, AskContact, Confirm, Booked, Cancelled]
  }
}

const corrections: ReadonlyMap<string, StepConstructor> = new Map<string, StepConstructor>([
  ['cancel', Cancelled],
  ['change repair', ChooseRepair],
  ['change day', ChooseDay],
  ['change time', ChooseTime],
  ['change contact', AskContact],
])

/** The step that the user wants to change. */
function elsewhere(turn: Turn): StepConstructor | undefined {
  const wish = corrections.get(turn.message.trim().toLowerCase())
  // A time belongs to a day: without a day there is no time to change.
  return wish === ChooseTime && turn.stateOf(ChooseDay).day === undefined ? ChooseDay : wish
}

function firstOpen(turn: Turn): StepConstructor {
  if (turn.stateOf(ChooseRepair).repair === undefined) return ChooseRepair
  if (turn.stateOf(ChooseDay).day === undefined) return ChooseDay
  if (turn.stateOf(ChooseTime).time === undefined) return ChooseTime
  if (turn.stateOf(AskContact).phone === undefined) return AskContact
  return Confirm
}

function summary(turn: Turn): string {
  const { repair } = turn.stateOf(ChooseRepair)
  const { day = '' } = turn.stateOf(ChooseDay)
  const { time } = turn.stateOf(ChooseTime)
  const { name, phone } = turn.stateOf(AskContact)
  return `${repair} on ${dayName(day)} at ${time}, for ${name}, ${phone}.`
}

function reference(turn: Turn): string {
  return `W-${turn.session.id.slice(0, 8)}`
}
