import { describe, expect, test } from 'vitest'
import { flowOf, place, upTo } from '../../../../testing/contract/test-flows.js'
import { Conversation, type ModelScript } from '../../../../testing/index.js'
import {
  End,
  type FlowConstructor,
  finish,
  go,
  LogicStep,
  reply,
  retry,
  Step,
  type StepConstructor,
  stay,
  type Transition,
  type Turn,
  tool,
} from '../../../index.js'

const Next = place('Next')

/** The places that may return a transition. In each, the step at hand is `Start`, and `Next` is somewhere to go. */
const places: Readonly<Record<string, (transition: Transition) => { flow: FlowConstructor; script: ModelScript }>> = {
  run(transition) {
    class Start extends LogicStep {
      static override readonly id = 'Start'
      override run() {
        return transition
      }
    }
    return { flow: flowOf(Start, Next), script: [] }
  },
  onEnter(transition) {
    class Start extends LogicStep {
      static override readonly id = 'Start'
      override onEnter() {
        return transition
      }
      override run() {
        return reply('run was called.')
      }
    }
    return { flow: flowOf(Start, Next), script: [] }
  },
  onReply(transition) {
    class Start extends Step {
      static override readonly id = 'Start'
      override onReply(text: string) {
        return text === 'First.' ? transition : text
      }
    }
    return { flow: flowOf(Start, Next), script: upTo('First.', 'Second.') }
  },
  tool(transition) {
    class Start extends Step {
      static override readonly id = 'Start'
      override tools() {
        return [tool({ name: 'act', description: 'Acts.', execute: () => transition })]
      }
    }
    return { flow: flowOf(Start, Next), script: upTo({ toolCalls: [{ name: 'act' }] }, 'Second.') }
  },
}

interface Outcome {
  readonly text: string
  readonly step: string
  readonly completed?: true
}

const builders: Readonly<Record<string, readonly [Transition, Outcome]>> = {
  'go(Next)': [go(Next), { text: 'At Next.', step: 'Next' }],
  "go('Next')": [go('Next'), { text: 'At Next.', step: 'Next' }],
  'go(Next).withReply(text)': [go(Next).withReply('Moved.'), { text: 'Moved.', step: 'Next' }],
  'go(Next).withReply(object)': [go(Next).withReply({ at: 1 }), { text: '{"at":1}', step: 'Next' }],
  'reply(text)': [reply('Here.'), { text: 'Here.', step: 'Start' }],
  'reply(object)': [reply({ here: true }), { text: '{"here":true}', step: 'Start' }],
  'finish()': [finish(), { text: '', step: 'End', completed: true }],
  'finish(text)': [finish('Bye.'), { text: 'Bye.', step: 'End', completed: true }],
  'go(End)': [go(End), { text: '', step: 'End', completed: true }],
}

describe('a transition means the same wherever it is returned', () => {
  const cases = Object.keys(places).flatMap((name) => Object.keys(builders).map((builder) => [name, builder] as const))

  test.each(cases)('from %s: %s', async (name, builder) => {
    const [transition, { text, step, completed = false }] = builders[builder] as (typeof builders)[string]
    const { flow, script } = (places[name] as (typeof places)[string])(transition)
    await using conversation = new Conversation(flow, { script })
    const response = await conversation.say('Hello')
    expect(response).toEqual({
      success: true,
      completed,
      message: text,
      session: conversation.sessionId,
      contentType: 'text/plain',
      sessionState: completed ? 'completed' : 'running',
    })
    expect((await conversation.document()).flow.currentStep).toBe(step)
  })
})

