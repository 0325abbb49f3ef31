/**
 * Booking a repair at a bicycle workshop: a form, without a model. What to look at:
 *
 * - `fields()` lists the questions. The user may correct any answer at any moment: `change day`, `change name to Ada`.
 * - Schemas, which are made once, read what users write, such as `9:00`. `check` asks the calendar, which changes.
 * - A time needs its day: if the day changes, the form checks the time again, and asks for another if it is taken.
 * - The booking carries a reference made from the session: booking twice is booking once.
 * - `form` gives a page all fields at once. What it sends is checked like what users say.
 */
import { EndStep, Flow, go, reply, type Turn } from 'turnkeeper'
import { FormStep, type FormValues, field } from 'turnkeeper/forms'
import { z } from 'zod'
import { dayName } from '../services/calendar.js'

const Repair = z.enum(['tune-up', 'brakes', 'new tyre'], 'We do not offer that.')
const Day = z.string()
const Time = z.string().transform((time) => time.padStart(5, '0'))
const Name = z.string().min(2, 'The name is missing.')
const Phone = z
  .string()
  .transform((phone) => phone.replaceAll(/[\s()/-]/g, ''))
  .refine((digits) => /^\+?\d{6,15}$/.test(digits), 'That is not a phone number.')

export class Booking extends FormStep {
  static override readonly id = 'Booking'

  override fields({ services: { calendar } }: Turn) {
    const days = calendar.openDays()
    const list = days.map((day, index) => `${index + 1}. ${dayName(day)}`).join(', ')
    return {
      repair: field(Repair, { ask: 'What does your bicycle need: tune-up (60), brakes (35), new tyre (25)?' }),
      day: field(Day, {
        ask: `On which day? ${list}. A number or a date will do.`,
        choices: days.map((day) => ({ value: day, label: dayName(day) })),
        check: (day) => days.includes(day) || 'That is none of the days we are open.',
      }),
      time: field(Time, {
        needs: ['day'],
        ask: ({ day }) => `At what time? Free: ${calendar.freeTimes(day).join(', ')}.`,
        choices: ({ day }) => calendar.freeTimes(day),
        check: (time, { day }) => calendar.freeTimes(day).includes(time) || 'That time is not free.',
      }),
      name: field(Name, { ask: 'Your name?' }),
      phone: field(Phone, { ask: 'A phone number?' }),
    }
  }

  override async run(turn: Turn) {
    if (turn.message.trim().toLowerCase() !== 'form') return super.run(turn)
    return reply('Please fill in the form.').withParts([await this.asPart(turn)])
  }

  override review(values: FormValues<Booking>) {
    return `${summary(values)} Is that right? Say yes, cancel, or "change" with repair, day, time, name or phone.`
  }

  override done(values: FormValues<Booking>, turn: Turn) {
    const { day, time, name } = values
    const reference = `W-${turn.session.id.slice(0, 8)}`
    const isBooked = turn.services.calendar.book({ reference, day, time })
    if (!isBooked) return this.askAgain('time', 'Somebody was quicker and took that time.', turn)
    return go(Booked).withReply(`Booked, ${name}: ${summary(values)} Your reference is ${reference}.`)
  }
}

function summary({ repair, day, time, name, phone }: FormValues<Booking>): string {
  return `${repair} on ${dayName(day)} at ${time}, for ${name}, ${phone}.`
}

export class Booked extends EndStep {
  static override readonly id = 'Booked'
}

export class Cancelled extends EndStep {
  static override readonly id = 'Cancelled'
}

export class Appointment extends Flow {
  static override readonly id = 'Appointment'
  override steps() {
    return [Booking, Booked, Cancelled]
  }
  override onMessage({ message }: Turn) {
    if (message.trim().toLowerCase() !== 'cancel') return undefined
    return go(Cancelled).withReply('Nothing was booked. Until another time.')
  }
}
