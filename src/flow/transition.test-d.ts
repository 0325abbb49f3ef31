import { expectTypeOf, test } from 'vitest'
import {
  back,
  call,
  Flow,
  finish,
  go,
  HttpContentType,
  LogicStep,
  reply,
  retry,
  Step,
  stay,
  type Transition,
  type Turn,
} from '../index.js'
import { choices } from '../parts/index.js'

class Confirm extends Step<{ name: string; address: { city: string } }> {}
class Bare extends LogicStep {
  override run() {
    return finish()
  }
}

test('withState takes a partial state of the destination', () => {
  go(Confirm).withState({ name: 'Ada' })
  go(Confirm).withState({})
  go(Confirm)
    .withReply('Sure?')
    .withState({ address: { city: 'London' } })
  // @ts-expect-error a wrong key
  go(Confirm).withState({ nickname: 'Ada' })
  // @ts-expect-error a wrong value
  go(Confirm).withState({ name: 7 })
  // @ts-expect-error a part of a nested value
  go(Confirm).withState({ address: {} })
  const modified = go(Confirm)
    .withPrompt('Be brief.')
    .withMessage('yes')
    .withFeedback('Noted.')
    .withContentType('text/csv')
  // @ts-expect-error still a wrong key, after other modifiers
  modified.withState({ nickname: 'Ada' })
})

test('withState takes the whole state, even if initialState() returns less', () => {
  class Counting extends Step<{ count: number; note?: string }> {
    override initialState() {
      return { count: 0 }
    }
  }
  go(Counting).withState({ note: 'a', count: 1 })
  // @ts-expect-error a wrong key
  go(Counting).withState({ notes: 'a' })
})

test('withState for a step ID takes any state', () => {
  go('Confirm').withState({ anything: ['goes'] })
  // @ts-expect-error a state is an object
  go('Confirm').withState('Ada')
})

test('every builder returns what hooks may return', () => {
  expectTypeOf(go(Confirm)).toExtend<Transition>()
  expectTypeOf(go('Confirm').withState({ a: 1 })).toExtend<Transition>()
  expectTypeOf([reply('a'), stay(), retry('a'), finish()] as const).toExtend<readonly Transition[]>()
  expectTypeOf(go(Confirm)).not.toBeAny()
})

test('a content type is a member of HttpContentType or any media type', () => {
  reply('a').withContentType(HttpContentType.Csv)
  reply('a').withContentType('application/vnd.example+json', { encoding: 'base64' })
  // @ts-expect-error not an encoding
  reply('a').withContentType('image/png', { encoding: 'hex' })
  // @ts-expect-error not a media type
  reply('a').withContentType(7)
})

test('a wrong target or content does not compile', () => {
  // @ts-expect-error not a step
  go(Date)
  // @ts-expect-error an object of a step
  go(new Bare())
  // @ts-expect-error a number is not a reply
  reply(36)
  // @ts-expect-error retry needs a reason
  retry()
  // @ts-expect-error read-only
  reply('a').fields = {}
})

test('call takes a step, a flow or an ID, and a state of what it enters', () => {
  class Address extends Flow {
    override steps() {
      return [Confirm]
    }
  }
  call(Confirm, { state: { name: 'Ada' } }).withState({ name: 'Grace' })
  call(Address)
  call('Address', { state: { anything: ['goes'] } })
  // @ts-expect-error a wrong key
  call(Confirm, { state: { nickname: 'Ada' } })
  // @ts-expect-error still a wrong key
  call(Confirm).withLead('a').withParts([]).withState({ nickname: 'Ada' })
  // @ts-expect-error no other options
  call(Confirm, { reply: 'a' })
  // @ts-expect-error neither a step nor a flow
  call(Date)
  // @ts-expect-error an object of a step
  call(new Bare())
  // @ts-expect-error a flow is called, and not gone to
  go(Address)
  expectTypeOf(call(Confirm)).toExtend<Transition>()
  expectTypeOf(call(Confirm)).not.toBeAny()
})

test('back takes any value, and the caller must check it', () => {
  expectTypeOf([back(), back(7), back({ price: 1 })] as const).toExtend<readonly Transition[]>()
  expectTypeOf<NonNullable<Turn['returned']>['value']>().toBeUnknown()
  expectTypeOf<Turn['choice']>().toEqualTypeOf<{ readonly name: string; readonly value: string } | undefined>()
})

test('a lead is a text, and parts are made by builders', () => {
  const size = choices('size', [{ value: 's', label: 'Small' }])
  back().withLead('a').withReply('b').withParts([size])
  // @ts-expect-error a lead is a text
  back().withLead({ a: 1 })
  // @ts-expect-error a list
  reply('a').withParts(size)
  // @ts-expect-error an unknown kind of part
  reply('a').withParts([{ type: 'html', html: '<b>' }])
})
