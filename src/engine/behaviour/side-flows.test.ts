/** Side flows: steps and flows that are called in between, and what is asked again when they return. */
import { afterEach, describe, expect, test, vi } from 'vitest'
import { expectNothingLeft } from '../../../testing/contract/engine-harness.js'
import { flow, step, talk } from '../../../testing/contract/side-flows/talk.js'
import { back, call, End, EndStep, finish, go, reply, type Turn } from '../../index.js'

afterEach(expectNothingLeft)

const Hours = step('Hours', () => back().withLead('We are open from 9 to 5.'))
/** Asks its question, and calls what the user names. */
const Chat = step('Chat', (turn) => {
  if (turn.entered) return reply('What do you need?')
  const [verb, name = ''] = turn.message.split(' ')
  return verb === 'call' ? call(name) : reply(`You said ${turn.message}.`)
})
const isAboutHours = ({ message }: Turn) => (/open/.test(message) ? call(Hours) : undefined)

const Street = step('Street', (turn, self) => {
  if (turn.entered) return reply('Which street?')
  self.state.street = turn.message
  return go(Town)
})
const Town = step('Town', (turn) => {
  if (turn.entered) return reply('Which town?')
  return finish(`${turn.stateOf(Street).street}, ${turn.message}.`)
})
const Address = flow('Address', [Street, Town])

