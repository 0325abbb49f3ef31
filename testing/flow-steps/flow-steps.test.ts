/** The IDs of steps, with flows among the steps. */
import { describe, expect, test } from 'vitest'
import { End, Flow, type FlowConstructor, LogicStep, reply, type StepConstructor } from '../../src/index.js'
import { flowsOf, idFrom, listedSteps, stepIdIn, stepNamed } from './flow-steps.js'

class Street extends LogicStep {
  static override readonly id: string = 'Street'
  static override readonly aliases = ['Road']
  override run() {
    return reply('Which street?')
  }
}
class Town extends Street {
  static override readonly id: string = 'Town'
  static override readonly aliases = []
}
class Address extends Flow {
  static override readonly id: string = 'Address'
  static override readonly aliases = ['Place']
  override steps(): readonly StepConstructor[] {
    return [Street, Town]
  }
  override initialStep() {
    return Town
  }
}
class Order extends Flow {
  static override readonly id = 'Order'
  override steps() {
    return [Address, Town]
  }
}
class Chat extends Town {
  static override readonly id = 'Chat'
}
class Shop extends Flow {
  static override readonly id = 'Shop'
  override steps() {
    return [Chat, Order]
  }
}

const steps = listedSteps('test', Shop)

test('have the IDs of the flows around them, and their former names', () => {
  expect(steps.map(({ id, aliases, stepClass }) => [id, aliases, stepClass])).toEqual([
    ['Chat', [], Chat],
    ['Order/Address/Street', ['Order/Address/Road', 'Order/Place/Street', 'Order/Place/Road'], Street],
    ['Order/Address/Town', ['Order/Place/Town'], Town],
    ['Order/Town', [], Town],
  ])
  expect(flowsOf(steps).map(({ id, first }) => [id, first])).toEqual([
    ['', 'Chat'],
    ['Order', 'Order/Town'],
    ['Order/Address', 'Order/Address/Town'],
  ])
})

test('are found by the class, and a class that is there twice by its ID', () => {
  expect(stepIdIn('test', Shop, Street)).toBe('Order/Address/Street')
  expect(stepIdIn('test', Shop, 'Order/Town')).toBe('Order/Town')
  expect(stepNamed(steps, 'Town')).toBeUndefined()
  class Other extends Street {
    static override readonly id = 'Chat'
  }
  expect(stepIdIn('test', Shop, Other)).toBe('Chat')
  expect(() => stepIdIn('test', Shop, Town)).toThrow(
    "test: the flow has the step Town more than once, as 'Order/Address/Town' and 'Order/Town': name one of them by its ID.",
  )
})

test('that a step names are looked up in its own flow, and then in those around it', () => {
  const known = new Set(steps.map(({ id }) => id))
  const [outermost, order, address] = flowsOf(steps)
  if (outermost === undefined || order === undefined || address === undefined) throw new Error('a flow is missing')
  expect(['Town', Chat, 'Nothing'].map((named) => idFrom(address, named, known))).toEqual([
    'Order/Address/Town',
    'Chat',
    'Nothing',
  ])
  expect([idFrom(order, Town, known), idFrom(outermost, 'Town', known)]).toEqual(['Order/Town', 'Town'])
})

test('that a step names by its class are found outside, although an inside flow has another one of that name', () => {
  class Ask extends Town {
    static override readonly id: string = 'Ask'
  }
  class AskInside extends Ask {}
  class AskElsewhere extends Ask {}
  class Help extends Address {
    static override readonly id: string = 'Help'
  }
  class HelpInside extends Help {}
  class Sub extends Flow {
    static override readonly id = 'Sub'
    override steps() {
      return [AskInside, HelpInside]
    }
  }
  class Around extends Flow {
    static override readonly id = 'Around'
    override steps() {
      return [Ask, Help, Sub, End]
    }
  }
  const listed = listedSteps('test', Around)
  const flows = flowsOf(listed)
  const [around, sub] = [flows.find(({ id }) => id === ''), flows.find(({ id }) => id === 'Sub')]
  if (around === undefined || sub === undefined) throw new Error('a flow is missing')
  const known = new Set([...listed, ...flows].map(({ id }) => id).concat('Sub/End'))
  const named = [Ask, AskInside, AskElsewhere, 'Ask', Help, HelpInside, End]
  expect(named.map((one) => idFrom(sub, one, known))).toEqual([
    ...['Ask', 'Sub/Ask', 'Sub/Ask', 'Sub/Ask'],
    ...['Help', 'Sub/Help', 'Sub/End'],
  ])
  expect(named.map((one) => idFrom(around, one, known))).toEqual(['Ask', 'Ask', 'Ask', 'Ask', 'Help', 'Help', 'End'])
})

describe('cannot be listed', () => {
  test('of a flow that contains itself', () => {
    class Endless extends Flow {
      static override readonly id = 'Endless'
      override steps(): readonly (StepConstructor | FlowConstructor)[] {
        return [Chat, Endless]
      }
    }
    expect(() => listedSteps('test', Endless)).toThrow("test: flow 'Endless' contains itself.")
  })

  test('of a flow in a flow that lists something else', () => {
    class Broken extends Address {
      static override readonly id = 'Broken'
      override steps(): readonly StepConstructor[] {
        return [Street, undefined as never]
      }
    }
    class Around extends Flow {
      override steps() {
        return [Broken]
      }
    }
    expect(() => listedSteps('test', Around)).toThrow(
      "test: steps() of flow 'Broken' must return a list of classes of steps; got [the class Street, undefined].",
    )
  })
})
