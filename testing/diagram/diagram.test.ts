// The map of flows: from their code alone, from coverage, and from stored sessions.
import { describe, expect, test } from 'vitest'
import {
  call,
  EndStep,
  Flow,
  type FlowConstructor,
  finish,
  go,
  LogicStep,
  reply,
  type SessionDocument,
  Step,
  type StepConstructor,
  type Turn,
} from '../../src/index.js'
import { Conversation } from '../conversation/conversation.js'
import { coverageOf } from '../flow-coverage/flow-coverage.js'
import { type DiagramOptions, diagramOf } from './index.js'

class Street extends LogicStep {
  static override readonly id = 'Street'
  static override readonly aliases = ['Road']
  static override readonly next = ['Town']
  override run({ entered }: Turn) {
    return entered ? reply('Which street?') : go(Town)
  }
}
class Town extends LogicStep {
  static override readonly id = 'Town'
  override run({ entered }: Turn) {
    return entered ? reply('Which town?') : finish('Noted.')
  }
}
class Address extends Flow {
  static override readonly id = 'Address'
  static override readonly aliases = ['Place']
  override steps(): StepConstructor[] {
    return [Street, Town]
  }
}
class Chat extends LogicStep {
  static override readonly id = 'Chat'
  static override readonly next = ['Help', 'End']
  override run({ message }: Turn): ReturnType<typeof reply> {
    if (message === 'address') return call(Address)
    return message === 'pay' ? go(Pay) : message === 'bye' ? finish('Bye.') : reply('What else?')
  }
}
class Pay extends LogicStep {
  static override readonly id = 'Pay'
  override run({ entered }: Turn): ReturnType<typeof reply> {
    return entered ? reply('Pay?') : go(Chat)
  }
}
class Help extends Step {
  static override readonly id = 'Help'
  override model() {
    return { provider: 'any', name: 'any' }
  }
}
class Shop extends Flow {
  static override readonly id: string = 'Shop'
  static override readonly aliases: readonly string[] = ['Store']
  override steps() {
    return [Chat, Help, Pay, Address]
  }
}

/** A session of the shop that called, returned, moved as it declared, and moved otherwise. */
async function talk(coverage = coverageOf(Shop)): Promise<SessionDocument> {
  await using conversation = new Conversation(Shop, { coverage })
  for (const text of ['Hello', 'address', 'Elm Street', 'Ulm', 'pay', 'yes', 'bye']) await conversation.say(text)
  return conversation.document()
}

/** What a store gives back, with other names in its flow. */
function renamed(document: SessionDocument, flow: Partial<SessionDocument['flow']>): SessionDocument {
  return JSON.parse(JSON.stringify({ ...document, flow: { ...document.flow, ...flow } }))
}

/** A flow with these steps by ID, each with its `next`. */
function flowOf(id: string, steps: Readonly<Record<string, readonly string[] | undefined>>): FlowConstructor {
  const classes = Object.entries(steps).map(([stepId, next]) => {
    class One extends LogicStep {
      static override readonly id = stepId
      static override readonly next: readonly string[] | undefined = next
      override run() {
        return reply('')
      }
    }
    return One as StepConstructor
  })
  return class extends Flow {
    static override readonly id = id
    override steps(): StepConstructor[] {
      return classes
    }
  }
}

