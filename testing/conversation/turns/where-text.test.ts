// The place that a failure names: the line above the transcript.
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import {
  Flow,
  finish,
  go,
  LogicStep,
  reply,
  Step,
  type StepConstructor,
  type Transition,
  type Turn,
  tool,
} from '../../../src/index.js'
import { Conversation } from '../../index.js'

class AskName extends LogicStep<{ name?: string }> {
  static override readonly id = 'AskName'
  override run(turn: Turn): Transition | Promise<Transition> {
    if (turn.message === 'wait') return new Promise(() => undefined)
    if (turn.message !== 'Ada') return reply('What is your name?')
    this.state.name = turn.message
    return go(Confirm)
  }
}

class Confirm extends LogicStep {
  static override readonly id = 'Confirm'
  override run(turn: Turn): Transition {
    if (turn.message === 'yes') return finish('Welcome!')
    return reply('Is that right?')
  }
}

class Greeting extends Flow {
  static override readonly id = 'Greeting'
  override steps(): readonly StepConstructor[] {
    return [AskName, Confirm]
  }
}

class Look extends Step {
  static override readonly id = 'Look'
  override prompt(): string {
    return 'Look.'
  }
  override tools() {
    return [tool({ name: 'look', description: 'Looks.', input: z.object({}), execute: () => 'nothing' })]
  }
}

class Looking extends Flow {
  static override readonly id = 'Looking'
  override model() {
    return { provider: 'any', name: 'any' }
  }
  override steps(): readonly StepConstructor[] {
    return [Look]
  }
}

/** The line that says where the failure is. */
async function whereOf(act: () => unknown): Promise<string | undefined> {
  const failure = await (async () => act())().then(
    () => new Error('nothing failed'),
    (error: Error) => error,
  )
  return /^Where: (.*)$/m.exec(failure.message)?.[1]
}

async function said(...messages: readonly string[]): Promise<Conversation> {
  const conversation = new Conversation(Greeting)
  for (const message of messages) await conversation.say(message)
  return conversation
}

const failing = (conversation: Conversation) => whereOf(() => conversation.expectReply('Good evening.'))

