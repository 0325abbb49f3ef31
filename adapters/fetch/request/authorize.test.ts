import { describe, expect, test } from 'vitest'
import { type Authorize, askAuthorize } from './authorize.js'

const request = new Request('http://chat.example/ai/run', { method: 'POST' })

/** The result of an answer of `authorize`: the caller, or the error that the operator reads. */
async function ask(answer: unknown, missingPrincipal?: string): Promise<unknown> {
  const reported: unknown[] = []
  const authorize = (() => answer) as Authorize
  try {
    const caller = await askAuthorize(authorize, missingPrincipal, request, (error) => reported.push(error))
    expect(reported).toEqual([])
    return caller
  } catch (error) {
    expect(error).toMatchObject({ message: 'The request could not be authorized.', preciseStatus: 500 })
    expect(reported).toEqual([expect.any(TypeError)])
    return (reported[0] as TypeError).message
  }
}

const form = 'It must return nothing, a Response, or { principal?: string, context?: object }.'
const missing = 'authorize returned no principal.'
const emptyPrincipal =
  'authorize returned a principal that is blank, or not a string. Leave the key out to let the caller in without an owner.'

class User {
  readonly #id = 'alice'
  get principal(): string {
    return this.#id
  }
}

class Named {
  readonly principal = 'alice'
}

describe('what authorize returned', () => {
  test.each<[string, unknown, unknown]>([
    ['a principal', { principal: 'alice' }, { principal: 'alice' }],
    ['a principal and context', { principal: 'alice', context: { a: 1 } }, { principal: 'alice', context: { a: 1 } }],
    ['a principal and context that is undefined', { principal: 'alice', context: undefined }, { principal: 'alice' }],
    ['an object of a class with a principal of its own', new Named(), { principal: 'alice' }],
    ['nothing', undefined, {}],
    ['an empty object', {}, {}],
    ['an object without a prototype', Object.create(null), {}],
    ['context alone', { context: { plan: 'free' } }, { context: { plan: 'free' } }],
  ])('%s lets the caller in', async (_name, answer, caller) => {
    expect(await ask(answer)).toEqual(caller)
  })

  test.each<[string, unknown, string]>([
    ['sub', { sub: 'alice' }, `authorize returned the unknown key 'sub'. ${form}`],
    ['user', { user: { id: 'alice' } }, `authorize returned the unknown key 'user'. ${form}`],
    ['id and context', { context: {}, id: 'alice' }, `authorize returned the unknown key 'id'. ${form}`],
    [
      'a decoded token',
      { iss: 'https://a.example', sub: 'alice' },
      `authorize returned the unknown key 'iss'. ${form}`,
    ],
    ['a key and a principal', { principal: 'alice', role: 'x' }, `authorize returned the unknown key 'role'. ${form}`],
    ['a symbol', { [Symbol('user')]: 'alice' }, `authorize returned the unknown key 'Symbol(user)'. ${form}`],
    [
      'a key that is not enumerable',
      Object.defineProperty({}, 'sub', { value: 'alice' }),
      `authorize returned the unknown key 'sub'. ${form}`,
    ],
    ['a principal that is undefined', { principal: undefined }, emptyPrincipal],
    ['a principal that is undefined, with context', { principal: undefined, context: {} }, emptyPrincipal],
    ['a principal that is null', { principal: null }, emptyPrincipal],
    ['a principal that is empty', { principal: '' }, emptyPrincipal],
    ['a principal that is blank', { principal: ' \t\u00a0' }, emptyPrincipal],
    ['a principal that is a number', { principal: 7 }, emptyPrincipal],
    ['a Map', new Map([['principal', 'alice']]), `authorize returned an object of a class. ${form}`],
    [
      'an object that inherits its principal',
      Object.create(Object.assign(Object.create(null), { principal: 'bob' })),
      `authorize returned an object of a class. ${form}`,
    ],
    ['a user whose fields are private', new User(), `authorize returned an object of a class. ${form}`],
    ['context that is a string', { context: 'x' }, `authorize returned a context that is not an object. ${form}`],
    ['context that is a list', { context: [] }, `authorize returned a context that is not an object. ${form}`],
    ['context that is null', { context: null }, `authorize returned a context that is not an object. ${form}`],
    ['a list', ['alice'], `authorize returned a list. ${form}`],
    ['null', null, `authorize returned null. ${form}`],
    ['false', false, `authorize returned a boolean. ${form}`],
    ['a string', 'alice', `authorize returned a string. ${form}`],
    ['a function', () => 'alice', `authorize returned a function. ${form}`],
    [
      'an object shaped like a Response',
      { status: 403, headers: new Headers() },
      `authorize returned the unknown key 'status'. ${form}`,
    ],
  ])('%s refuses the request', async (_name, answer, problem) => {
    expect(await ask(answer)).toBe(problem)
    expect(await ask(Promise.resolve(answer), missing)).toBe(problem)
  })

  test.each<[string, unknown]>([
    ['nothing', undefined],
    ['an empty object', {}],
    ['context alone', { context: { plan: 'free' } }],
  ])('%s refuses the request where a principal is required', async (_name, answer) => {
    expect(await ask(answer, missing)).toBe(missing)
  })

  test('a principal and a Response pass if a principal is required', async () => {
    expect(await ask({ principal: 'alice' }, missing)).toEqual({ principal: 'alice' })
    const response = new Response(null, { status: 401 })
    expect(await ask(response, missing)).toBe(response)
  })

  test('a principal is read once: it cannot change after it was checked', async () => {
    const principals = ['alice', 'bob']
    const caller = await ask({
      get principal() {
        return principals.shift()
      },
    })
    expect(caller).toEqual({ principal: 'alice' })
    expect(caller).toEqual({ principal: 'alice' })
  })
})
