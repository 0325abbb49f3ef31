/**
 * Forms for tests: an appointment for a bicycle, of five fields, by text and by model, with a new calendar for each test,
 * and forms of any fields in a line. It asserts nothing.
 */
import { z } from 'zod'
import {
  type FormFields,
  type FormState,
  FormStep,
  type FormValues,
  type FormWords,
  field,
  ModelFormStep,
} from '../../../src/forms/index.js'
import {
  type Awaitable,
  Flow,
  type FlowConstructor,
  finish,
  type JsonValue,
  type StepConstructor,
  type Transition,
  type Turn,
} from '../../../src/index.js'
import type { Conversation, ConversationReply } from '../../index.js'
import { flow } from '../side-flows/talk.js'

/** The free times by day. A day that is not there is closed. */
export type Calendar = Record<string, string[]>

/** What `done` was called with, in order. */
export type Booked = Readonly<Record<string, unknown>>[]

const repair = z.enum(['tune-up', 'brakes', 'new tyre'])
const day = z.string().regex(/day$/, 'That is no day.')
const time = z.string().regex(/^\d+:\d\d$/, 'Please say the time like 9:30.')
const name = z.string().min(2, 'The name is too short.')
const phone = z.string().regex(/^\d+$/, 'Only digits, please.')

/** The fields of the appointment: `time` needs `day`, and `phone` is optional. */
function bookingFields(free: Calendar) {
  return {
    repair: field(repair, { ask: 'What does your bicycle need?' }),
    day: field(day, {
      ask: 'Which day?',
      check: (given) => Object.hasOwn(free, given) || `We are closed on ${given}.`,
    }),
    time: field(time, {
      needs: ['day'],
      ask: ({ day }) => `When on ${day}? Free: ${free[day]?.join(', ')}.`,
      check: (given, { day }) => free[day]?.includes(given) || `${given} is not free on ${day}.`,
    }),
    name: field(name, { ask: 'Your name?' }),
    phone: field(phone, { ask: 'Your phone number? Or skip.', optional: true }),
  }
}

/** Types only: forms without abstract members, so that a test may call those by `super`. */
declare class TextForm extends FormStep {
  override fields(turn: Turn): FormFields
  override done(values: object, turn: Turn): Awaitable<Transition>
}
declare class ModelForm extends ModelFormStep {
  override fields(turn: Turn): FormFields
  override done(values: object, turn: Turn): Awaitable<Transition>
}

/** The class of a form, which a test may extend. */
export type FormClass<Form> = Pick<StepConstructor<FormState>, keyof StepConstructor<FormState>> & (new () => Form)

/** The appointment's form by text and by model, both with the ID `Booking`, and a flow `Shop` of each. */
export interface Bookings {
  /** The calendar of both. */
  readonly free: Calendar
  /** What `done` of either was called with. */
  readonly booked: Booked
  readonly Booking: FormClass<TextForm>
  readonly Shop: FlowConstructor
  readonly ModelBooking: FormClass<ModelForm>
  readonly ModelShop: FlowConstructor
}

export function bookings(): Bookings {
  const free: Calendar = { Tuesday: ['9:00', '10:00'], Friday: ['10:00', '11:00'] }
  const booked: Booked = []
  class Booking extends FormStep {
    static override readonly id: string = 'Booking'
    override fields() {
      return bookingFields(free)
    }
    override review({ repair, day, time, name, phone }: FormValues<Booking>) {
      return `${repair} on ${day} at ${time}, for ${name}, phone ${phone ?? 'none'}. Right?`
    }
    override done(values: FormValues<Booking>, _turn: Turn) {
      booked.push(values)
      return finish(`Booked, ${values.name}.`)
    }
  }
  class ModelBooking extends ModelFormStep {
    static override readonly id: string = 'Booking'
    override fields() {
      return bookingFields(free)
    }
    override review({ repair, day, time, name, phone }: FormValues<ModelBooking>) {
      return `${repair} on ${day} at ${time}, for ${name}, phone ${phone ?? 'none'}. Right?`
    }
    override done(values: FormValues<ModelBooking>, _turn: Turn) {
      booked.push(values)
      return finish(`Booked, ${values.name}.`)
    }
  }
  class Shop extends Flow {
    static override readonly id: string = 'Shop'
    override steps() {
      return [Booking]
    }
  }
  class ModelShop extends Flow {
    static override readonly id: string = 'Shop'
    override steps() {
      return [ModelBooking]
    }
    override model() {
      return { provider: 'scripted', name: 'scripted' }
    }
  }
  return { free, booked, Booking, Shop, ModelBooking, ModelShop }
}

/** Members of a form that a test replaces; each gets the form as `this`. */
export type FormMembers = { [Name in keyof FormStep]?: FormStep[Name] } & ThisType<FormStep>

/** A form by text, called `Form`. By default `done` ends with the values as JSON. */
export function formOf(fields: FormFields | (() => FormFields), members: FormMembers = {}): FormClass<TextForm> {
  return class Form extends FormStep {
    static override readonly id: string = 'Form'
    constructor() {
      super()
      Object.assign(this, members)
    }
    override fields(): FormFields {
      return typeof fields === 'function' ? fields() : fields
    }
    override done(values: object, _turn: Turn) {
      return finish(`Done: ${JSON.stringify(values)}`)
    }
  }
}

/** A flow of one form that {@link formOf} makes. */
export function flowOfForm(fields: FormFields | (() => FormFields), members: FormMembers = {}): FlowConstructor {
  return flow('Talk', [formOf(fields, members)])
}

/** Words of which none is English. Each sentence begins with `~`. */
export const otherWords: FormWords = {
  yes: ['Ja', 'stimmt'],
  no: ['Nein', 'falsch'],
  skip: ['weiter'],
  change: ['ändere {field} auf {value}', 'ändere {field}'],
  needed: (label) => `~ ${label} fehlt.`,
  review: (rows) => `~ ${rows.map((row) => row.join(' = ')).join('; ')}, stimmt das?`,
  whatToChange: (labels) => `~ Was soll anders sein: ${labels.join(' / ')}?`,
}

/** Says these texts one after the other. Resolves to the last reply. */
export async function said(conversation: Conversation, ...texts: readonly string[]): Promise<string> {
  let last = ''
  for (const text of texts) last = (await conversation.say(text)).message
  return last
}

/** Sends the form of a page. */
export function submit(conversation: Conversation, payload: JsonValue, name = 'Form'): Promise<ConversationReply> {
  return conversation.say('', { event: { name, payload } })
}

/** The stored state of a form, without the entry that it belongs to. */
export async function stored(conversation: Conversation, id = 'Form'): Promise<Omit<FormState, 'entry'>> {
  const { flow } = await conversation.document()
  const { entry: _entry, ...state } = { ...flow.steps[id]?.state } as unknown as FormState
  return state
}

/** The labels of the buttons of the last reply. */
export function buttons(conversation: Conversation): readonly string[] {
  const { parts = [] } = conversation.reply
  return parts.flatMap((part) => (part.type === 'choices' ? part.options.map(({ label }) => label) : []))
}
