/** What the types of a form infer, and what they refuse. */
import { expectTypeOf, test } from 'vitest'
import { z } from 'zod'
import { finish, type Turn } from '../index.js'
import { FormStep, type FormValues, field, ModelFormStep } from './index.js'

class Booking extends FormStep {
  override fields() {
    return {
      repair: field(z.enum(['tune-up', 'brakes']), { ask: 'What?' }),
      time: field(z.coerce.number(), {
        ask: ({ repair }, turn) => `${repair} ${turn.number}`,
        needs: ['repair'],
        check: (time, { repair }) => {
          expectTypeOf(time).toEqualTypeOf<number>()
          return repair === 'brakes' || 'No.'
        },
      }),
      phone: field(z.string(), { ask: 'Phone?', optional: true, check: async (phone) => phone.length > 3 || 'Short.' }),
    }
  }
  override review({ repair, time, phone }: FormValues<Booking>) {
    expectTypeOf(repair).toEqualTypeOf<'tune-up' | 'brakes'>()
    expectTypeOf(time).toEqualTypeOf<number>()
    expectTypeOf(phone).toEqualTypeOf<string | undefined>()
    return `${repair}?`
  }
  override async done(values: FormValues<Booking>, _turn: Turn) {
    return finish(values.repair)
  }
}

class Misspelt extends ModelFormStep {
  override fields() {
    return { day: field(z.string(), { ask: 'Day?' }), time: field(z.string(), { ask: 'Time?', needs: ['dya'] }) }
  }
  // @ts-expect-error: 'dya' is none of the fields
  override done({ day }: FormValues<Misspelt>) {
    return finish(day)
  }
}

test('values are inferred from the fields', () => {
  expectTypeOf<FormValues<Booking>>().toEqualTypeOf<
    { readonly repair: 'tune-up' | 'brakes'; readonly time: number } & { readonly phone?: string }
  >()
  expectTypeOf<FormValues<Misspelt>>().toEqualTypeOf<{ readonly 'needs names no field': 'dya' }>()
})

test('a field gets no value that it does not need, and no unknown option', () => {
  // @ts-expect-error: `day` is not in `needs`
  field(z.string(), { ask: ({ day }) => `${day}` })
  // @ts-expect-error: `ask` is required
  field(z.string(), {})
  // @ts-expect-error: there is no such option
  field(z.string(), { ask: 'Day?', required: true })
  // @ts-expect-error: the value is a text
  field(z.string(), { ask: 'Day?', check: (value: number) => value > 0 })
})
