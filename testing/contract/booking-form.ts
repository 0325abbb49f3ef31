// A form of five fields in a flow, for tests of the harness.
import { z } from 'zod'
import { type Field, FormStep, type FormValues, field } from '../../src/forms/index.js'
import {
  Flow,
  finish,
  go,
  LogicStep,
  reply,
  type StepConstructor,
  type Transition,
  type Turn,
} from '../../src/index.js'

const free: Readonly<Record<string, readonly string[]>> = { Tuesday: ['9', '10'], Friday: ['10', '11'] }

const Repair = z.enum(['tune-up', 'brakes'])
const Day = z.string().refine((day) => Object.hasOwn(free, day), 'We are closed that day.')
const Text = z.string()
const Bicycles = z.number('How many, as a number?').int().min(1)

interface BookingFields {
  readonly repair: Field<'tune-up' | 'brakes', never, false>
  readonly day: Field<string, never, false>
  readonly time: Field<string, 'day', false>
  readonly bicycles: Field<number, never, false>
  readonly phone: Field<string, never, true>
}

export class Booking extends FormStep {
  static override readonly id: string = 'Booking'
  override fields(_turn?: Turn): BookingFields & Readonly<Record<string, Field>> {
    return {
      repair: field(Repair, { ask: 'What does your bicycle need?' }),
      day: field(Day, { ask: 'Which day, Tuesday or Friday?' }),
      time: field(Text, {
        needs: ['day'],
        ask: ({ day }) => `When? ${free[day]?.join(', ')}.`,
        check: (time, { day }) => free[day]?.includes(time) || `${time} is not free.`,
      }),
      bicycles: field(Bicycles, { ask: 'How many?', label: 'number of bicycles' }),
      phone: field(Text, { ask: 'A phone number? Or skip.', optional: true }),
    }
  }
  override done({ day, time }: FormValues<Booking>): Transition | Promise<Transition> {
    return finish(`Booked: ${day} at ${time}.`)
  }
}

export class Welcome extends LogicStep {
  static override readonly id: string = 'Welcome'
  override run(turn: Turn): Transition {
    return turn.message === 'book' ? go(Booking) : reply('Say book.')
  }
}

/** The form comes first. */
export class Desk extends Flow {
  static override readonly id: string = 'Desk'
  override steps(): readonly StepConstructor[] {
    return [Booking]
  }
}

/** The form comes after another step. */
export class Shop extends Flow {
  static override readonly id: string = 'Shop'
  override steps(): readonly StepConstructor[] {
    return [Welcome, Booking]
  }
}

/** What a user says for each field. */
export const answers: Readonly<Record<keyof BookingFields, string | number | undefined>> = {
  repair: 'brakes',
  day: 'Friday',
  time: '11',
  bicycles: 2,
  phone: undefined,
}
