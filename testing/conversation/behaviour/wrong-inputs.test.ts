/** Values of another kind than TypeScript asks for: each is refused with what was expected, and what came. */
import { describe, expect, test } from 'vitest'
import { EndStep, Flow, go, InvalidInputError, LogicStep, reply, Step, tool } from '../../../src/index.js'
import { coverageOf, pathsOf } from '../../flow-coverage/index.js'
import { Conversation } from '../conversation.js'
import { callTool, runStep } from '../run-step.js'

class Act extends LogicStep<{ name?: string }> {
  static override readonly id = 'Act'
  override run() {
    return reply('Done.')
  }
}
class Look extends Step {
  static override readonly id = 'Look'
  override prompt() {
    return 'Look.'
  }
  override tools() {
    return [tool({ name: 'look', description: 'Looks.', execute: () => go(Act) })]
  }
}
class Acting extends Flow {
  static override readonly id = 'Acting'
  override model() {
    return { provider: 'openai', name: 'gpt-5-mini' }
  }
  override steps() {
    return [Act, Look]
  }
}

/** For what a program without types may pass. */
const untyped = {
  Conversation: Conversation as unknown as {
    new (...values: unknown[]): Conversation
    at(...values: unknown[]): Conversation
  },
  runStep: runStep as (...values: unknown[]) => Promise<unknown>,
  callTool: callTool as (...values: unknown[]) => Promise<unknown>,
}

describe('is refused when it is given', () => {
  const at = (start: object) => () => untyped.Conversation.at(Acting, { step: Act, ...start })
  test.each<readonly [string, () => unknown]>([
    ['Conversation: the flow must be a class that extends Flow; got undefined.', () => new untyped.Conversation()],
    ['Conversation: the flow must be a class that extends Flow; got {}.', () => new untyped.Conversation({})],
    [
      'Conversation.at: the flow must be a class that extends Flow; got "Acting".',
      () => untyped.Conversation.at('Acting'),
    ],
    [
      'Conversation: the flow must be a class that extends Flow; got the class Act.',
      () => new untyped.Conversation(Act),
    ],
    ['coverageOf: the flow must be a class that extends Flow; got undefined.', () => coverageOf(undefined as never)],
    ['coverageOf: the flow must be a class that extends Flow; got {}.', () => coverageOf([Acting, {} as never])],
    ['pathsOf: the flow must be a class that extends Flow; got undefined.', () => pathsOf(undefined as never)],
    ['Conversation: judge must have the method problemOf.', () => new untyped.Conversation(Acting, { judge: {} })],
    [
      "Conversation: judge.hangAfterMs must be a number above 0, or Infinity for no bound; got the text '30s'.",
      () => new untyped.Conversation(Acting, { judge: { problemOf: () => undefined, hangAfterMs: '30s' } }),
    ],
    ['Conversation: coverage must have the method watch.', () => new untyped.Conversation(Acting, { coverage: {} })],
    [
      'Conversation.at: step must be a step of the flow, or its ID; got undefined.',
      () => untyped.Conversation.at(Acting, {}),
    ],
    ['Conversation.at: step must be a step of the flow, or its ID; got the class Acting.', at({ step: Acting })],
    ['Conversation.at: state must be an object; got "abc".', at({ state: 'abc' })],
    ['Conversation.at: state must be an object; got [1].', at({ state: [1] })],
    ['Conversation.at: state must be an object; got null.', at({ state: null })],
    ['Conversation.at: stateOf must be a list of pairs, a step and some of its state', at({ stateOf: { Look: {} } })],
    ['Conversation.at: stateOf must be a list of pairs, a step and some of its state', at({ stateOf: [Look, {}] })],
    ['Conversation.at: stateOf must be a list of pairs, a step and some of its state', at({ stateOf: [[Look]] })],
    ['Conversation.at: history must be a list of pairs, a message and its reply', at({ history: ['Hello', 'Hi'] })],
    ['Conversation.at: history must be a list of pairs, a message and its reply', at({ history: [['Hello']] })],
    ['Conversation.at: memory must be a list of messages', at({ memory: 'Hello' })],
    ['Conversation.at: memory must be a list of messages', at({ memory: ['Hello'] })],
    ['Conversation.at: memory must be a list of messages', at({ memory: [{ role: 'usr', text: 'Hello' }] })],
    ['Conversation.at: memory must be a list of messages', at({ memory: [{ role: 'user', content: 'Hello' }] })],
    ['runStep: the step must be a class of a step; got undefined.', () => untyped.runStep()],
    ['runStep: the step must be a class of a step; got the class Acting.', () => untyped.runStep(Acting)],
    ['runStep: state must be an object; got "abc".', () => untyped.runStep(Act, { state: 'abc' })],
    ['callTool: the step must be a class of a step; got "Look".', () => untyped.callTool('look', {}, { step: 'Look' })],
    ['callTool: history must be a list', () => untyped.callTool('look', {}, { step: Look, history: 'Hello' })],
  ])('%s', async (text, act) => {
    const failure = await (async () => act())().catch((error: unknown) => error)
    expect((failure as Error).message).toContain(text)
    expect(failure).toBeInstanceOf(InvalidInputError)
  })

  test('an object that is not a tool', async () => {
    await expect(untyped.callTool()).rejects.toThrow(
      'callTool() needs a tool, or the name of one that a step offers; got undefined.',
    )
    await expect(untyped.callTool({ execute: () => 1 })).rejects.toThrow('got {}.')
    await expect(untyped.callTool({ name: 'look' })).rejects.toThrow('got {"name":"look"}.')
  })
})