describe('a side question', () => {
  test('is answered from onMessage, with the open question again in one reply', async () => {
    const { say, open, now } = talk(flow('Shop', [Chat, Hours], { onMessage: isAboutHours }))
    await say('hello')
    expect(await say('When are you open?')).toBe('We are open from 9 to 5.\n\nWhat do you need?')
    expect(await open()).toBe('Chat')
    expect(await now()).toMatchObject({ version: 2, turns: 2 })
    expect((await now()).flow.sequence).toEqual([
      { step: 'Chat', level: 0 },
      { step: 'Hours', level: 1 },
      { step: 'Chat', level: 0 },
    ])
  })

  test('is answered from a step, over several turns, and keeps its caller in the document', async () => {
    const Ask = step('Ask', (turn) => (turn.entered ? reply('About what?') : back(turn.message)))
    const Caller = step('Caller', (turn) => {
      if (turn.returned) return reply(`${turn.returned.from} gave ${turn.returned.value}.`)
      return turn.entered ? reply('Yes?') : call(Ask)
    })
    const { say, now, open } = talk(flow('Shop', [Caller, Ask]))
    await say('hello')
    expect(await say('ask')).toBe('About what?')
    expect(await open()).toBe('Caller > Ask')
    const { flow: stored, version } = await now()
    expect([version, stored.frames?.[1]?.called]).toEqual([3, 'Ask'])
    expect(await say('tyres')).toBe('Ask gave tyres.')
    expect((await now()).version).toBe(2)
  })

  test('goes three levels deep and back, each asking again', async () => {
    const asking = (id: string, next: string) =>
      step(id, (turn) => {
        if (turn.message === 'deeper')
          return turn.returned === undefined && !turn.entered ? call(next) : reply(`${id}?`)
        return turn.entered ? reply(`${id}?`) : back().withLead(`${id} done.`)
      })
    const steps = [Chat, asking('A', 'B'), asking('B', 'C'), asking('C', 'C')]
    const { say, open } = talk(flow('Shop', steps))
    await say('hello')
    expect(await say('call A')).toBe('A?')
    expect([await say('deeper'), await say('deeper'), await open()]).toEqual(['B?', 'C?', 'Chat > A > B > C'])
    expect(await say('done')).toBe('C done.\n\nB?')
    expect(await say('done')).toBe('B done.\n\nA?')
    expect(await say('done')).toBe('A done.\n\nWhat do you need?')
    expect(await open()).toBe('Chat')
  })

  test('runs onEnter and onExit for the side step, not for the caller', async () => {
    const hooks: string[] = []
    const watched = (id: string) => ({
      onEnter: () => void hooks.push(`enter ${id}`),
      onExit: () => void hooks.push(`exit ${id}`),
    })
    const Asking = step('Asking', () => reply('Yes?'), watched('Asking'))
    const Side = step('Side', () => back(), watched('Side'))
    const { say } = talk(
      flow('Shop', [Asking, Side], { onMessage: ({ message }) => (message === 'side' ? call(Side) : undefined) }),
    )
    await say('hello')
    await say('side')
    expect(hooks).toEqual(['enter Asking', 'enter Side', 'exit Side'])
  })

  test('in the first message: the caller is entered when it is returned to, once', async () => {
    const entered = vi.fn()
    const Asking = step('Asking', (turn) => reply(`Yes? ${turn.returned?.from ?? ''}`), { onEnter: () => entered() })
    const Side = step('Side', (turn) => (turn.entered ? reply('Side?') : back().withLead('Done.')))
    const { say, now, open } = talk(
      flow('Shop', [Asking, Side], { onMessage: ({ message }) => (message === 'side' ? call(Side) : undefined) }),
    )
    expect(await say('side')).toBe('Side?')
    expect([entered.mock.calls.length, (await now()).flow.frames?.[0]?.entry]).toEqual([0, '0'])
    expect(await say('hello')).toBe('Done.\n\nYes? Side')
    expect([entered.mock.calls.length, await open()]).toEqual([1, 'Asking'])
    expect(await say('hello')).toBe('Yes? ')
    expect(entered).toHaveBeenCalledOnce()
  })

  test('in the first message: a caller that was never entered is not left either', async () => {
    const exits: string[] = []
    const onExit = (id: string) => ({ onExit: () => void exits.push(id) })
    const steps = [step('Asking', undefined, onExit('Asking')), step('Side', undefined, onExit('Side')), step('Other')]
    const { say, open } = talk(
      flow('Shop', steps, {
        onMessage: ({ message }) => (message === 'side' ? call('Side') : message === 'other' ? go('Other') : undefined),
      }),
    )
    await say('side')
    expect([await say('other'), await open(), exits]).toEqual(['Other?', 'Other', ['Side']])
  })

  test('withReply answers without running the caller', async () => {
    const Side = step('Side', () => back().withReply('Later.'))
    const { say, open } = talk(flow('Shop', [Chat, Side]))
    await say('hello')
    expect(await say('call Side')).toBe('Later.')
    expect(await open()).toBe('Chat')
    expect(await say('so')).toBe('You said so.')
  })

  test('withState and the option state fill the step that is called', async () => {
    const Side = step('Side', (turn, self) => reply(JSON.stringify([self.state, turn.step])))
    const Caller = step('Caller', (turn) => (turn.entered ? reply('?') : call(Side, { state: { size: 's' } })))
    const { say } = talk(flow('Shop', [Caller, Side]))
    await say('hello')
    expect(await say('go')).toBe('[{"size":"s"},"Side"]')
  })
})

