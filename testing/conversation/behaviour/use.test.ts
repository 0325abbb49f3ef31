// Conversations whose end is left to them.
import { describe, expect, test } from 'vitest'
import { Onboarding } from '../../contract/onboarding.js'
import { Conversation } from '../conversation.js'

describe('use', () => {
  test('returns what the body returns, and closes', async () => {
    const conversation = new Conversation(Onboarding, { script: ['Your name?'] })
    expect(await conversation.use(async (same) => [same === conversation, (await same.say('Hello')).message])).toEqual([
      true,
      'Your name?',
    ])
    await expect(conversation.say('Hello')).rejects.toThrow('say() was called after close()')
  })

  test('fails for what is left over', async () => {
    const conversation = new Conversation(Onboarding, { script: ['Your name?', 'Never said.'] })
    await expect(conversation.use((same) => same.say('Hello'))).rejects.toThrow('1 reply of 2 left')
  })

  test('throws the failure of the body itself, whatever is left over, and closes', async () => {
    const conversation = new Conversation(Onboarding, { script: ['Your name?', 'Never said.'] })
    const failure = new Error('an assertion of another library')
    const used = conversation.use(async (same) => {
      await same.say('Hello')
      throw failure
    })
    await expect(used).rejects.toBe(failure)
    await expect(conversation.say('Hello')).rejects.toThrow('say() was called after close()')
  })

  test('throws a failed expectation itself', async () => {
    const conversation = new Conversation(Onboarding, { script: ['Your name?', 'Never said.'] })
    const used = conversation.use(async (same) => {
      await same.say('Hello')
      same.expectReply('Your age?')
    })
    await expect(used).rejects.toThrow('Expected the reply "Your age?"')
  })

  test('throws the failure of the body while a turn is under way', async () => {
    const conversation = new Conversation(Onboarding, { script: [{ delayMs: Infinity, text: 'late' }] })
    const failure = new Error('in the middle')
    const used = conversation.use(async (same) => {
      await same.open()
      void same.say('Hello').catch(() => undefined)
      throw failure
    })
    await expect(used).rejects.toBe(failure)
  })
})