describe('stay', () => {
  /** A conversation in which that place returned the transition. */
  const returning = async (name: string, transition: Transition): Promise<Conversation> => {
    const { flow, script } = (places[name] as (typeof places)[string])(transition)
    const conversation = new Conversation(flow, { script })
    await conversation.say('Hello')
    return conversation
  }

  test.each(['run', 'onEnter'])('with a text is the reply, from %s', async (name) => {
    await using conversation = await returning(name, stay('Once more, please.'))
    conversation.expectReply('Once more, please.')
  })

  test.each(['run', 'onEnter'])('without a text is an error, from %s', async (name) => {
    await using conversation = await returning(name, stay())
    conversation.expectError('FLOW_ERROR', `Step 'Start' returned stay() without a text from ${name}.`)
  })

  test('from onReply has the model answer again, as retry does', async () => {
    await using staying = await returning('onReply', stay('Better, please.'))
    staying.expectReply('Second.')
    await using retrying = await returning('onReply', retry('Better, please.'))
    retrying.expectReply('Second.')
  })

  test('from onReply without a text is an error', async () => {
    await using conversation = await returning('onReply', stay())
    conversation.expectError('FLOW_ERROR', "onReply of step 'Start' returned stay() without a text.")
  })

  test.each([stay(), stay('Noted.'), retry('Noted.')])('from a tool lets the model go on (%#)', async (transition) => {
    await using conversation = await returning('tool', transition)
    conversation.expectReply('Second.')
  })
})

describe('retry', () => {
  /** A step whose model always fails, and which returns the transition for that. */
  const failing = (transition: Transition): Conversation => {
    class Start extends Step {
      static override readonly id = 'Start'
      override onModelError() {
        return transition
      }
    }
    return new Conversation(flowOf(Start, Next), { script: upTo({ error: new Error('down') }) })
  }

  test.each(['run', 'onEnter'])('is an error from %s, where no model answers', async (name) => {
    const { flow, script } = (places[name] as (typeof places)[string])(retry('Better, please.'))
    await using conversation = new Conversation(flow, { script })
    await conversation.say('Hello')
    conversation.expectError(
      'FLOW_ERROR',
      `Step 'Start' returned retry() from ${name}. Only onReply and tools may: return reply(text) to answer the user.`,
    )
  })

  test('is an error from onModelError, where no model answered', async () => {
    await using conversation = failing(retry('Once more.'))
    await conversation.say('Hello')
    conversation.expectError(
      'FLOW_ERROR',
      "Step 'Start' returned retry() from onModelError or onModelBlocked. Only onReply and tools may: return reply(text) to answer the user.",
    )
  })
})

