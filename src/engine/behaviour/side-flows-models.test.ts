/** Side flows and models: what a model step is told when it is returned to, and what called flows bring along. */
import { afterEach, describe, expect, test } from 'vitest'
import { expectNothingLeft } from '../../../testing/contract/engine-harness.js'
import { type Acts, calls, fails, modelHarness } from '../../../testing/contract/model-harness.js'
import { flow, modelStep, step, talk } from '../../../testing/contract/side-flows/talk.js'
import {
  calling,
  delta,
  finish as last,
  pieces,
  readAll,
  shortly,
  streaming,
} from '../../../testing/contract/stream-harness.js'
import { lines } from '../../../testing/contract/test-flows.js'
import {
  back,
  call,
  type FlowConstructor,
  type FlowStreamEvent,
  finish,
  go,
  type ModelStreamPart,
  reply,
  stay,
  type Turn,
  tool,
} from '../../index.js'

afterEach(expectNothingLeft)

const small = () => ({ provider: 'own', name: 'small' })
const large = () => ({ provider: 'own', name: 'large' })
const Hours = step('Hours', () => back().withLead('From 9 to 5.'))
const isAboutHours = ({ message }: Turn) => (/open/.test(message) ? call('Hours') : undefined)

/** A conversation over models that do what a test says. */
function talkWith(of: FlowConstructor, acts: Acts) {
  const made = modelHarness(acts, { flows: [of] })
  const spoken = talk(of, { made })
  return {
    ...spoken,
    made,
    /** The memory of a namespace, in short. */
    memory: async (namespace: string) => lines((await spoken.now()).flow.memory[namespace]?.messages),
    /** The messages of the last call, in short. */
    asked: () => lines(made.asked.at(-1)?.request.messages as never),
    /** The names of the tools of the last call. */
    tools: () => made.asked.at(-1)?.request.tools.map(({ name }) => name),
  }
}

describe('a model step that is returned to', () => {
  test('reads what was answered, not the side question, and asks its question again', async () => {
    const { say, asked, memory } = talkWith(
      flow('Shop', [modelStep('Chat'), Hours], { model: small, onMessage: isAboutHours }),
      { 'own/small': ['Which size?', 'So, which size?'] },
    )
    await say('A shirt.')
    expect(await say('Are you open?')).toBe('From 9 to 5.\n\nSo, which size?')
    expect(asked()).toEqual(['user: A shirt.', 'assistant: Which size?', 'user: Returned from Hours: From 9 to 5.'])
    expect(await memory('Chat')).toEqual([...asked(), 'assistant: So, which size?'])
  })

  test('does not get the files of the side question', async () => {
    const { say, asked } = talkWith(
      flow('Shop', [modelStep('Chat'), Hours], { model: small, onMessage: isAboutHours }),
      { 'own/small': ['Which size?', 'So?'] },
    )
    await say('A shirt.')
    await say('What does this say, are you open?', {
      attachments: [{ type: 'image', mediaType: 'image/png', data: 'AAAA' }],
    })
    expect(asked().at(-1)).toBe('user: Returned from Hours: From 9 to 5.')
  })

  test('reads the text of withMessage instead, and a return without a lead', async () => {
    const Side = step('Side', ({ message }) => (message === 'plain' ? back() : back().withMessage('The user is back.')))
    const { say, asked } = talkWith(
      flow('Shop', [modelStep('Chat'), Side], {
        model: small,
        onMessage: ({ message }) => (message === 'hello' ? undefined : call(Side)),
      }),
      { 'own/small': ['One.', 'Two.', 'Three.'] },
    )
    await say('hello')
    expect([await say('plain'), asked().at(-1)]).toEqual(['Two.', 'user: Returned from Side.'])
    expect([await say('other'), asked().at(-1)]).toEqual(['Three.', 'user: The user is back.'])
  })

  test('from a called flow, by its finish', async () => {
    const inner = flow('Inner', [step('Ask', (turn) => (turn.entered ? reply('Town?') : finish(`${turn.message}.`)))])
    const { say, asked } = talkWith(
      flow('Shop', [modelStep('Chat'), inner], {
        model: small,
        onMessage: ({ message }) => (message === 'move' ? call(inner) : undefined),
      }),
      { 'own/small': ['Hello.', 'Noted.'] },
    )
    await say('hello')
    expect(await say('move')).toBe('Town?')
    expect(await say('Berlin')).toBe('Berlin.\n\nNoted.')
    expect(asked().at(-1)).toBe('user: Returned from Inner: Berlin.')
  })

  test('before it was entered: in the first message', async () => {
    const { say, asked } = talkWith(
      flow('Shop', [modelStep('Chat'), Hours], { model: small, onMessage: isAboutHours }),
      { 'own/small': ['Which size?'] },
    )
    expect(await say('Are you open?')).toBe('From 9 to 5.\n\nWhich size?')
    expect(asked()).toEqual(['user: Returned from Hours: From 9 to 5.'])
  })

  test('is not asked after withReply, which its memory keeps', async () => {
    const Side = step('Side', () => back().withReply('From 9 to 5.'))
    const { say, memory, made } = talkWith(
      flow('Shop', [modelStep('Chat'), Side], {
        model: small,
        onMessage: ({ message }) => (message === 'open?' ? call(Side) : undefined),
      }),
      { 'own/small': ['Which size?'] },
    )
    await say('A shirt.')
    expect(await say('open?')).toBe('From 9 to 5.')
    expect(made.asked).toHaveLength(1)
    expect(await memory('Chat')).toEqual(['user: A shirt.', 'assistant: Which size?', 'assistant: From 9 to 5.'])
  })
})

