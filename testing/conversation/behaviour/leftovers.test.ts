/**
 * What must not pass in silence: faults that a restart took away, failures that a test caught, misspelt expectations,
 * forks.
 */
import { describe, expect, test } from 'vitest'
import { Flow, InvalidInputError, LogicStep, reply, type Turn, tool } from '../../../src/index.js'
import { Onboarding } from '../../contract/onboarding.js'
import { coverageOf } from '../../flow-coverage/index.js'
import { LockProbe } from '../../lock-probe/lock-probe.js'
import { retryAs } from '../client.js'
import { Conversation } from '../conversation.js'
import type { ConversationOptions } from '../conversation-options.js'
import { callTool, runStep } from '../run-step.js'

class Act extends LogicStep {
  static override readonly id = 'Act'
  override async run(turn: Turn) {
    if (turn.message === 'boom') throw new Error('out of paper')
    if (turn.message === 'wait') await new Promise(() => undefined)
    await turn.once('print', () => 1)
    return reply('Done.')
  }
}
class Acting extends Flow {
  static override readonly id = 'Acting'
  override steps() {
    return [Act]
  }
}

const printing = tool({ name: 'print', description: 'Prints.', execute: () => 'Printed.' })

describe('a fault that never struck', () => {
  test.each([
    ['restart() took its store away', (conversation: Conversation) => conversation.restart()],
    [
      'the process died',
      (conversation: Conversation) =>
        conversation.dieAfterEffect('print').say('Print', { key: 'print', fault: retryAs('same-key') }),
    ],
  ])('is reported at the end: %s', async (_why, act) => {
    const conversation = new Conversation(Acting)
    await conversation.open()
    conversation.store.failNext('save', { nth: 7 })
    await act(conversation)
    await conversation.say('Print')
    await expect(conversation.close()).rejects.toThrow('save fails before it takes effect, from call 7 on')
  })

  test('is not the outage of a process that died', async () => {
    const conversation = new Conversation(Acting).dieAfterEffect('print')
    await conversation.say('Print', { key: 'print', fault: retryAs('same-key') })
    await conversation.close()
  })

  test('nor one that struck before a restart', async () => {
    const conversation = new Conversation(Acting)
    await conversation.open()
    conversation.store.failNext('save', { times: 2 })
    await conversation.say('Print')
    await conversation.restart()
    await conversation.say('Print')
    await conversation.close()
  })
})

describe('use, after an expectation that the body caught', () => {
  const either = (conversation: Conversation): void => {
    try {
      conversation.expectReply('Your name?')
    } catch {
      conversation.expectReply('Your age?')
    }
  }

  test('reports what is left over', async () => {
    const conversation = new Conversation(Onboarding, { script: ['Your age?', 'Never said.'] })
    const used = conversation.use(async () => {
      await conversation.say('Hello')
      either(conversation)
    })
    await expect(used).rejects.toThrow('1 reply of 2 left')
  })

  test('reports a turn that failed', async () => {
    const conversation = new Conversation(Acting)
    const used = conversation.use(async () => {
      await conversation.say('Print')
      expect(() => conversation.expectReply('Printed.')).toThrow('Expected the reply')
      await conversation.say('boom')
    })
    await expect(used).rejects.toThrow('The turn "boom" failed with FLOW_ERROR: out of paper')
  })
})

describe('close, after a failure that the test caught', () => {
  async function afterHang(options: ConversationOptions = {}): Promise<Conversation> {
    const conversation = new Conversation(Acting, { hangAfterMs: 40, ...options })
    await conversation.say('Print')
    await expect(conversation.say('wait')).rejects.toThrow('Nothing has happened for 40 ms')
    await conversation.restart()
    return conversation
  }

  test.each<[string, ConversationOptions, (conversation: Conversation) => unknown]>([
    ['1 reply of 1 left', { script: ['Never said.'] }, () => undefined],
    ['No step offered a tool with the name of a double: find', { tools: { find: 1 } }, () => undefined],
    ['save fails before it takes effect', {}, (conversation) => conversation.store.failNext('save')],
    [`The process was to die after 'pay'`, {}, (conversation) => conversation.dieAfterEffect('pay')],
  ])('and a restart, reports what is left over: %s', async (text, options, act) => {
    const conversation = await afterHang(options)
    await act(conversation)
    await expect(conversation.close()).rejects.toThrow(text)
  })

  test('and a restart, reports a turn that failed', async () => {
    const conversation = await afterHang()
    await conversation.say('boom')
    await expect(conversation.close()).rejects.toThrow('The turn "boom" failed with FLOW_ERROR: out of paper')
  })

  test('reports a turn of a later message that failed', async () => {
    const conversation = new Conversation(Acting)
    await conversation.say('Print')
    expect(() => conversation.expectReply('Printed.')).toThrow('Expected the reply')
    await conversation.say('boom')
    await expect(conversation.close()).rejects.toThrow('The turn "boom" failed with FLOW_ERROR: out of paper')
  })

  test('reports nothing if the test ended there', async () => {
    const conversation = new Conversation(Acting, { script: ['Never said.'] })
    await conversation.say('Print')
    expect(() => conversation.expectReply('Printed.')).toThrow('Expected the reply')
    await conversation.close()
  })
})

