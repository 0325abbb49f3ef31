import { expectTypeOf, test } from 'vitest'
import { finish, go, HttpContentType, LogicStep, reply, retry, Step, stay, type Transition } from '../index.js'

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