describe('a flow alone', () => {
  test('has its steps and declared moves, and no counts', () => {
    const diagram = diagramOf(Shop)
    expect(JSON.parse(JSON.stringify(diagram))).toStrictEqual({
      flows: [
        {
          flow: 'Shop',
          steps: [
            { id: 'Chat', kind: 'logic' },
            { id: 'Help', kind: 'model' },
            { id: 'Pay', kind: 'logic' },
            { id: 'Address/Street', kind: 'logic', flow: 'Address' },
            { id: 'Address/Town', kind: 'logic', flow: 'Address' },
            { id: 'End', kind: 'end' },
            { id: 'Address/End', kind: 'end', flow: 'Address' },
          ],
          transitions: [
            { from: 'Chat', to: 'Help', declared: true },
            { from: 'Chat', to: 'End', declared: true },
            { from: 'Address/Street', to: 'Address/Town', declared: true },
          ],
        },
      ],
    })
    expect(`\n${diagram.mermaid()}`).toMatchInlineSnapshot(`
      "
      flowchart LR
        subgraph flow1["Shop"]
          flow1_step1["Chat"]
          flow1_step2("Help")
          flow1_step3["Pay"]
          flow1_step6(["End"])
          subgraph flow1_flow1["Address"]
            flow1_step4["Address/Street"]
            flow1_step5["Address/Town"]
            flow1_step7(["Address/End"])
          end
          flow1_step1 -.-> flow1_step2
          flow1_step1 -.-> flow1_step6
          flow1_step4 -.-> flow1_step5
        end"
    `)
  })

  test('has no moves if it declares none', () => {
    const diagram = diagramOf(flowOf('Plain', { A: undefined, B: undefined }))
    expect(diagram.flows[0]?.transitions).toEqual([])
    expect(diagram.mermaid()).not.toMatch(/-->|-\.->/)
  })

  test('keeps a declared move to a step that it lacks as data, and does not draw it', () => {
    const diagram = diagramOf(flowOf('Plain', { A: ['Lost'] }))
    expect(diagram.flows[0]?.transitions).toEqual([{ from: 'A', to: 'Lost', declared: true }])
    expect(diagram.mermaid()).not.toContain('-.->')
  })

  test('may have 40 steps, which all have names of their own', () => {
    const ids = Array.from({ length: 40 }, (_, index) => `Step ${index + 1}`)
    const steps = Object.fromEntries(ids.map((id, index) => [id, ids.slice(index + 1, index + 3)]))
    const text = diagramOf(flowOf('Long', steps)).mermaid()
    const nodes = [...text.matchAll(/^ {4}(\w+)[[(]/gm)].map(([, node]) => node)
    expect([nodes.length, new Set(nodes).size]).toEqual([41, 41])
    expect(text.match(/-\.->/g)).toHaveLength(38 * 2 + 1)
  })

  test('has the IDs as text, whatever characters they have', () => {
    const odd = [
      'a"]; b',
      '<script>alert(1)</script>',
      '#35;',
      '`code`',
      'end',
      '%% note',
      'zwölf\nLines',
      '1. x',
      '- x',
    ]
    const text = diagramOf(flowOf('"] end <b>', Object.fromEntries(odd.map((id) => [id, undefined])))).mermaid()
    const labels = [...text.matchAll(/"([^"]*)"/g)].map(([, label = '']) => label)
    // Only the characters of words, and `#number;` for each other one.
    expect(labels.filter((label) => !/^(?:[\w .,:/-]|#\d+;)+$/.test(label))).toEqual([])
    const read = (label: string): string => label.replace(/#(\d+);/g, (_, code) => String.fromCodePoint(Number(code)))
    expect(labels.map(read)).toEqual(['"] end <b>', ...odd, 'End'])
  })

  test('is drawn beside others, each in its frame', () => {
    const text = diagramOf([flowOf('One', { A: ['B'], B: undefined }), flowOf('Two', { A: ['A'] })]).mermaid()
    expect(text.split('\n').filter((line) => /subgraph|-\.->/.test(line))).toEqual([
      '  subgraph flow1["One"]',
      '    flow1_step1 -.-> flow1_step2',
      '  subgraph flow2["Two"]',
      '    flow2_step1 -.-> flow2_step1',
    ])
  })
})

describe('coverage', () => {
  test('is drawn as coverage draws itself: the object, its report, and the report of another process', async () => {
    const coverage = coverageOf([Shop, flowOf('Other', { A: ['B'], B: undefined })])
    await talk(coverage)
    expect(coverage.mermaid()).toContain('not declared')
    const flows = [Shop, flowOf('Other', { A: ['B'], B: undefined })]
    for (const given of [coverage, coverage.report(), JSON.parse(JSON.stringify(coverage))]) {
      expect(diagramOf(flows, { coverage: given }).mermaid()).toBe(coverage.mermaid())
    }
  })

  test('of nothing says what was never seen', () => {
    const { flows, mermaid } = diagramOf(flowOf('Plain', { A: ['B'], B: undefined }), { coverage: { flows: [] } })
    expect(flows[0]?.steps[0]).toEqual({ id: 'A', kind: 'logic', seen: 0 })
    expect(flows[0]?.transitions).toEqual([{ from: 'A', to: 'B', declared: true, seen: 0 }])
    expect(mermaid()).toContain('-.->|never|')
  })
})

describe('stored sessions', () => {
  test('have the moves, calls and returns that coverage has of them', async () => {
    const coverage = coverageOf(Shop)
    const session = await talk(coverage)
    const bySession = diagramOf(Shop, { sessions: [session] })
    expect(bySession).toMatchObject(JSON.parse(JSON.stringify(diagramOf(Shop, { coverage }))))
    expect(`\n${bySession.mermaid()}`).toMatchInlineSnapshot(`
      "
      flowchart LR
        subgraph flow1["Shop"]
          flow1_step1["Chat<br>2 times"]
          flow1_step2("Help<br>never")
          flow1_step3["Pay<br>1 time"]
          flow1_step6(["End<br>1 time"])
          subgraph flow1_flow1["Address"]
            flow1_step4["Address/Street<br>1 time"]
            flow1_step5["Address/Town<br>1 time"]
            flow1_step7(["Address/End<br>1 time"])
          end
          flow1_step1 -.->|never| flow1_step2
          flow1_step1 -->|"1"| flow1_step6
          flow1_step1 -->|"1, not declared"| flow1_step3
          flow1_step1 ==>|"call, 1"| flow1_step4
          flow1_step3 -->|"1"| flow1_step1
          flow1_step4 -->|"1"| flow1_step5
          flow1_step5 -->|"1"| flow1_step7
          flow1_step7 -->|"return, 1"| flow1_step1
        end
        class flow1_step2 missed
        classDef missed stroke:#c0392b,stroke-dasharray:4"
    `)
  })

  test('add up with each other and with coverage', async () => {
    const coverage = coverageOf(Shop)
    const session = await talk(coverage)
    const { flows } = diagramOf(Shop, { coverage, sessions: new Set([session, renamed(session, {})]) })
    expect(flows[0]?.transitions).toContainEqual({ from: 'Chat', to: 'Pay', declared: false, seen: 3 })
    expect(flows[0]?.steps[1]).toEqual({ id: 'Help', kind: 'model', seen: 0 })
  })

  test('of former names are sessions of the flow and its steps, and those of others are left out', async () => {
    const session = await talk()
    const sequence = session.flow.sequence.map(({ step, level }) => ({
      step: step.replace('Address/Street', 'Place/Road'),
      level,
    }))
    const expected = diagramOf(Shop, { sessions: [session] }).mermaid()
    expect(diagramOf(Shop, { sessions: [renamed(session, { name: 'Store', sequence })] }).mermaid()).toBe(expected)
    const others = [session, renamed(session, { name: 'Desk' })]
    expect(diagramOf([Shop, flowOf('Plain', { Chat: undefined })], { sessions: others }).mermaid()).toContain(
      'flow2_step1["Chat<br>never"]',
    )
    expect(diagramOf(Shop, { sessions: others }).mermaid()).toBe(expected)
  })

  test('are of the flow that has their name now, though another one had it before', async () => {
    class Former extends Shop {
      static override readonly id = 'Former'
      static override readonly aliases = ['Shop']
    }
    const { flows } = diagramOf([Former, Shop], { sessions: [await talk()] })
    expect(flows.map(({ steps }) => steps[0]?.seen)).toEqual([0, 2])
  })

  test('may name steps that are gone: no move leads there, or on from there', async () => {
    const sequence = ['Chat', 'Gone', 'Pay', 'Chat'].map((step) => ({ step, level: 0 }))
    const { flows } = diagramOf(Shop, { sessions: [renamed(await talk(), { sequence })] })
    expect(flows[0]?.transitions.filter(({ seen }) => seen !== 0)).toEqual([
      { from: 'Pay', to: 'Chat', declared: null, seen: 1 },
    ])
    expect(flows[0]?.steps[0]?.seen).toBe(2)
  })

  test('that entered nothing are seen in their current step, and a new one nowhere', async () => {
    const session = await talk()
    const started = renamed(session, { sequence: [], currentStep: 'Help' })
    const { flows } = diagramOf(Shop, { sessions: [started, renamed(session, { sequence: [], currentStep: null })] })
    expect(flows[0]?.steps.filter(({ seen }) => seen !== 0)).toEqual([{ id: 'Help', kind: 'model', seen: 1 }])
  })

  test('whose first entry is a return were in that step', async () => {
    const sequence = [
      { step: 'Address/End', level: 1 },
      { step: 'Chat', level: 0 },
    ]
    const { flows } = diagramOf(Shop, { sessions: [renamed(await talk(), { sequence })] })
    expect(flows[0]?.steps[0]).toEqual({ id: 'Chat', kind: 'logic', seen: 1 })
  })

  test('may end in an end step of the flow', async () => {
    class Done extends EndStep {
      static override readonly id = 'Done'
    }
    class Only extends LogicStep {
      static override readonly id = 'Only'
      override run() {
        return go(Done).withLead('Bye.')
      }
    }
    class Short extends Flow {
      static override readonly id = 'Short'
      override steps() {
        return [Only, Done]
      }
    }
    await using conversation = new Conversation(Short)
    await conversation.say('Hello')
    const { flows } = diagramOf(Short, { sessions: [await conversation.document()] })
    expect(flows[0]?.transitions).toEqual([{ from: 'Only', to: 'Done', declared: null, seen: 1 }])
  })
})

test.each<[string, unknown, unknown]>([
  ['diagramOf: the flow must be a class that extends Flow; got the class Chat.', Chat, undefined],
  ['diagramOf: the flow must be a class that extends Flow; got null.', null, undefined],
  ['diagramOf got no flow: there would be nothing to draw.', [], undefined],
  ["diagramOf: two flows have the ID 'Shop'.", [Shop, Shop], undefined],
  ["diagramOf: steps() of flow 'Odd' must return a list of classes of steps; got undefined.", oddFlow(), undefined],
  ['diagramOf: the options must be an object.', Shop, null],
  ["diagramOf: there is no option 'session'. The options are coverage, sessions. Did you mean", Shop, { session: [] }],
  [
    'diagramOf: coverage must be what coverageOf or coverFlows returned, or its report(); got {"flows":[1]}.',
    Shop,
    { coverage: { flows: [1] } },
  ],
  ['or its report(); got null.', Shop, { coverage: null }],
  ['or its report(); got {"report":1}.', Shop, { coverage: { report: 1 } }],
  ['diagramOf: sessions must be a list of session documents; got {"flow":{}}.', Shop, { sessions: { flow: {} } }],
  ['diagramOf: sessions must be a list of session documents; got "a".', Shop, { sessions: 'a' }],
  ['diagramOf: sessions must be documents as engine.getSession returns them; got null.', Shop, { sessions: [null] }],
  [
    'as engine.getSession returns them; got {"flow":{"name":"Shop"',
    Shop,
    { sessions: [{ flow: { name: 'Shop', currentStep: null, sequence: ['Chat'] } }] },
  ],
  [
    'as engine.getSession returns them; got {"flow":{"sequence"',
    Shop,
    { sessions: [{ flow: { sequence: [], currentStep: null } }] },
  ],
])('refuses: %s', (message, flows, options) => {
  expect(() => diagramOf(flows as FlowConstructor, options as DiagramOptions)).toThrow(
    expect.objectContaining({ code: 'INVALID_INPUT', message: expect.stringContaining(message) }),
  )
})

function oddFlow(): FlowConstructor {
  return class extends Flow {
    static override readonly id = 'Odd'
    override steps(): StepConstructor[] {
      return undefined as unknown as StepConstructor[]
    }
  }
}
