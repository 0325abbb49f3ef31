/** The values of a form's fields as a conversation expects them. */
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { FormStep, field } from '../../../src/forms/index.js'
import { Flow, finish, InvalidInputError, type StepConstructor } from '../../../src/index.js'
import { answers, Booking, Desk, Shop, Welcome } from '../../contract/booking-form.js'
import { Conversation } from '../conversation.js'

class Where extends FormStep {
  static override readonly id = 'Where'
  override fields() {
    const Place = z.union([
      z.object({ street: z.string(), town: z.string() }),
      z.string().transform((text) => ({ street: text, town: 'Ulm' })),
    ])
    return { place: field(Place, { ask: 'Where?' }), note: field(z.string(), { ask: 'Anything else?' }) }
  }
  override done() {
    return finish('Done.')
  }
}
class Address extends Flow {
  static override readonly id = 'Address'
  override steps(): readonly StepConstructor[] {
    return [Where]
  }
}
class Delivery extends Flow {
  static override readonly id = 'Delivery'
  override steps(): ReturnType<Flow['steps']> {
    return [Where, Address]
  }
}

test('a value is expected as a whole, in part, or as missing', async () => {
  await using conversation = new Conversation(Desk)
  await conversation.fill({ ...answers })
  conversation.expectField(Booking, 'day', 'Friday').expectField(Booking, 'day', /^Fri/)
  conversation.expectField(Booking, 'bicycles', 2).expectField(Booking, 'phone', undefined)
  conversation.expectField('Booking', 'time', '11')
  expect(() => conversation.expectField(Booking, 'day', 'Tuesday')).toThrow(
    'Field \'day\' of form \'Booking\' is not what was expected:\n  day: expected "Tuesday", got "Friday"\n  all values: {"repair":"brakes","day":"Friday","time":"11","bicycles":2}\nWhere:',
  )
  expect(() => conversation.expectField(Booking, 'phone', '123')).toThrow('phone: expected "123", got nothing')
  expect(() => conversation.expectField(Booking, 'day', undefined)).toThrow('day: expected nothing, got "Friday"')
})

test('parts of a value are expected in the form of another flow, by its ID', async () => {
  await using conversation = Conversation.at(Delivery, { step: 'Address/Where', callers: ['Where'] })
  await conversation.fill({ place: 'Elm Street' })
  conversation.expectField('Address/Where', 'place', { town: 'Ulm' })
  expect(() => conversation.expectField('Address/Where', 'place', { town: /^Elm/ })).toThrow(
    'place.town: expected /^Elm/, got "Ulm"',
  )
  expect(() => conversation.expectField('Address/Where', 'place', {})).toThrow(
    'expectField would check nothing, because {} has no properties.',
  )
  expect(() => conversation.expectField(Where, 'note', undefined)).toThrow(InvalidInputError)
  expect(() => conversation.expectField('Where', 'note', undefined)).toThrow(
    "Expected a field of form 'Where', but it was never entered.",
  )
})

test('a field may have the name of what every object has', async () => {
  class Odd extends FormStep {
    static override readonly id = 'Odd'
    override fields() {
      return { constructor: field(z.string(), { ask: 'Which?' }) }
    }
    override done() {
      return finish('Done.')
    }
  }
  class OddDesk extends Desk {
    override steps() {
      return [Odd]
    }
  }
  await using conversation = new Conversation(OddDesk)
  await conversation.say('Hello')
  conversation.expectField(Odd, 'constructor', undefined)
  await conversation.fill({ constructor: 'this one' })
  conversation.expectField(Odd, 'constructor', 'this one')
})

describe('is refused', () => {
  test('before the first turn', () => {
    expect(() => new Conversation(Desk).expectField(Booking, 'day', 'Friday')).toThrow('expectField needs a turn')
  })

  test.each<readonly [string, readonly [unknown, unknown]]>([
    [
      "expectField: form 'Booking' has no field 'dya'. Its fields: repair, day, time, bicycles, phone. Did you mean 'day'?",
      [Booking, 'dya'],
    ],
    ["expectField: form 'Booking' has no field 'toString'.", [Booking, 'toString']],
    ["expectField: step 'Welcome' is not a form; its forms: Booking.", [Welcome, 'day']],
    ["expectField: the flow has no step 'Bokking'; its forms: Booking.", ['Bokking', 'day']],
    ["expectField: the flow has no step 'Where'; its forms: Booking.", [Where, 'place']],
    ['expectField needs a form of the flow, or its ID; got undefined.', [undefined, 'day']],
    ['expectField needs a form of the flow, or its ID; got the class Shop.', [Shop, 'day']],
    ['expectField needs the name of a field; got undefined.', [Booking, undefined]],
  ])('%s', async (text, [form, name]) => {
    await using conversation = new Conversation(Shop)
    await conversation.say('book')
    expect(() => conversation.expectField(form as never, name as never, 'Friday' as never)).toThrow(text)
  })
})