describe('a called flow', () => {
  test('does not know that it was called: alone it ends the session, called it returns', async () => {
    const alone = talk(Address)
    expect([await alone.say('hello'), await alone.say('Main Street 1')]).toEqual(['Which street?', 'Which town?'])
    expect(await alone.say('Berlin')).toBe('Main Street 1, Berlin.')
    expect(alone.last().response.completed).toBe(true)
    const { say, open, last, now } = talk(flow('Shop', [Chat, Address]))
    await say('hello')
    expect([await say('call Address'), await say('Main Street 1')]).toEqual(['Which street?', 'Which town?'])
    expect(await open()).toBe('Chat > Address/Town')
    expect(await say('Berlin')).toBe('Main Street 1, Berlin.\n\nWhat do you need?')
    expect([await open(), last().response.completed]).toEqual(['Chat', false])
    expect((await now()).flow.steps['Address/Street']?.state).toEqual({ street: 'Main Street 1' })
  })

  test('ends by its own end step, whose message is the lead and whose hooks run', async () => {
    const entered = vi.fn()
    class Thanks extends EndStep {
      static override readonly id = 'Thanks'
      override onEnter() {
        entered()
      }
      override message() {
        return 'Thank you.'
      }
    }
    const Only = step('Only', () => go(Thanks))
    const { say, open } = talk(flow('Shop', [Chat, flow('Side', [Only, Thanks])]))
    await say('hello')
    expect(await say('call Side')).toBe('Thank you.\n\nWhat do you need?')
    expect([await open(), entered.mock.calls.length]).toEqual(['Chat', 1])
  })

  test('begins with fresh states each time; a side step keeps its own', async () => {
    const count = (id: string, done: () => ReturnType<typeof back>) =>
      step(id, (turn, self) => {
        self.state.count = Number(self.state.count ?? 0) + 1
        return turn.entered ? reply(`${id} ${self.state.count}`) : done()
      })
    const inner = flow('Inner', [count('Deep', () => finish('Bye.'))])
    const { say, now } = talk(flow('Shop', [Chat, count('Side', () => back()), inner]))
    await say('hello')
    expect([await say('call Side'), await say('x'), await say('call Side'), await say('x')]).toEqual([
      'Side 1',
      'What do you need?',
      'Side 3',
      'What do you need?',
    ])
    expect([await say('call Inner'), await say('x'), await say('call Inner'), await say('x')]).toEqual([
      'Deep 1',
      'Bye.\n\nWhat do you need?',
      'Deep 1',
      'Bye.\n\nWhat do you need?',
    ])
    // The caller reads what the user has said there.
    expect((await now()).flow.steps['Inner/Deep']?.state).toEqual({ count: 2 })
  })

  test('keeps its answers at a side question, of the outer flow and of its own', async () => {
    const Help = step('Help', () => back().withLead('Help.'))
    const Asking = step('Asking', (turn, self) => {
      if (turn.entered) return reply(`Said ${self.state.said}?`)
      if (turn.message === 'help') return call(Help)
      self.state.said = turn.message
      return reply('Noted.')
    })
    const inner = flow('Inner', [Asking, Help])
    const { say } = talk(flow('Shop', [Chat, Hours, inner], { onMessage: isAboutHours }))
    await say('hello')
    await say('call Inner')
    await say('blue')
    expect(await say('open?')).toBe('We are open from 9 to 5.\n\nSaid blue?')
    expect(await say('help')).toBe('Help.\n\nSaid blue?')
  })

  test('finds steps by name inside first, then outside', async () => {
    const inner = flow('Inner', [step('One', () => go('Note')), step('Note', () => reply('Inner note.'))])
    const outer = flow('Shop', [Chat, step('Note', () => reply('Outer note.')), inner])
    const { say, open } = talk(outer)
    await say('hello')
    expect(await say('call Inner')).toBe('Inner note.')
    expect(await open()).toBe('Chat > Inner/Note')
  })

  test('is asked about a message before the flows around it', async () => {
    const asked: string[] = []
    const inner = flow('Inner', [step('One')], { onMessage: (turn) => void asked.push(`Inner at ${turn.step}`) })
    const outer = flow('Shop', [Chat, inner], {
      onMessage(turn) {
        asked.push(`Shop at ${turn.step}`)
        return undefined
      },
    })
    const { say } = talk(outer)
    await say('hello')
    await say('call Inner')
    asked.length = 0
    await say('hello')
    expect(asked).toEqual(['Inner at Inner/One', 'Shop at Inner/One'])
  })

  test('may have hooks that return, finish and move within it', async () => {
    const inner = flow('Inner', [step('One'), step('Two')], {
      onMessage({ message }) {
        if (message === 'two') return go('Two')
        if (message === 'back') return back(7).withLead('Left.')
        return message === 'finish' ? finish('Done.') : undefined
      },
    })
    const { say, open } = talk(flow('Shop', [Chat, inner]))
    await say('hello')
    await say('call Inner')
    expect([await say('two'), await open()]).toEqual(['Two?', 'Chat > Inner/Two'])
    expect([await say('finish'), await open()]).toEqual(['Done.\n\nWhat do you need?', 'Chat'])
    await say('call Inner')
    expect([await say('back'), await open()]).toEqual(['Left.\n\nWhat do you need?', 'Chat'])
  })

  test('shares context and services with the flow around it', async () => {
    const Only = step('Only', (turn) => {
      turn.addContext({ inner: true })
      return finish(JSON.stringify(turn.context))
    })
    const inner = flow('Inner', [Only], {
      init() {
        this.addContext({ began: 'inside' })
      },
    })
    const { say, now } = talk(flow('Shop', [Chat, inner]))
    await say('hello')
    expect(await say('call Inner')).toContain('"inner":true')
    expect((await now()).flow.context).toEqual({ began: 'inside', inner: true })
  })
})

