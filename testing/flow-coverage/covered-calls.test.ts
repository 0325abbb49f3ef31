/** The coverage of calls and returns, and of the flows among the steps. */
import { expect, test } from 'vitest'
import { back, call, event, Flow, finish, go, LogicStep, reply, Step, type Turn, tool } from '../../src/index.js'
import { Conversation } from '../conversation/conversation.js'
import { coverageOf, type FlowCoverage } from './flow-coverage.js'
import { mergeReports } from './merge-reports.js'
import { pathsOf } from './step-paths.js'

class Chat extends LogicStep {
  static override readonly id = 'Chat'
  static override readonly next = ['Address', 'End']
  override events() {
    return [event({ name: 'remind', execute: () => reply('Hm?') })]
  }
  override run({ message, returned }: Turn): ReturnType<typeof reply> {
    if (message === 'bye') return finish('Bye.')
    if (message === 'hours' && returned === undefined) return call(Hours)
    return message === 'address' ? call(Address) : reply('What else?')
  }
}
class Hours extends LogicStep {
  static override readonly id = 'Hours'
  override run() {
    return back().withLead('From 9 to 5.')
  }
}
class Street extends Step {
  static override readonly id = 'Street'
  static override readonly next = ['Town', 'Lost']
  override tools() {
    return [tool({ name: 'take', description: 'Takes it.', execute: () => go(Town) })]
  }
}
class Town extends LogicStep {
  static override readonly id = 'Town'
  static override readonly next = ['End']
  override run(turn: Turn) {
    return turn.entered ? reply('Which town?') : finish('Noted.')
  }
}
class Address extends Flow {
  static override readonly id = 'Address'
  override steps(): ReturnType<Flow['steps']> {
    return [Street, Town]
  }
  override model() {
    return { provider: 'any', name: 'any' }
  }
  override tools() {
    return [tool({ name: 'look_up', description: 'Looks it up.', execute: () => 'found' })]
  }
  override events() {
    return [event({ name: 'moved', execute: () => reply('I see.') })]
  }
}
class Shop extends Flow {
  static override readonly id = 'Shop'
  override steps() {
    return [Chat, Hours, Address]
  }
  override onMessage({ message }: Turn) {
    return message === 'open?' ? call(Hours) : undefined
  }
}

async function called(coverage: FlowCoverage): Promise<void> {
  const script = [{ toolCalls: [{ name: 'look_up' }] }, 'Which street?', { toolCalls: [{ name: 'take' }] }]
  await using conversation = new Conversation(Shop, { coverage, script })
  for (const text of ['Hello', 'open?', 'address']) await conversation.say(text)
  await conversation.sendEvent('moved')
  await conversation.sendEvent('remind')
  for (const text of ['Elm Street', 'Ulm', 'bye']) await conversation.say(text)
  conversation.expectCompleted()
}

