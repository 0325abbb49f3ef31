import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { flowOf } from '../../../testing/contract/test-flows.js'
import { Conversation } from '../../../testing/index.js'
import { Step } from '../../index.js'

class Ask extends Step {
  static override readonly id = 'Ask'
}

const turns = 200
const maxMemoryBytes = 40_000

/**
 * Holds a conversation of 200 turns, and counts those whose request does not begin with the messages of the request
 * before it: there a provider cannot use the prompt that it cached.
 *
 * @param sizes - Of each turn, as a part of the limit.
 */
async function changedPrompts(sizes: readonly number[]): Promise<number> {
  let size = 0
  await using conversation = new Conversation(flowOf(Ask), {
    script: () => 'a'.repeat(Math.max(1, size / 2)),
    limits: { maxMemoryBytes },
  })
  for (const part of sizes) {
    // A turn takes about 120 bytes more than its texts.
    size = Math.max(0, part * maxMemoryBytes - 120)
    await conversation.say('u'.repeat(size / 2))
  }
  const prompts = conversation.model.requests.map(({ messages }) => messages)
  expect(prompts).toHaveLength(turns)
  return prompts.filter((prompt, index) => {
    const before = prompts[index - 1] ?? []
    return before.some((message, at) => JSON.stringify(message) !== JSON.stringify(prompt[at]))
  }).length
}

function conversationsUpTo(part: number): fc.Arbitrary<number[]> {
  // Without bias: fast-check prefers the ends of a range.
  const size = fc.noBias(fc.nat(1_000_000).map((one) => (one / 1_000_000) * part))
  return fc.array(size, { minLength: turns, maxLength: turns, size: 'max' })
}

describe('the beginning of the prompt', () => {
  // A cut removes a quarter of the limit, and the turn that passed it: how often that happens
  // follows from the size of turns.
  test.each([
    ['a twentieth', 1 / 20, turns / 10],
    ['a tenth', 1 / 10, turns / 6],
  ])('of turns of random sizes up to %s of the limit changes seldom', async (_name, part, atMost) => {
    await fc.assert(
      fc.asyncProperty(conversationsUpTo(part), async (sizes) => {
        const changed = await changedPrompts(sizes)
        expect(changed).toBeGreaterThan(0)
        expect(changed).toBeLessThanOrEqual(atMost)
      }),
      { numRuns: 5, endOnFailure: true },
    )
  })
})