describe('a lead before the answer of a model is streamed, and never taken back', () => {
  const look = tool({ name: 'look', description: 'Looks.', execute: () => stay('It is noon.') })
  const models = () => ({ provider: 'scripted', name: 'scripted' })
  const of = flow('Shop', [modelStep('Chat', { tools: () => [look] }), modelStep('Other'), Hours], {
    model: models,
    onMessage({ message }) {
      if (message === 'call') return call('Other').withLead('From 9 to 5.')
      return message === 'go' ? go('Other').withLead('From 9 to 5.') : isAboutHours({ message } as Turn)
    },
  })
  const answer = (text: string) => pieces(delta(text), last(text))

  test.each<readonly [string, readonly string[], readonly AsyncIterable<ModelStreamPart>[]]>([
    ['if it is returned to', ['hello', 'open?'], [answer('Size?'), answer('So?')]],
    ['if it is returned to and was not entered', ['open?'], [answer('So?')]],
    ['if it is called', ['call'], [answer('So?')]],
    ['if it is moved to', ['go'], [answer('So?')]],
    [
      'after a tool',
      ['open?'],
      [pieces(delta('Hm.'), { type: 'finish', response: calling('look', 'Hm.') }), answer('So?')],
    ],
  ])('%s', async (_when, messages, script) => {
    const { engine } = talk(of, { providers: [streaming((_, at) => script[at - 1] as (typeof script)[number])] })
    let sessionId = ''
    let events: readonly FlowStreamEvent[] = []
    for (const userMessage of messages) {
      events = await readAll(engine.stream({ flowName: 'Shop', userMessage, sessionId }))
      const [first] = events
      sessionId = first?.type === 'session' ? first.session : ''
    }
    let text = ''
    for (const one of events) {
      if (one.type === 'text-delta') text += one.text
      else if (one.type === 'reset') text = ''
    }
    expect(text).toBe('From 9 to 5.\n\nSo?')
    expect(shortly(events)).not.toContain('reset reply')
    expect(shortly(events).at(-1)).toBe(`result ${text}`)
  })
})