describe('a turn', () => {
  /** A step that writes down each of its hooks. */
  function noting(id: string, notes: string[], act: (turn: Turn) => Transition): StepConstructor {
    return class extends LogicStep {
      static override readonly id = id
      override onEnter() {
        notes.push(`${id} enter`)
      }
      override run(turn: Turn) {
        notes.push(`${id} run${turn.entered ? ' entered' : ''}: ${turn.message}`)
        return act(turn)
      }
      override onExit() {
        notes.push(`${id} exit`)
      }
      override onRestore() {
        notes.push(`${id} restore`)
      }
    }
  }

  test('starts in the first step, calls the hooks in order, and goes on where it stopped', async () => {
    const notes: string[] = []
    const Ask = noting('Ask', notes, (turn) => (turn.entered ? reply('Your name?') : go('Greet')))
    const Greet = noting('Greet', notes, (turn) => (turn.entered ? reply(`Hello, ${turn.message}.`) : finish('Bye.')))
    await using conversation = new Conversation(flowOf(Ask, Greet))
    await conversation.say('Hi')
    conversation.expectReply('Your name?')
    expect(notes.splice(0)).toEqual(['Ask enter', 'Ask run entered: Hi'])
    await conversation.say('Ada')
    conversation.expectReply('Hello, Ada.')
    expect(notes.splice(0)).toEqual([
      'Ask restore',
      'Ask run: Ada',
      'Ask exit',
      'Greet enter',
      'Greet run entered: Ada',
    ])
    await conversation.say('Thanks')
    conversation.expectReply('Bye.')
    expect(notes).toEqual(['Greet restore', 'Greet run: Thanks', 'Greet exit'])
    expect((await conversation.document()).flow.sequence).toEqual([
      { step: 'Ask', level: 0 },
      { step: 'Greet', level: 0 },
      { step: 'End', level: 0 },
    ])
  })

  test('that moved with a reply goes on in the destination, which does not run before', async () => {
    const notes: string[] = []
    const Ask = noting('Ask', notes, () => go('Greet').withReply('Your name?'))
    const Greet = noting('Greet', notes, (turn) => reply(turn.entered ? 'too early' : `Hello, ${turn.message}.`))
    await using conversation = new Conversation(flowOf(Ask, Greet))
    await conversation.say('Hi')
    conversation.expectReply('Your name?')
    expect(notes.splice(0)).toEqual(['Ask enter', 'Ask run entered: Hi', 'Ask exit', 'Greet enter'])
    await conversation.say('Ada')
    conversation.expectReply('Hello, Ada.')
    expect(notes).toEqual(['Greet restore', 'Greet run: Ada'])
  })

  test('may go to the step it is in: that one is left and entered again', async () => {
    const notes: string[] = []
    const Ask = noting('Ask', notes, (turn) => (turn.entered ? reply('Your name?') : go('Ask')))
    await using conversation = new Conversation(flowOf(Ask))
    await conversation.say('Hi')
    notes.length = 0
    await conversation.say('Again')
    conversation.expectReply('Your name?')
    expect(notes).toEqual(['Ask restore', 'Ask run: Again', 'Ask exit', 'Ask enter', 'Ask run entered: Again'])
  })

  test('lets onEnter send it on before the step ran', async () => {
    class Gate extends LogicStep {
      static override readonly id = 'Gate'
      override async onEnter() {
        return go('Next')
      }
      override run() {
        return reply('run was called.')
      }
    }
    await using conversation = new Conversation(flowOf(Gate, Next))
    await conversation.say('Hi')
    conversation.expectReply('At Next.')
  })

  test('waits for promises from every hook', async () => {
    class Slow extends LogicStep {
      static override readonly id = 'Slow'
      override async onEnter() {}
      override async onExit() {}
      override async onRestore() {}
      override async run(turn: Turn) {
        return turn.entered ? reply('One.') : finish('Two.')
      }
    }
    await using conversation = new Conversation(flowOf(Slow))
    await conversation.say('a')
    conversation.expectReply('One.')
    await conversation.say('b')
    conversation.expectReply('Two.')
  })

  test('waits for promises also where a model moves it on', async () => {
    const notes: string[] = []
    class Talk extends Step {
      static override readonly id = 'Talk'
      override async onExit() {
        await Promise.resolve()
        notes.push('Talk exit')
      }
      override onReply() {
        return go('Slow')
      }
    }
    class Slow extends LogicStep {
      static override readonly id = 'Slow'
      override async onEnter() {
        await Promise.resolve()
        notes.push('Slow enter')
      }
      override run() {
        return finish('Done.')
      }
    }
    await using conversation = new Conversation(flowOf(Talk, Slow), { script: ['Hello.'] })
    await conversation.say('Hi')
    conversation.expectReply('Done.')
    expect(notes).toEqual(['Talk exit', 'Slow enter'])
  })

  test('fails with what flow code throws', async () => {
    class Broken extends LogicStep {
      static override readonly id = 'Broken'
      override run(): Transition {
        throw new TypeError('no such table')
      }
    }
    await using conversation = new Conversation(flowOf(Broken))
    await conversation.say('Hi')
    conversation.expectError('FLOW_ERROR', 'no such table')
  })
})

test('the sequence keeps the last 20 steps that were entered', async () => {
  class Loop extends LogicStep<{ left: number }> {
    static override readonly id = 'Loop'
    override initialState() {
      return { left: 24 }
    }
    override run() {
      return this.state.left-- > 0 ? go('Loop') : go('Next')
    }
  }
  await using conversation = new Conversation(flowOf(Loop, Next))
  await conversation.say('Hi')
  const { sequence } = (await conversation.document()).flow
  expect(sequence).toHaveLength(20)
  expect(sequence.at(-1)).toEqual({ step: 'Next', level: 0 })
})