test('has calls and returns beside the moves, and the parts of called flows', async () => {
  const coverage = coverageOf(Shop)
  await called(coverage)
  const { steps, transitions, tools, events } = coverage.report().flows[0] ?? {}
  expect(steps?.map(({ id, kind, flow, seen, next }) => [id, kind, flow, seen, next])).toEqual([
    ['Chat', 'logic', undefined, 1, ['Address/Street', 'End']],
    ['Hours', 'logic', undefined, 1, undefined],
    ['Address/Street', 'model', 'Address', 1, ['Address/Town', 'Lost']],
    ['Address/Town', 'logic', 'Address', 1, ['Address/End']],
    ['End', 'end', undefined, 1, undefined],
    ['Address/End', 'end', 'Address', 1, undefined],
  ])
  expect(transitions).toEqual([
    { from: 'Chat', to: 'End', seen: 1, declared: true },
    { from: 'Chat', to: 'Hours', seen: 1, declared: null, kind: 'call' },
    { from: 'Chat', to: 'Address/Street', seen: 1, declared: true, kind: 'call' },
    { from: 'Hours', to: 'Chat', seen: 1, declared: null, kind: 'return' },
    { from: 'Address/Street', to: 'Address/Town', seen: 1, declared: true },
    { from: 'Address/Street', to: 'Lost', seen: 0, declared: true },
    { from: 'Address/Town', to: 'Address/End', seen: 1, declared: true },
    { from: 'Address/End', to: 'Chat', seen: 1, declared: null, kind: 'return' },
  ])
  expect(tools).toEqual([
    { step: 'Address', name: 'look_up', calls: 1, succeeded: 1 },
    { step: 'Address/Street', name: 'take', calls: 1, succeeded: 1 },
  ])
  expect(events).toEqual([
    { step: 'Address', name: 'moved', taken: 1 },
    { step: 'Chat', name: 'remind', taken: 1 },
  ])
  expect(coverage.text()).toMatchInlineSnapshot(`
    "Shop, 8 turns
      steps       4 of 4
      end steps   2 of 2
      tools       2 of 2
      events      2 of 2
      transitions 4 of 5
      calls: Chat -> Hours, Chat -> Address/Street
      returns: Hours -> Chat, Address/End -> Chat
      missing:
      - next of Address/Street: the flow has no step 'Lost' (its steps: Chat, Hours, Address/Street, Address/Town, End, Address/End)"
  `)
  expect(coverage.mermaid()).toMatchInlineSnapshot(`
    "flowchart LR
      subgraph flow1["Shop"]
        flow1_step1["Chat<br>1 time"]
        flow1_step2["Hours<br>1 time"]
        flow1_step5(["End<br>1 time"])
        subgraph flow1_flow1["Address"]
          flow1_step3("Address/Street<br>1 time")
          flow1_step4["Address/Town<br>1 time"]
          flow1_step6(["Address/End<br>1 time"])
        end
        flow1_step1 -->|"1"| flow1_step5
        flow1_step1 ==>|"call, 1"| flow1_step2
        flow1_step1 ==>|"call, 1"| flow1_step3
        flow1_step2 -->|"return, 1"| flow1_step1
        flow1_step3 -->|"1"| flow1_step4
        flow1_step4 -->|"1"| flow1_step6
        flow1_step6 -->|"return, 1"| flow1_step1
      end
      classDef missed stroke:#c0392b,stroke-dasharray:4"
  `)
})

test('names what no conversation reached of a called flow, and leaves out its tools and events', async () => {
  const coverage = coverageOf(Shop, { tools: { Address: ['look_up', 'fax'] } })
  await using conversation = new Conversation(Shop, { coverage })
  for (const text of ['Hello', 'open?', 'bye']) await conversation.say(text)
  expect(coverage.report().flows[0]?.gaps.map(({ text }) => text)).toEqual([
    'step Address/Street: never reached',
    'step Address/Town: never reached',
    'end step Address/End: no call of Address ended there',
    'event Chat.remind: never taken',
    "next of Address/Street: the flow has no step 'Lost' (its steps: Chat, Hours, Address/Street, Address/Town, End, Address/End)",
  ])
})

test('is added up over processes, and keeps the messages that led to a step', async () => {
  const [one, other] = [coverageOf(Shop), coverageOf(Shop)]
  await called(one)
  await called(other)
  const report = JSON.parse(JSON.stringify(one))
  const [single] = report.flows
  const [merged] = mergeReports([report, other.report()]).flows
  const twice = (seen: number): number => 2 * seen
  expect(merged?.transitions).toEqual(
    single.transitions.map((transition: { seen: number }) => ({ ...transition, seen: twice(transition.seen) })),
  )
  expect(merged?.steps.map(({ flow }) => flow)).toEqual(single.steps.map(({ flow }: { flow: string }) => flow))
  expect(merged?.tools.map(({ calls }) => calls)).toEqual([2, 2])
  expect(
    other
      .add(report)
      .report()
      .flows[0]?.events?.map(({ taken }) => taken),
  ).toEqual([2, 2])
  await using conversation = new Conversation(Shop, { coverage: other })
  await conversation.say('hours')
  expect(pathsOf(Shop, other).find(({ step }) => step === 'Hours')?.messages).toEqual(['hours'])
  class Reversed extends Shop {
    override steps() {
      return [Address, Chat, Hours]
    }
    override initialStep() {
      return Chat
    }
  }
  expect(pathsOf(Reversed).map(({ step, left }) => [step, left])).toContainEqual([
    'Address/Street',
    ['Chat', 'Address/Street'],
  ])
  expect(pathsOf(Shop, one).find(({ step }) => step === 'Address/Street')?.messages).toEqual([
    'Hello',
    'open?',
    'address',
  ])
})