test('a conversation does not begin at an end step, which nobody talks to', async () => {
  class Done extends EndStep {
    static override readonly id = 'Done'
  }
  class Ending extends Flow {
    static override readonly id = 'Ending'
    override steps() {
      return [Act, Done]
    }
  }
  const text = "step 'Done' is an end step: it completes the session when it is entered, and takes no message. "
  expect(() => Conversation.at(Ending, { step: 'Done' })).toThrow(`Conversation.at: ${text}Begin at a step before it.`)
  await expect(runStep(Done, { message: 'Hello' })).rejects.toThrow(
    `runStep: ${text}Leave message out, so that it is entered.`,
  )
  expect((await runStep(Done)).document.runStatus).toBe('completed')
})

test('what is right is taken', async () => {
  const start = { state: { name: 'Ada' }, stateOf: [[Look, {}]], history: [['Hello', 'Hi']] } as const
  await using conversation = Conversation.at(Acting, { step: Act, ...start })
  await conversation.say('Go on')
  conversation.expectState(Act, { name: 'Ada' })
})

describe('messages and expectations', () => {
  const acts: Readonly<Record<string, (conversation: Conversation) => unknown>> = {
    'say: the options must be an object.': (one) => one.say('Hi', null as never),
    'stream: the options must be an object.': (one) => one.stream('Hi', 'pay' as never),
    'atOnce() needs a list of messages; got "Hi".': (one) => one.atOnce('Hi' as never),
    'A reply is expected as a text, a RegExp or a Standard Schema; got undefined.': (one) =>
      one.expectReply(undefined as never),
    'A reply is expected as a text, a RegExp or a Standard Schema; got ["Done."].': (one) =>
      one.expectReply(['Done.'] as never),
    'expectStep needs a step of the flow, or its ID; got undefined.': (one) => one.expectStep(undefined as never),
    'expectStep needs a step of the flow, or its ID; got the class Acting.': (one) => one.expectStep(Acting as never),
    'expectState needs a step of the flow, or its ID; got 5.': (one) => one.expectState(5 as never, {} as never),
    'expectParts needs a list of parts, each whole or with some fields; got {}.': (one) => one.expectParts({} as never),
    'expectState needs some properties of the state, as an object; got undefined.': (one) =>
      one.expectState(Act, undefined as never),
    'expectState would check nothing, because {} has no properties': (one) => one.expectState(Act, {}),
    'expectError: there is no error code "FLOW_ERORR". The codes are INVALID_INPUT,': (one) =>
      one.expectError('FLOW_ERORR' as never),
    "TURN_TIMEOUT. Did you mean 'FLOW_ERROR'?": (one) => one.expectError('FLOW_ERORR' as never),
    'use() needs the body of the test, a function that gets the conversation; got undefined.': (one) =>
      one.use(undefined as never),
    'expectToolCalls needs a list of names, or of objects with a name; got "look".': (one) =>
      one.expectToolCalls('look' as never),
    'expectToolCalls needs a list of names, or of objects with a name; got [5].': (one) =>
      one.expectToolCalls([5] as never),
    "dieAfterEffect needs the name of an effect, and 'commit' or 'result' as before; got undefined and \"commit\".": (
      one,
    ) => one.dieAfterEffect(undefined as never),
    'dieAfterEffect needs the name of an effect, and \'commit\' or \'result\' as before; got "pay" and "save".': (
      one,
    ) => one.dieAfterEffect('pay', { before: 'save' as never }),
    "dieAfterEffect: there is no option 'befor'.": (one) => one.dieAfterEffect('pay', { befor: 'result' } as never),
  }

  test.each(Object.keys(acts))('%s', async (text) => {
    const conversation = new Conversation(Acting)
    await conversation.say('Hello')
    await expect((async () => acts[text]?.(conversation))()).rejects.toThrow(text)
    await conversation.close()
  })

  test.each([
    ['"D"', 'D'],
    ['[null]', [undefined]],
    ['[["Done."]]', [['Done.']]],
  ])('expectReplies needs a list of outcomes; got %s', async (shown, outcomes) => {
    const conversation = new Conversation(Acting)
    await conversation.atOnce(['Hello'])
    expect(() => conversation.expectReplies(outcomes as never)).toThrow(
      `expectReplies needs a list of outcomes, each a reply or { reply, code, replayed }; got ${shown}.\nWhere: flow 'Acting', step 'Act', turn 1`,
    )
    await conversation.close()
  })
})
