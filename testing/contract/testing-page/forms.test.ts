/** Runs docs/forms.md: its form with its tests, the form on a page, the German words, and what the page says besides. */
import {
  back,
  call,
  Flow,
  finish,
  LogicStep,
  reply,
  type StepConstructor,
  type Transition,
  type Turn,
} from 'turnkeeper'
import { type FormFields, FormStep, type FormValues, type FormWords, field, ModelFormStep } from 'turnkeeper/forms'
import { Conversation } from 'turnkeeper/testing'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { Page } from './page.js'

const page = new Page('forms')

page.write('shop.ts', page.text('class Booking'))
page.runTests('shop.test.ts', page.block('new Conversation(Shop'))

/** A flow of these steps. */
function flowOf(...steps: readonly StepConstructor[]) {
  return class Shop extends Flow {
    static override readonly id = 'Shop'
    override steps() {
      return [...steps]
    }
  }
}

/** The form of the page, of which a test uses what every form has. */
declare class BookingOfPage extends FormStep {
  static override readonly id: string
  override fields(): FormFields
  override done(): Transition
}

interface Exports {
  readonly Booking: typeof BookingOfPage
}

test('the form is shown, corrected and sent on a page', async () => {
  const { Booking } = await page.load<Exports>('shop.ts', page.text('class Booking'))
  class OnPage extends Booking {
    override async onEnter(turn: Turn) {
      return reply('What does your bicycle need?').withParts([await this.asPart(turn)])
    }
  }
  await using conversation = new Conversation(flowOf(OnPage))
  await conversation.say('Hello')
  conversation.expectReply('What does your bicycle need?').expectParts([{ type: 'form', name: 'Booking' }])
  await conversation.sendEvent('Booking', { repair: 'brakes', day: 'Friday', time: '9:00' })
  const errors = { time: '9:00 is not free.', name: 'The name is needed.' }
  conversation
    .expectReply('9:00 is not free. The name is needed.')
    .expectParts([{ values: { repair: 'brakes', day: 'Friday' }, errors }])
  await conversation.sendEvent('Booking', { time: '10:00', name: 'Ada' })
  conversation.expectReply('brakes on Friday at 10:00, for Ada. Right?')
})

test('a slot that is taken is asked for again', async () => {
  const text = page.text('class Booking').replace('=> true //', "=> _time === '11:00' //")
  const { Booking } = await page.load<Exports>('taken.ts', text)
  await using conversation = new Conversation(flowOf(Booking))
  await conversation.say('Hello')
  await conversation.fill({ repair: 'brakes', day: 'Friday', time: '10:00', name: 'Ada', phone: undefined })
  await conversation.say('yes')
  conversation.expectReply('It was taken. When on Friday?')
  await conversation.choose('11:00')
  await conversation.say('yes')
  conversation.expectReply('Booked, Ada: Friday at 11:00.').expectCompleted()
})

const Day = z.enum(['Dienstag', 'Freitag'], 'Wir öffnen am Dienstag und am Freitag.')
const Phone = z.string()

test('a form speaks German', async () => {
  const { german } = await page.load<{ readonly german: FormWords }>('german.ts', page.text('const german'))
  class Termin extends FormStep {
    static override readonly id = 'Termin'
    override readonly words = german
    override fields() {
      return {
        day: field(Day, { label: 'Tag', ask: 'An welchem Tag?' }),
        phone: field(Phone, { label: 'Telefon', ask: 'Ihr Telefon?', optional: true }),
      }
    }
    override done({ day }: FormValues<Termin>) {
      return finish(`Bis ${day}!`)
    }
  }
  await using conversation = new Conversation(flowOf(Termin))
  const talk = [
    ['Hallo', 'An welchem Tag?'],
    ['Montag', 'Wir öffnen am Dienstag und am Freitag. An welchem Tag?'],
    ['weiter', 'Tag fehlt noch. An welchem Tag?'],
    ['2', 'Ihr Telefon?'],
    ['weiter', 'Tag: Freitag\nStimmt das?'],
    ['nein', 'Was ist falsch: Tag, Telefon? Sonst bitte ja.'],
    ['ändere Telefon auf 0170', 'Tag: Freitag\nTelefon: 0170\nStimmt das?'],
    ['ändere Tag', 'An welchem Tag?'],
    ['dienstag', 'Tag: Dienstag\nTelefon: 0170\nStimmt das?'],
    ['stimmt', 'Bis Dienstag!'],
  ] as const
  for (const [message, expected] of talk) {
    await conversation.say(message)
    conversation.expectReply(expected)
  }
})

class Pin extends FormStep {
  static override readonly id = 'Pin'
  override fields() {
    return {
      day: field(Day, { ask: 'Day?' }),
      pin: field(Phone, { ask: 'PIN?', secret: true }),
    }
  }
  override done({ day, pin }: FormValues<Pin>) {
    delete this.state.values.pin
    return back(`${day} ${pin.length}`)
  }
}

class Ask extends LogicStep {
  static override readonly id = 'Ask'
  override run({ message, returned }: Turn) {
    if (returned !== undefined) return reply(`Got ${returned.value}.`)
    if (message === 'empty') return call(Pin, { state: { values: {} } })
    return message === 'given' ? call(Pin, { state: { values: { day: 'Freitag' } } }) : reply('Hello.')
  }
}

test('a form is called empty or with values, gives them back, and keeps no secret', async () => {
  await using conversation = new Conversation(flowOf(Ask, Pin))
  await conversation.say('Hi')
  await conversation.say('given')
  conversation.expectReply('PIN?')
  await conversation.say('4711')
  conversation.expectReply('day: Freitag\npin: •••\nIs that right?')
  await conversation.say('yes')
  conversation.expectReply('Got Freitag 4.').expectStep(Ask)
  expect(JSON.stringify(await conversation.document())).not.toContain('4711')
  await conversation.say('empty')
  conversation.expectReply('Day?')
})

test('a model reads the form', async () => {
  class Booking extends ModelFormStep {
    static override readonly id = 'Booking'
    override fields() {
      return { day: field(Day, { ask: 'Day?' }), phone: field(Phone, { ask: 'Phone?', optional: true }) }
    }
    override done({ day }: FormValues<Booking>) {
      return finish(`Until ${day}!`)
    }
  }
  class Shop extends flowOf(Booking) {
    override model() {
      return { provider: 'scripted', name: 'small' }
    }
  }
  const set = (input: { day: string }) => ({ toolCalls: [{ name: 'set_fields', input }] })
  const script = ['Good morning!', set({ day: 'Freitag' }), 'ok', 'ok', set({ day: 'Dienstag' }), 'ok', 'ok']
  await using conversation = new Conversation(Shop, { script })
  const talk = [
    ['Hello', 'Good morning! Day?'],
    ['On Friday', 'Phone?'],
    ['skip', 'day: Freitag\nIs that right?'],
    ['No, on Tuesday', 'day: Dienstag\nIs that right?'],
    ['yes', 'Until Dienstag!'],
  ] as const
  for (const [message, expected] of talk) {
    await conversation.say(message)
    conversation.expectReply(expected)
  }
})

page.testThatAllAreUsed()
