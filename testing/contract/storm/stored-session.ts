/** A made-up session, as a storm leaves it: the tests of verdicts pass it in place of a stored one. */
import type { SessionDocument } from '../../../src/index.js'
import { documentOf } from '../session-bench.js'
import { stepId } from './talk.js'
import { replyTo } from './turn-record.js'

/** A session as it is stored after these messages, with nothing wrong. */
export function sessionOf(messages: readonly string[], id = 's', more: Partial<SessionDocument> = {}): SessionDocument {
  const { flow, ...head } = documentOf(id, '1-a')
  return {
    ...head,
    turns: messages.length,
    history: messages.map((message, index) => ({
      turn: index + 1,
      at: '2026-01-01T00:00:00.000Z',
      message,
      reply: replyTo(message, index + 1),
      contentType: 'text/plain',
      step: stepId,
    })),
    flow: {
      ...flow,
      steps: { [stepId]: { state: { turns: messages.length } } },
      memory: {
        [stepId]: {
          messages: messages.flatMap((text, index) =>
            (['user', 'assistant'] as const).map(
              (role) => ({ role, parts: [{ type: 'text', text }], turn: index + 1 }) as const,
            ),
          ),
        },
      },
    },
    ...more,
  }
}
