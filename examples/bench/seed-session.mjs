/** A stored session of a given length, put together without running its turns. */
import { answer, userMessage } from './work.mjs'

/** Stores a session with so many messages, and a history to match; returns its ID. */
export async function seedSession({ engine, store }, length) {
  const { session } = await engine.run({ flowName: 'Support', userMessage: userMessage(1) })
  const document = await store.load(session)
  const turns = Array.from({ length: length / 2 }, (_, index) => index + 1)
  const messages = turns.flatMap((turn) => [
    message('user', userMessage(turn), turn),
    message('assistant', answer, turn),
  ])
  const history = turns.map((turn) => ({ ...document.history[0], turn, message: userMessage(turn) }))
  await store.save(
    {
      ...document,
      revision: '2-seed',
      turns: turns.length,
      bytes: JSON.stringify(messages).length + JSON.stringify(history).length,
      flow: { ...document.flow, memory: { support: { messages } } },
      history,
    },
    document.revision,
  )
  return session
}

function message(role, text, turn) {
  return { role, parts: [{ type: 'text', text }], turn }
}
