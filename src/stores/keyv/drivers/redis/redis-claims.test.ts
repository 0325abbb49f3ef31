import { expect, test } from 'vitest'
import { RedisClaims } from './redis-claims.js'
import { RedisCommands } from './redis-commands.js'

/** Claims over a fake server that gives the test's answers, and the commands that it received. */
function claimsOver(answer: (words: readonly string[]) => unknown) {
  const sent: (readonly string[])[] = []
  const send = async (_key: string, words: readonly string[]): Promise<unknown> => {
    sent.push(words)
    return answer(words)
  }
  const claims = new RedisClaims(new RedisCommands({ send, sendOn: () => Promise.reject(new Error('Not here.')) }))
  return { claims, sent, names: () => sent.map(([name]) => name) }
}

test('a claim is one command that stores and reads', async () => {
  const { claims, sent } = claimsOver(() => null)
  expect(await claims.claim('k', 'a', 1_000.5)).toBe('a')
  expect(sent).toEqual([['SET', 'k', 'a', 'NX', 'GET', 'PX', '1001']])
})

test('it returns the ID that the key already holds', async () => {
  const { claims } = claimsOver(() => 'first')
  expect(await claims.claim('k', 'a', 1_000)).toBe('first')
})

test('a server before 7.0, which refuses NX with GET, gets a script, and is tried only once', async () => {
  const { claims, sent, names } = claimsOver(([name]) => {
    if (name === 'SET') throw new Error('ERR syntax error')
    return 'first'
  })
  expect(await claims.claim('k', 'a', 1_000)).toBe('first')
  expect(await claims.claim('k', 'a', 1_000)).toBe('first')
  expect(names()).toEqual(['SET', 'EVALSHA', 'EVALSHA'])
  expect(sent[1]?.slice(2)).toEqual(['1', 'k', 'a', '1000'])
})

test('rejects for any other failure', async () => {
  const { claims, names } = claimsOver(() => {
    throw new Error('OOM command not allowed')
  })
  await expect(claims.claim('k', 'a', 1_000)).rejects.toThrow('OOM')
  expect(names()).toEqual(['SET'])
})