describe('a misspelt name of an expectation is refused', () => {
  const misspelt: Readonly<Record<string, (conversation: Conversation) => unknown>> = {
    "expectAsked: there is no 'sytem' to expect. There is system, user, tools, params, output, step, call. Did you mean 'system'?":
      (conversation) => conversation.expectAsked({ sytem: /polite/ } as object),
    "expectToolCalls: there is no 'inpt' to expect. There is name, input, output, isError. Did you mean 'input'?": (
      conversation,
    ) => conversation.expectToolCalls([{ name: 'find', inpt: 1 } as { name: string }]),
    "expectReplies: there is no 'replyy' to expect. There is reply, code, replayed. Did you mean 'reply'?": (
      conversation,
    ) => conversation.expectReplies([{ replyy: 'Bye.' } as object, 'Done.']),
  }

  test.each(Object.keys(misspelt))('%s', async (text) => {
    const conversation = new Conversation(Onboarding, { script: () => 'Done.' })
    await conversation.atOnce(['Hello', 'Hello'])
    expect(() => misspelt[text]?.(conversation)).toThrow(text)
    await conversation.close()
  })
})

describe('a fork that is not closed', () => {
  test('is closed by the conversation that it came from, which fails for what it did not use', async () => {
    const conversation = new Conversation(Acting)
    await conversation.say('Print')
    const fork = await conversation.fork({ script: ['Never said.'] })
    await expect(conversation.close()).rejects.toThrow(/^The script of the model was not used up: 1 reply of 1 left/)
    await expect(fork.say('Print')).rejects.toThrow('say() was called after close()')
  })

  test('is closed even if that conversation fails itself', async () => {
    const conversation = new Conversation(Acting, { script: ['Never said.'] })
    await conversation.say('Print')
    const fork = await conversation.fork({ script: [] })
    await expect(conversation.close()).rejects.toThrow(/^The script of the model was not used up/)
    await expect(fork.say('Print')).rejects.toThrow('say() was called after close()')
  })
})

describe('a failed turn of a fork', () => {
  test('that is not closed fails the conversation that it came from', async () => {
    const conversation = new Conversation(Acting)
    await conversation.say('Print')
    const fork = await conversation.fork()
    const forkOfFork = await fork.fork()
    await forkOfFork.say('boom')
    await expect(conversation.close()).rejects.toThrow('The turn "boom" failed with FLOW_ERROR: out of paper')
  })

  test('does not if the fork expected it, or has failed for it', async () => {
    const conversation = new Conversation(Acting)
    await conversation.say('Print')
    const [expected, failed] = [await conversation.fork(), await conversation.fork()]
    await expected.say('boom')
    expected.expectError('FLOW_ERROR')
    await failed.say('boom')
    expect(() => failed.expectReply('Done.')).toThrow('out of paper')
    await conversation.close()
  })
})

describe('an option of a conversation', () => {
  test.each<[string, () => unknown]>([
    ["Conversation: there is no option 'scrpt'", () => new Conversation(Acting, { scrpt: [] } as object)],
    ["Conversation: there is no option 'sessionStore'", () => new Conversation(Acting, { sessionStore: 1 } as object)],
    ["Conversation.at: there is no option 'stat'", () => Conversation.at(Acting, { step: Act, stat: {} } as never)],
    ["fork: there is no option 'tolls'", () => new Conversation(Acting).fork({ tolls: {} } as object)],
    ["runStep: there is no option 'mesage'", () => runStep(Act, { mesage: 'Print' } as object)],
    ["callTool: there is no option 'mesage'", () => callTool('print', {}, { mesage: 'Print' } as object)],
    ["runStep: there is no option 'coverage'", () => runStep(Act, { coverage: coverageOf(Acting) } as object)],
    ["callTool: there is no option 'script'", () => callTool('print', {}, { step: Act, script: [] } as object)],
    ["callTool: there is no option 'tools'", () => callTool('print', {}, { step: Act, tools: {} } as object)],
    [
      "retryAs: there is no option 'cutOff'. The options are cutAfter.",
      () => retryAs('no-key', { cutOff: 1 } as object),
    ],
    ["LockProbe: there is no option 'hangAfter'", () => new LockProbe({ hangAfter: 5 } as object)],
    [
      'Conversation: hangAfterMs must be a number above 0, or Infinity for no bound; got NaN.',
      () => new Conversation(Acting, { hangAfterMs: Number.NaN }),
    ],
    ['LockProbe: stuckAfterMs must be a number above 0', () => new LockProbe({ stuckAfterMs: Number.NaN })],
    ['LockProbe: hangAfterMs must be a number above 0', () => new LockProbe({ hangAfterMs: -1 })],
  ])('is refused when it is given: %s', async (text, make) => {
    const failure = await (async () => make())().catch((error: unknown) => error)
    expect(failure).toBeInstanceOf(InvalidInputError)
    expect((failure as Error).message).toContain(text)
  })

  test.each<[string, () => unknown]>([
    [
      'callTool() needs the step whose state it is given: { step, state }.',
      () => callTool(printing, {}, { state: { n: 1 } } as object),
    ],
    [
      'retryAs() takes one of same-key, new-key, no-key, resume, and options; got "again".',
      () => retryAs('again' as never),
    ],
    ...['same-key', { client: 'again' }, null].map((fault): [string, () => unknown] => [
      `say() takes as fault what retryAs() makes; got ${JSON.stringify(fault)}.`,
      () => new Conversation(Acting).say('Print', { key: 'print', fault } as object),
    ]),
  ])('that would do nothing is refused: %s', async (text, act) => {
    await expect((async () => act())()).rejects.toThrow(text)
  })

  test('is one of a list in the message', () => {
    expect(() => new Conversation(Acting, { scrpt: [] } as object)).toThrow(
      /The options are script, tools, .*, onListenerError\. Did you mean 'script'\?$/,
    )
  })
})
