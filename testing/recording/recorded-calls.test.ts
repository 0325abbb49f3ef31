/** Calls, returns and parts in a recording: replayed as they were, and shown if they differ. */
import { describe, expect, test } from 'vitest'
import {
  back,
  call,
  Flow,
  finish,
  go,
  LogicStep,
  reply,
  type SessionDocument,
  Step,
  type StepConstructor,
  type Turn,
  tool,
} from '../../src/index.js'
import { choices } from '../../src/parts/index.js'
import { Conversation } from '../conversation/conversation.js'
import { recordingOf, replay } from './recording.js'

class Chat extends Step {
  static override readonly id = 'Chat'
  override tools() {
    return [tool({ name: 'move', description: 'Moves.', execute: () => call(Address) })]
  }
}
class Hours extends LogicStep {
  static override readonly id: string = 'Hours'
  override run({ message }: Turn) {
    const { day } = /closed on (?<day>\w+)/.exec(message)?.groups ?? {}
    return day === undefined ? back().withLead('From 9 to 5.') : back().withReply(`No, not on ${day}.`)
  }
}
class Ask extends Step {
  static override readonly id = 'Ask'
  override tools() {
    return [tool({ name: 'take', description: 'Takes it.', execute: () => go('Day') })]
  }
}
class Day extends LogicStep {
  static override readonly id = 'Day'
  override run({ choice }: Turn) {
    if (choice !== undefined) return finish(`Moved on ${choice.value}.`)
    return reply('Which day?').withParts([choices('day', this.days())])
  }
  days() {
    return [
      { value: 'tue', label: 'Tuesday' },
      { value: 'fri', label: 'Friday' },
    ]
  }
}
class Address extends Flow {
  static override readonly id: string = 'Address'
  override steps(): readonly StepConstructor[] {
    return [Ask, Day]
  }
}
class Shop extends Flow {
  static override readonly id: string = 'Shop'
  override model() {
    return { provider: 'openai', name: 'gpt-5-mini' }
  }
  override steps(): ReturnType<Flow['steps']> {
    return [Chat, Hours, Address]
  }
  override onMessage({ message }: Turn) {
    return message.endsWith('?') ? call(Hours) : undefined
  }
}

/** A session with side questions, before a model and in a called flow, that ends with a pressed button. */
async function stored(press: (conversation: Conversation) => unknown): Promise<SessionDocument> {
  const script = [
    ...['Hello.', 'So?', { toolCalls: [{ name: 'move' }] }],
    ...['Where to?', 'Well, where to?', { toolCalls: [{ name: 'take' }] }, 'All done.'],
  ]
  await using conversation = new Conversation(Shop, { script })
  for (const text of ['Hello', 'open?', 'I move']) await conversation.say(text)
  await conversation.say('closed on Sunday?')
  conversation.expectReply('No, not on Sunday.').expectStep('Address/Ask')
  for (const text of ['when?', 'Ulm']) await conversation.say(text)
  await press(conversation)
  return conversation.document()
}

describe('a recording', () => {
  test('has the parts of replies, and replays calls and returns', async () => {
    const document = await stored((conversation) => conversation.choose('Friday'))
    expect(document.history.at(-1)?.reply).toBe('Moved on fri.\n\nAll done.')
    const recording = JSON.parse(JSON.stringify(recordingOf(document)))
    expect(recording.turns.map(({ parts }: { parts?: readonly unknown[] }) => parts?.length)).toEqual([
      ...[undefined, undefined, undefined, undefined],
      ...[undefined, 1, undefined],
    ])
    const replayed = await replay(Shop, recording)
    expect(replayed.history).toEqual(document.history)
    expect(replayed.flow).toEqual(document.flow)
  })

  test('sends the button that is added to it', async () => {
    const recording = recordingOf(await stored((conversation) => conversation.choose('Tuesday')))
    const withChoice = (turn: number) => ({
      ...recording,
      turns: recording.turns.map((one) =>
        one.number === 7 ? { ...one, choice: { turn, name: 'day', value: 'tue' } } : one,
      ),
    })
    await replay(Shop, recording)
    await replay(Shop, withChoice(6))
    // A button of an older reply is not taken.
    await expect(replay(Shop, withChoice(5))).rejects.toThrow('  User chooses: "Tuesday"\n')
  })

  test('shows other parts', async () => {
    class Weekend extends Day {
      static override readonly id = 'Day'
      override days() {
        return [...super.days(), { value: 'sat', label: 'Saturday' }]
      }
    }
    class Moving extends Address {
      static override readonly id = 'Address'
      override steps() {
        return [Ask, Weekend]
      }
    }
    class Later extends Shop {
      static override readonly id = 'Shop'
      override steps() {
        return [Chat, Hours, Moving]
      }
    }
    const recording = recordingOf(await stored((conversation) => conversation.choose('Friday')))
    await expect(replay(Later, recording)).rejects.toThrow(
      /differs at turn 6 of 7\.\n\n {2}User: "Ulm"\n\n {2}parts\n {4}- .*"Friday".*\n {4}\+ .*"Saturday"/,
    )
  })

  test('knows a flow and a step by their former names', async () => {
    class Opening extends Hours {
      static override readonly id = 'Opening'
      static override readonly aliases = ['Hours']
    }
    class Relocation extends Address {
      static override readonly id = 'Relocation'
      static override readonly aliases = ['Address']
    }
    class Move extends Step {
      static override readonly id = 'Chat'
      override tools() {
        return [tool({ name: 'move', description: 'Moves.', execute: () => call(Relocation) })]
      }
    }
    class Renamed extends Shop {
      static override readonly id = 'Shop'
      override steps() {
        return [Move, Opening, Relocation]
      }
      override onMessage({ message }: Turn) {
        return message.endsWith('?') ? call(Opening) : undefined
      }
    }
    const script = ['Hello.', { toolCalls: [{ name: 'move' }] }, 'Where to?', { toolCalls: [{ name: 'take' }] }]
    await using conversation = new Conversation(Shop, { script })
    for (const text of ['Hello', 'I move', 'Ulm']) await conversation.say(text)
    const replayed = await replay(Renamed, recordingOf(await conversation.document()))
    expect(replayed.history.map(({ step }) => step)).toEqual(['Chat', 'Relocation/Ask', 'Relocation/Day'])
    // After a return a model is told the new name: that is a difference, and the first one.
    await expect(replay(Renamed, recordingOf(await stored((one) => one.choose('Friday'))))).rejects.toThrow(
      /differs at turn 2 of 7\.[\s\S]*memory 'Chat'\n {4}- user: Returned from Hours: .*\n {4}\+ user: Returned from Opening: /,
    )
  })
})