describe('a failure is', () => {
  test('before the first turn, at the step at which the conversation begins, if it begins in the middle', async () => {
    expect(await failing(new Conversation(Greeting))).toBe("flow 'Greeting', before the first turn")
    const started = Conversation.at(Greeting, { step: Confirm })
    expect(await failing(started)).toBe("flow 'Greeting', step 'Confirm', before the first turn")
  })

  test('at the step at which a turn left the conversation', async () => {
    expect(await failing(await said('Hello', 'Ada'))).toBe("flow 'Greeting', step 'Confirm', turn 2")
    expect(await failing(await said('Hello', 'Ada', 'yes'))).toBe("flow 'Greeting', step 'End', turn 3")
  })

  test('in the step in which a turn failed, although the session is not there', async () => {
    class Crashing extends Greeting {
      override steps(): readonly StepConstructor[] {
        return [AskName, Crash]
      }
    }
    class Crash extends Confirm {
      override run(): Transition {
        throw new Error('no database')
      }
    }
    const conversation = new Conversation(Crashing)
    await conversation.say('Hello')
    await conversation.say('Ada')
    expect(await failing(conversation)).toBe("flow 'Greeting', step 'Confirm', turn 2")
  })

  test('in the turn under way, at the step that the next message of the session reaches', async () => {
    const conversation = await said('Hello', 'Ada')
    const answer = conversation.say('What?')
    expect(await failing(conversation)).toBe("flow 'Greeting', step 'Confirm', turn 3")
    await answer
    // The session has ended: the next message begins another one.
    await conversation.say('yes')
    const next = conversation.say('Hello')
    expect(await failing(conversation)).toBe("flow 'Greeting', turn 1 of session 2")
    await next
  })

  test('in the turn that was under way at the end, whether it has ended meanwhile or not', async () => {
    const conversation = await said('Hello')
    const answer = conversation.say('Ada')
    expect(await whereOf(() => conversation.close())).toBe("flow 'Greeting', step 'AskName', turn 2")
    expect((await answer).error?.code).toBe('ENGINE_CLOSED')

    const hanging = await said('Hello')
    void hanging.say('wait').catch(() => undefined)
    expect(await whereOf(() => hanging.close())).toBe("flow 'Greeting', step 'AskName', turn 2")
  })

  test('in the session that the message was sent to, as that session was left', async () => {
    const conversation = await said('Hello', 'Ada')
    const first = conversation.sessionId
    conversation.sessionId = ''
    const beginning = conversation.say('Hello')
    expect(await failing(conversation)).toBe("flow 'Greeting', turn 1 of session 2")
    await beginning
    conversation.sessionId = first
    const back = conversation.say('Hm?')
    expect(await failing(conversation)).toBe("flow 'Greeting', step 'Confirm', turn 3")
    await back
    expect(conversation.transcript().match(/^## .*/gm)).toEqual([
      '## Turn 1',
      '## Turn 2',
      '## Turn 1 (in a new session)',
      '## Turn 3 (in session 1)',
    ])
  })

  test('in the turn under way of a fork, which goes on in a copy of the session', async () => {
    const fork = await (await said('Hello', 'Ada')).fork()
    const answer = fork.say('Hm?')
    expect(await failing(fork)).toBe("flow 'Greeting', step 'Confirm', turn 3")
    await answer
  })

  test('after the last turn, where something is left over', async () => {
    const conversation = new Conversation(Greeting, { tools: { find_table: 1 } })
    await conversation.say('Hello')
    expect(await whereOf(() => conversation.close())).toBe("flow 'Greeting', step 'AskName', after turn 1")
  })

  test('in the turn of the message, of those that were sent at once', async () => {
    const conversation = await said('Hello')
    await conversation.atOnce(['What?', 'Ada', 'What?'])
    const where = await whereOf(() => conversation.expectReplies([/name/, /name/, /right/]))
    expect(where).toBe("flow 'Greeting', step 'Confirm', turn 3")
  })

  test('at the step at which a message left the session, of those that were sent at once', async () => {
    const conversation = await said('Hello')
    await conversation.atOnce(['What?', 'Ada', 'What?'])
    const where = await whereOf(() => conversation.expectReplies([/right/, /name/, /right/]))
    expect(where).toBe("flow 'Greeting', step 'AskName', turn 2")
  })

  test('in the turn in which a double has no result left, of messages that were sent at once', async () => {
    const conversation = new Conversation(Looking, {
      script: ({ messages }) =>
        messages.at(-1)?.role === 'tool' ? 'Found.' : { toolCalls: [{ name: 'look', input: {} }] },
      tools: { look: ['a', 'b'] },
    })
    await conversation.say('one')
    const where = await whereOf(() => conversation.atOnce(['two', 'three', 'four']))
    expect(where).toBe("flow 'Looking', step 'Look', turn 3")
  })

  test('in the turn in which the script has no reply left, of messages that were sent at once', async () => {
    const conversation = new Conversation(Looking, { script: ['one', 'two'] })
    await conversation.say('one')
    const failure: Error = await conversation.atOnce(['two', 'three', 'four']).catch((error) => error)
    expect(failure.message).toContain("flow 'Looking', step 'Look', turn 3, call 1 of the turn")
    // It says so once, and names no other turn.
    expect(failure.message).not.toContain('Where:')
  })

  test('in the session of the message, where each of those that were sent at once began one', async () => {
    const conversation = new Conversation(Greeting)
    await conversation.atOnce(['Hello', 'Ada'])
    const where = await whereOf(() => conversation.expectReplies([/name/, /name/]))
    expect(where).toBe("flow 'Greeting', step 'Confirm', turn 1 of session 2")
  })
})