describe("a model's tool", () => {
  const look = (target: string) => tool({ name: 'look', description: 'Looks it up.', execute: () => call(target) })

  test('may call: the callee answers, and the model reads what it has answered', async () => {
    const Chat = modelStep('Chat', { tools: () => [look('Hours')] })
    const { say, memory } = talkWith(flow('Shop', [Chat, Hours], { model: small }), {
      'own/small': [calls('look'), 'So, which size?'],
    })
    expect(await say('Are you open?')).toBe('From 9 to 5.\n\nSo, which size?')
    expect(await memory('Chat')).toEqual([
      'user: Are you open?',
      'assistant: look({})',
      'tool: look = "Done."',
      'user: Returned from Hours: From 9 to 5.',
      'assistant: So, which size?',
    ])
  })

  test('may call a step that takes turns, and whose user does not reach the memory of the caller', async () => {
    const Chat = modelStep('Chat', { tools: () => [look('Side')] })
    const Side = step('Side', (turn) => (turn.entered ? reply('Your name?') : back().withLead(`Hi ${turn.message}.`)))
    const { say, memory } = talkWith(flow('Shop', [Chat, Side], { model: small }), {
      'own/small': [calls('look'), 'What else?'],
    })
    expect(await say('hello')).toBe('Your name?')
    expect(await say('Ada')).toBe('Hi Ada.\n\nWhat else?')
    expect((await memory('Chat')).at(-2)).toBe('user: Returned from Side: Hi Ada.')
    expect(await memory('Chat')).not.toContain('user: Ada')
  })

  test('may return from a model step that was called', async () => {
    const done = tool({ name: 'done', description: 'Ends.', execute: () => back('blue').withLead('Blue, then.') })
    const Colour = modelStep('Colour', { tools: () => [done] })
    const Chat = step('Chat', (turn) => {
      if (turn.returned) return reply(`Got ${turn.returned.value}.`)
      return turn.entered ? reply('Yes?') : call(Colour)
    })
    const { say, open } = talkWith(flow('Shop', [Chat, Colour], { model: small }), {
      'own/small': ['Which colour?', calls('done')],
    })
    await say('hello')
    expect([await say('paint'), await open()]).toEqual(['Which colour?', 'Chat > Colour'])
    expect([await say('blue'), await open()]).toEqual(['Blue, then.\n\nGot blue.', 'Chat'])
  })
})

test('a tool of the outer flow moves to the class that it names, although a called flow has another of that ID', async () => {
  const Outer = step('Confirm', () => reply('Outer.'))
  const confirm = tool({ name: 'confirm', description: 'Confirms.', execute: () => go(Outer) })
  const inner = flow('Inner', [modelStep('Ask'), step('Confirm', () => reply('Inner.'))])
  const start = step('Start', ({ entered }) => (entered ? reply('Yes?') : call(inner)))
  const { say, open } = talkWith(flow('Shop', [start, Outer, inner], { model: small, tools: () => [confirm] }), {
    'own/small': [calls('confirm')],
  })
  await say('hello')
  expect([await say('in'), await open()]).toEqual(['Outer.', 'Start > Confirm'])
})