describe('go and finish', () => {
  const Side = step('Side', ({ message, entered }) => {
    if (entered) return reply('Side?')
    return message === 'end' ? finish('Bye.') : go(message)
  })
  const Other = step('Other', (turn) => (turn.message === 'back' ? back().withLead('Back.') : reply('Other?')))

  test('go replaces the top of the stack, which then returns', async () => {
    const { say, open } = talk(flow('Shop', [Chat, Side, Other]))
    await say('hello')
    await say('call Side')
    expect([await say('Other'), await open()]).toEqual(['Other?', 'Chat > Other'])
    expect(await say('back')).toBe('Back.\n\nWhat do you need?')
  })

  test('go to a step in the stack drops what is above it, and enters it again', async () => {
    const exits: string[] = []
    const Middle = step(
      'Middle',
      (turn) => (turn.entered ? reply(`Middle? ${turn.returned?.from ?? ''}`) : call(Side)),
      {
        onExit: () => void exits.push('Middle'),
      },
    )
    const { say, open, now } = talk(flow('Shop', [Chat, Middle, Side]))
    await say('hello')
    await say('call Middle')
    const entry = async () => (await now()).flow.frames?.[1]?.entry
    const first = await entry()
    await say('side')
    expect(await open()).toBe('Chat > Middle > Side')
    expect([await say('Middle'), await open(), exits]).toEqual(['Middle? ', 'Chat > Middle', ['Middle']])
    expect(await entry()).not.toBe(first)
    await say('side')
    expect([await say('Chat'), await open()]).toEqual(['What do you need?', 'Chat'])
  })

  test('finish of a step of the outer flow ends the session, whatever has called it', async () => {
    const { say, last, now } = talk(flow('Shop', [Chat, Side, Other]))
    await say('hello')
    await say('call Side')
    expect(await say('end')).toBe('Bye.')
    expect([last().response.completed, (await now()).version]).toEqual([true, 2])
  })

  test('finish of a side step in a called flow returns from that flow', async () => {
    const inner = flow('Inner', [
      step('One', (turn) => (turn.entered ? reply('One?') : call('Two'))),
      step('Two', () => finish('Done.')),
    ])
    const { say, open } = talk(flow('Shop', [Chat, inner]))
    await say('hello')
    await say('call Inner')
    expect([await say('x'), await open()]).toEqual(['Done.\n\nWhat do you need?', 'Chat'])
  })

  test('a hook of the outer flow drops all open calls', async () => {
    const outer = flow('Shop', [Chat, Side, Other, flow('Inner', [step('One')])], {
      onMessage({ message }) {
        if (message === 'home') return go(Chat)
        return message === 'quit' ? finish('Quit.') : undefined
      },
    })
    const { say, open, last } = talk(outer)
    await say('hello')
    await say('call Inner')
    expect([await say('home'), await open()]).toEqual(['What do you need?', 'Chat'])
    await say('call Inner')
    expect([await say('quit'), last().response.completed]).toEqual(['Quit.', true])
  })

  test('finish gives its text as the lead to a flow that also finishes', async () => {
    const deep = flow('Deep', [step('D', () => finish('Deep done.'))])
    const inner = flow('Inner', [step('I', (turn) => (turn.returned ? finish('Inner done.') : call('Deep'))), deep])
    const { say } = talk(flow('Shop', [Chat, inner]))
    await say('hello')
    expect(await say('call Inner')).toBe('Deep done.\n\nInner done.\n\nWhat do you need?')
  })
})

