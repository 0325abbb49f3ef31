/** Events in a recording: sent again with their payloads and senders, silent ones too. */
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import {
  event,
  Flow,
  finish,
  go,
  LogicStep,
  reply,
  type SessionDocument,
  Step,
  type StepConstructor,
} from '../../src/index.js'
import { Conversation } from '../conversation/conversation.js'
import { type Recording, recordingOf, replay } from './recording.js'

const day = 86_400_000

class Chat extends Step<{ notes?: readonly string[] }> {
  static override readonly id: string = 'Chat'
  override events() {
    return [
      event({
        name: 'says',
        input: z.string(),
        execute: (text, turn) => reply(`${turn.event?.by} (${turn.event?.byId}): ${text}`),
      }),
      event({
        name: 'note',
        input: z.string(),
        execute: (text) => {
          this.state.notes = [...(this.state.notes ?? []), text]
        },
      }),
      event({ name: 'quiet', silence: day, execute: () => go(Nudge) }),
    ]
  }
}
class Nudge extends Step {
  static override readonly id = 'Nudge'
}
class Wait extends LogicStep {
  static override readonly id = 'Wait'
  override events() {
    return [event({ name: 'over', after: 7 * day, execute: () => finish('Closed.') })]
  }
  override run() {
    return reply('We close.')
  }
}
class Desk extends Flow {
  static override readonly id: string = 'Desk'
  override model() {
    return { provider: 'openai', name: 'gpt-5-mini' }
  }
  override steps(): readonly StepConstructor[] {
    return [Chat, Nudge, Wait]
  }
  override events() {
    return [event({ name: 'close', execute: () => go(Wait).withReply('Closing.') })]
  }
}

/** A session with events of a colleague, of the server and of the clock. */
async function stored(note = 'Ask for the bill.'): Promise<SessionDocument> {
  await using conversation = new Conversation(Desk, { script: ['Hello.', 'Are you there?', 'Fine.'] })
  await conversation.say('Hello')
  await conversation.sendEvent('note', note)
  await conversation.sendEvent('says', 'I help you.', { by: 'Ada', byId: 'emp-17' })
  await conversation.advance(day)
  conversation.expectReply('Are you there?')
  await conversation.say('Yes')
  await conversation.sendEvent('close')
  await conversation.advance(7 * day)
  conversation.expectReply('Closed.').expectCompleted()
  return conversation.document()
}

describe('a recording', () => {
  test('has events as events, and sends them again', async () => {
    const document = await stored()
    const recording: Recording = JSON.parse(JSON.stringify(recordingOf(document)))
    expect(
      recording.turns.map(({ said, event, reply, replies }) => ({ said, event, reply, replies })),
    ).toMatchInlineSnapshot(`
      [
        {
          "event": undefined,
          "replies": {
            "Chat": [
              [
                {
                  "text": "Hello.",
                  "type": "text",
                },
              ],
            ],
          },
          "reply": "Hello.",
          "said": "Hello",
        },
        {
          "event": {
            "name": "note",
            "payload": "Ask for the bill.",
          },
          "replies": {},
          "reply": "",
          "said": "",
        },
        {
          "event": {
            "by": "Ada",
            "byId": "emp-17",
            "name": "says",
            "payload": "I help you.",
          },
          "replies": {},
          "reply": "Ada (emp-17): I help you.",
          "said": "",
        },
        {
          "event": {
            "name": "quiet",
          },
          "replies": {
            "Nudge": [
              [
                {
                  "text": "Are you there?",
                  "type": "text",
                },
              ],
            ],
          },
          "reply": "Are you there?",
          "said": "",
        },
        {
          "event": undefined,
          "replies": {
            "Nudge": [
              [
                {
                  "text": "Fine.",
                  "type": "text",
                },
              ],
            ],
          },
          "reply": "Fine.",
          "said": "Yes",
        },
        {
          "event": {
            "name": "close",
          },
          "replies": {},
          "reply": "Closing.",
          "said": "",
        },
        {
          "event": {
            "name": "over",
          },
          "replies": {},
          "reply": "Closed.",
          "said": "",
        },
      ]
    `)
    const replayed = await replay(Desk, recording)
    expect(replayed.history).toEqual(document.history)
    expect(replayed.flow.memory).toEqual(document.flow.memory)
  })

  test('needs the payloads that the history does not have', async () => {
    const note = 'x'.repeat(1100)
    const document = await stored(note)
    await expect(replay(Desk, recordingOf(document))).rejects.toThrow(
      /Event: note\n[\s\S]*INVALID_INPUT[\s\S]*The history has no payload of this event: it had none, or one above 1 KiB. If it had one, name it: recordingOf\(document, \{ payloads: \{ 2: \.\.\. \} \}\)\./,
    )
    await replay(Desk, recordingOf(document, { payloads: { 2: note } }))
    expect(() => recordingOf(document, { payloads: { 1: note } })).toThrow(
      "Session 'session-1' cannot be recorded: payloads names turn 1, which took no event.",
    )
  })

  test('shows an event that the flow does not take any more, with those that it takes', async () => {
    class Silent extends Desk {
      static override readonly id = 'Desk'
      override steps() {
        return [Mute, Nudge, Wait]
      }
    }
    class Mute extends Chat {
      static override readonly id = 'Chat'
      override events() {
        return super.events().filter(({ name }) => name !== 'says')
      }
    }
    await expect(replay(Silent, recordingOf(await stored()))).rejects.toThrow(
      /Event: says "I help you." by Ada\n\n {2}reply\n {4}- Ada \(emp-17\): I help you.\n {4}\+ failed with EVENT_NOT_TAKEN: .*\n {4}\+ {3}Its events now: note, quiet, close\./,
    )
  })

  test('without the name of an event is not whole', async () => {
    const recording = recordingOf(await stored())
    const [first, second, ...more] = recording.turns
    const broken = { ...recording, turns: [first, { ...second, event: {} }, ...more] } as Recording
    await expect(replay(Desk, broken)).rejects.toThrow('turns[1].event.name')
  })
})
