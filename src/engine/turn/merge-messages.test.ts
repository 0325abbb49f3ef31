// What flows see of it is tested in ../flow-engine.merge.test.ts.
import { expect, test } from 'vitest'
import { Flow } from '../../flow/flow.js'
import { resolveLimits } from '../core/engine-limits.js'
import type { RequestKey, TurnInput } from '../input/check-input.js'
import { mergeMessages } from './merge-messages.js'
import type { RequestedTurn, TurnControl } from './turn-control.js'

function turnOf(message: string, key?: string, failure = 'TURN_SUPERSEDED'): RequestedTurn {
  const idempotency: RequestKey | undefined =
    key === undefined ? undefined : { key, request: `${key} of ${message}`, claim: key }
  const input = { userMessage: message, attachments: [], idempotency } as unknown as TurnInput
  const requestKeys = idempotency === undefined ? [] : [idempotency]
  const engine = { limits: resolveLimits(undefined) }
  const control = { engine, flowName: 'Talk', failure, requestKeys, replaced: [], check: () => undefined }
  return { input, control: control as unknown as TurnControl }
}

class Merging extends Flow {
  override steps() {
    return []
  }
  override merge(messages: readonly string[]): string | undefined {
    return messages.includes('alone') ? undefined : messages.join('+')
  }
}

async function keysAfter(newest: string, ...replaced: readonly RequestedTurn[]): Promise<string> {
  const { control, input } = turnOf(newest, 'own')
  control.replaced = replaced
  const { userMessage } = await mergeMessages(control, input, new Merging())
  return `${userMessage}: ${control.requestKeys.map(({ key }) => key).join(' ')}`
}

test('a turn answers for the keys of all messages that it merged, oldest first, its own last', async () => {
  expect(await keysAfter('c', turnOf('a', 'first'), turnOf('b', 'second'))).toBe('a+b+c: first second own')
  expect(await keysAfter('c', turnOf('a'), turnOf('b', 'second'))).toBe('a+b+c: second own')
})

test('where nothing was merged, for its own alone', async () => {
  expect(await keysAfter('alone', turnOf('a', 'first'))).toBe('alone: own')
  expect(await keysAfter('c', turnOf('a', 'first', 'SESSION_CONFLICT'))).toBe('c: own')
  expect(await keysAfter('c', turnOf('a', 'first', 'FLOW_ERROR'), turnOf('b', 'second'))).toBe('b+c: second own')
})