describe('a content type', () => {
  test('of the caller is kept while it waits, and counts again when it is returned to', async () => {
    const Side = step('Side', (turn) => (turn.entered ? reply('Side?') : back()))
    const Report = step('Report', (turn) => (turn.entered || turn.message !== 'side' ? reply('# Report') : call(Side)))
    const Start = step('Start', () => go(Report).withContentType('text/markdown'))
    const { say, now, last } = talk(flow('Shop', [Start, Report, Side]))
    await say('hello')
    await say('side')
    expect((await now()).flow).toMatchObject({ frames: [{ contentType: 'text/markdown' }, { step: 'Side' }] })
    expect((await now()).flow.contentType).toBeUndefined()
    expect(await say('done')).toBe('# Report')
    expect(last().response.contentType).toBe('text/markdown')
    expect((await now()).flow.contentType).toBe('text/markdown')
  })

  test('other than plain text cannot follow a lead, raw or base64', async () => {
    const Raw = step('Raw', (turn) => {
      if (turn.returned && turn.message === 'raw') return reply('a,b').withContentType('text/csv')
      if (turn.returned) return reply('AAAA').withContentType('image/png', { encoding: 'base64' })
      return turn.entered ? reply('?') : call(Hours)
    })
    const { say, open } = talk(flow('Shop', [Raw, Hours]), { onTurnError: 'rollback' })
    await say('hello')
    expect(await say('raw')).toBe('FLOW_ERROR: The reply after a lead must be plain text; got text/csv.')
    expect(await say('bytes')).toMatch(/^FLOW_ERROR: The reply /)
    expect(await open()).toBe('Raw')
  })

  test('of the end of a called flow must be plain text', async () => {
    const inner = flow('Inner', [step('One', () => finish({ a: 1 }).withContentType('application/json'))])
    const { say } = talk(flow('Shop', [Chat, inner]), { onTurnError: 'rollback' })
    await say('hello')
    expect(await say('call Inner')).toMatch(
      /^FLOW_ERROR: The called flow 'Inner' may not finish with application\/json/,
    )
  })
})