describe('a called flow', () => {
  const Ask = modelStep('Ask')
  const start = step('Start', (turn) => (turn.message === 'in' && !turn.entered ? call('Inner') : reply('Yes?')))
  const named = (name: string, says: string) => tool({ name, description: says, execute: () => reply(says) })

  test('has its own model, or else the one of the flow around it', async () => {
    const of = (members: object) => flow('Shop', [start, flow('Inner', [Ask], members)], { model: small })
    const own = talkWith(of({ model: large }), { 'own/large': ['Large.'], 'own/small': [] })
    await own.say('hello')
    expect(await own.say('in')).toBe('Large.')
    const outer = talkWith(of({}), { 'own/small': ['Small.'] })
    await outer.say('hello')
    expect(await outer.say('in')).toBe('Small.')
  })

  test('offers its tools and those around it; an inside one hides an outside one of the same name', async () => {
    const inner = flow('Inner', [modelStep('Ask', { tools: () => [named('mine', 'Step.')] })], {
      tools: () => [named('both', 'Inner.')],
    })
    const of = flow('Shop', [start, inner], {
      model: small,
      tools: () => [named('both', 'Outer.'), named('outer', 'Outer.')],
    })
    const { say, tools } = talkWith(of, { 'own/small': [calls('both')] })
    await say('hello')
    expect(await say('in')).toBe('Inner.')
    expect(tools()?.toSorted()).toEqual(['both', 'mine', 'outer'])
  })

  test('answers for its models before the flow around it', async () => {
    const asked: string[] = []
    const inner = flow('Inner', [Ask], {
      onModelError(_, turn) {
        asked.push(`Inner at ${turn.step}`)
        return turn.number === 2 ? finish('Inner is sorry.') : undefined
      },
    })
    const of = flow('Shop', [start, inner], {
      model: small,
      onModelError(_, turn) {
        asked.push(`Shop at ${turn.step}`)
        return go('Start')
      },
    })
    const { say, open } = talkWith(of, { 'own/small': [fails(new Error('down')), fails(new Error('down'))] })
    await say('hello')
    expect(await say('in')).toBe('Inner is sorry.\n\nYes?')
    expect(asked).toEqual(['Inner at Inner/Ask'])
    await say('hello')
    expect([await say('in'), await open()]).toEqual(['Yes?', 'Start'])
    expect(asked.slice(1)).toEqual(['Inner at Inner/Ask', 'Shop at Inner/Ask'])
  })

  test('begins with fresh memories each time; a side step keeps its own, and a shared one stays', async () => {
    const Shared = modelStep('Shared', { memory: 'all' })
    const leave = tool({ name: 'leave', description: 'Leaves.', execute: () => back() })
    const Side = modelStep('Side', { tools: () => [leave] })
    const Menu = modelStep('Menu', { memory: 'all' })
    const inner = flow('Inner', [Ask, Shared], {
      onMessage({ message }) {
        if (message === 'home') return back()
        return message === 'shared' ? go('Shared') : undefined
      },
    })
    const of = flow('Shop', [Menu, Side, inner], {
      model: small,
      onMessage: ({ message }) => (message === 'in' ? call(inner) : message === 'side' ? call(Side) : undefined),
    })
    const { say, memory } = talkWith(of, {
      'own/small': [
        'Menu 1.',
        'Ask 1.',
        'Shared 1.',
        'Menu 2.',
        'Ask 2.',
        'Menu 3.',
        'Side 1.',
        calls('leave'),
        'Menu 4.',
        'Side 2.',
      ],
    })
    await say('hello')
    await say('in')
    expect(await memory('Inner/Ask')).toEqual(['user: in', 'assistant: Ask 1.'])
    await say('shared')
    expect(await memory('all')).toEqual(['user: hello', 'assistant: Menu 1.', 'user: shared', 'assistant: Shared 1.'])
    await say('home')
    await say('in')
    expect(await memory('Inner/Ask')).toEqual(['user: in', 'assistant: Ask 2.'])
    expect((await memory('all')).slice(0, 2)).toEqual(['user: hello', 'assistant: Menu 1.'])
    await say('home')
    await say('side')
    await say('leave')
    await say('side')
    expect(await memory('Side')).toEqual([
      'user: side',
      'assistant: Side 1.',
      'user: leave',
      'assistant: leave({})',
      'tool: leave = "Done."',
      'user: side',
      'assistant: Side 2.',
    ])
  })
})

test('a model three levels deep: each level reads the answer of the one that it called', async () => {
  const deeper = (target: string) => ({
    tools: () => [
      tool({ name: 'down', description: 'Calls.', execute: () => call(target) }),
      tool({ name: 'up', description: 'Returns.', execute: (_, turn) => back().withLead(`${turn.step} done.`) }),
    ],
  })
  const steps = [modelStep('A', deeper('B')), modelStep('B', deeper('C')), modelStep('C', deeper('A'))]
  const { say, open, asked } = talkWith(flow('Shop', steps, { model: small }), {
    'own/small': [calls('down'), calls('down'), 'C?', calls('up'), calls('up'), 'A?'],
  })
  expect([await say('hello'), await open()]).toEqual(['C?', 'A > B > C'])
  expect([await say('up'), await open()]).toEqual(['C done.\n\nB done.\n\nA?', 'A'])
  expect(asked().at(-1)).toBe('user: Returned from B: B done.')
})