describe('refused', () => {
  const refused = async (listed: Parameters<typeof flow>[1], ...messages: readonly string[]) => {
    const { say, open } = talk(flow('Shop', listed), { onTurnError: 'rollback' })
    let reply = await say('hello')
    for (const message of messages) reply = await say(message)
    return [reply, await open()]
  }

  test('back() with nothing to return to, of a step and of the outer flow', async () => {
    const Lost = step('Lost', (turn) => (turn.entered ? reply('?') : back()))
    expect(await refused([Lost], 'x')).toEqual([
      "FLOW_ERROR: Step 'Lost' returned back(), but it was not called. Return go(...) instead.",
      'Lost',
    ])
    const outer = flow('Shop', [Chat, flow('Inner', [step('One')])], {
      onMessage: ({ message }) => (message === 'back' ? back() : undefined),
    })
    const { say, open } = talk(outer, { onTurnError: 'rollback' })
    await say('hello')
    await say('call Inner')
    expect(await say('back')).toBe(
      "FLOW_ERROR: Flow 'Shop' returned back(), but the outer flow was not called. Return go(...) instead.",
    )
    expect(await open()).toBe('Chat > Inner/One')
  })

  test('a ninth open step', async () => {
    const steps = Array.from({ length: 8 }, (_, at) => step(`S${at}`, () => call(`S${at + 1}`)))
    const Top = step('Top', (turn) => (turn.entered ? reply('?') : call('S0')))
    expect(await refused([Top, ...steps], 'x')).toEqual([
      "FLOW_ERROR: call('S7') is not possible: 8 steps are open.",
      'Top',
    ])
  })

  test('eight open steps are not refused', async () => {
    const steps = Array.from({ length: 8 }, (_, at) =>
      step(`S${at}`, ({ message }) => (message === 'go' && at < 7 ? call(`S${at + 1}`) : reply(`At S${at}.`))),
    )
    const { say, open } = talk(flow('Shop', steps))
    await say('hello')
    expect(await say('go')).toBe('At S7.')
    expect((await open()).split(' > ')).toHaveLength(8)
  })

  test('a call of what is open: the step itself, a step below, a flow below; and of an end step', async () => {
    const problem = (id: string) => `FLOW_ERROR: call('${id}') is not possible: it is open already.`
    const Again = step('Again', ({ message, entered }) => (entered ? reply('?') : call(message)))
    const inner = flow('Inner', [step('One', ({ message, entered }) => (entered ? reply('?') : call(message)))])
    expect(await refused([Again], 'Again')).toEqual([problem('Again'), 'Again'])
    expect(await refused([Again, inner], 'Inner', 'Again')).toEqual([problem('Again'), 'Again > Inner/One'])
    expect(await refused([Again, inner], 'Inner', 'Inner')).toEqual([problem('Inner'), 'Again > Inner/One'])
    expect(await refused([Again, inner], 'Inner', 'One')).toEqual([problem('Inner/One'), 'Again > Inner/One'])
    expect(await refused([Again], End.id)).toEqual([
      "FLOW_ERROR: call('End') is not possible: it is an end step.",
      'Again',
    ])
  })

  test('go to a flow, and a name that neither a step nor a flow has', async () => {
    const Again = step('Again', ({ message, entered }) =>
      entered ? reply('?') : message === 'x' ? call('X') : go(message),
    )
    expect((await refused([Again, Address], 'Address'))[0]).toMatch(/^FLOW_ERROR: 'Address' is a flow/)
    expect((await refused([Again, Address], 'x'))[0]).toMatch(
      /^FLOW_ERROR: Flow 'Shop' has no step 'X'. Its steps: Again, /,
    )
  })

  test('calls without end', async () => {
    const Ping = step('Ping', (turn) => (turn.message === 'loop' ? call('Pong') : reply('?')))
    const Pong = step('Pong', () => back())
    expect((await refused([Ping, Pong], 'loop'))[0]).toMatch(/^LIMIT_EXCEEDED: The number of moves in one turn/)
  })

  test('a flow that contains itself, and flows five deep', async () => {
    const first = flow('First', [])
    const own = flow('Own', [step('One'), first])
    Object.assign(first.prototype, { steps: () => [step('Two'), own] })
    const nested = (depth: number): ReturnType<typeof flow> =>
      flow(`F${depth}`, depth === 1 ? [step('S')] : [step('S'), nested(depth - 1)])
    const message = async (of: ReturnType<typeof flow>): Promise<string> => talk(of).say('hello')
    expect(await message(own)).toContain("Flow 'Own': the flow 'First/Own' contains itself.")
    expect(await message(nested(4))).toBe('S?')
    expect(await message(nested(5))).toContain("Flow 'F5': the flow 'F4/F3/F2/F1' is more than 4 flows deep.")
  })
})

test('stateOf needs the class to be in the flow once', async () => {
  const Shared = step('Shared', () => finish('Done.'))
  const Look = step('Look', (turn) => (turn.entered ? reply('?') : reply(JSON.stringify(turn.stateOf(Shared)))))
  const once = talk(flow('Shop', [Look, flow('One', [Shared])]))
  await once.say('hello')
  expect(await once.say('look')).toBe('{}')
  const twice = talk(flow('Shop', [Look, flow('One', [Shared]), flow('Two', [Shared])]))
  await twice.say('hello')
  expect(await twice.say('look')).toMatch(/^FLOW_ERROR: .*'One\/Shared' and 'Two\/Shared'/)
})
