/** The coverage of outside events: those that were taken, and those that were declared and never taken. */
import { expect, test } from 'vitest'
import { event, Flow, finish, go, LogicStep, reply, type StepConstructor } from '../../src/index.js'
import { Conversation } from '../conversation/conversation.js'
import { coverageOf, type FlowCoverage } from './flow-coverage.js'
import { mergeReports } from './merge-reports.js'

const day = 86_400_000

class Approval extends LogicStep<{ amount: number }> {
  static override readonly id = 'Approval'
  override initialState() {
    return { amount: 50 }
  }
  override events() {
    return [
      event({ name: 'decision', execute: () => go(Pay) }),
      event({ name: 'remind', after: day, execute: () => undefined }),
      event({ name: 'help', execute: () => reply('Somebody comes.') }),
      ...(this.state.amount > 100 ? [event({ name: 'second', execute: () => reply('And one more.') })] : []),
    ]
  }
  override run() {
    this.state.amount = 200
    return reply('I have asked.')
  }
}
class Pay extends LogicStep {
  static override readonly id = 'Pay'
  override events() {
    return [event({ name: 'paid', execute: () => finish('Paid.') })]
  }
  override run() {
    return reply('I pay.')
  }
}
class Refund extends Flow {
  static override readonly id = 'Refund'
  override steps(): readonly StepConstructor[] {
    return [Approval, Pay]
  }
  override events() {
    return [
      event({ name: 'help', execute: () => reply('Please wait.') }),
      event({ name: 'shipped', execute: () => reply('It is on its way.') }),
    ]
  }
}

async function approved(coverage: FlowCoverage): Promise<void> {
  await using conversation = new Conversation(Refund, { coverage })
  await conversation.say('200 EUR')
  await conversation.advance(day)
  await conversation.sendEvent('help')
  await conversation.sendEvent('second')
  await conversation.sendEvent('decision')
  await conversation.sendEvent('help')
  await conversation.sendEvent('nothing')
  conversation.expectError('EVENT_NOT_TAKEN')
}

const expected = [
  { step: null, name: 'help', taken: 1 },
  { step: null, name: 'shipped', taken: 0 },
  { step: 'Approval', name: 'decision', taken: 1 },
  { step: 'Approval', name: 'remind', taken: 1 },
  { step: 'Approval', name: 'help', taken: 1 },
  { step: 'Pay', name: 'paid', taken: 0 },
  { step: 'Approval', name: 'second', taken: 1 },
]

test('counts events by who took them, and lists those that were never taken', async () => {
  const coverage = coverageOf(Refund)
  await approved(coverage)
  expect(coverage.report().flows[0]?.events).toEqual(expected)
  expect(coverage.text()).toMatchInlineSnapshot(`
    "Refund, 7 turns
      steps       2 of 2
      end steps   0 of 1
      tools       none
      events      5 of 7
      transitions none
      seen from steps without next: Approval -> Pay
      missing:
      - end step End: no conversation ended there
      - event Refund.shipped: never taken
      - event Pay.paid: never taken"
  `)
  expect(() => coverage.expectFull({ except: ['End', 'Refund.shipped'] })).toThrow('event Pay.paid: never taken')
  coverage.expectFull({ except: ['End', 'Refund.shipped', 'Pay.paid'] })
})

test('a step that no conversation reached has no further gaps, and no message leads where an event has led', async () => {
  const coverage = coverageOf(Refund)
  expect(coverage.report().flows[0]?.gaps.map(({ name }) => name)).toEqual([
    'Approval',
    'Pay',
    'End',
    'Refund.help',
    'Refund.shipped',
  ])
  await approved(coverage)
  const steps = coverage.report().flows[0]?.steps.map(({ id, messages }) => [id, messages])
  expect(steps).toEqual([
    ['Approval', ['200 EUR']],
    ['Pay', undefined],
    ['End', undefined],
  ])
})

test('is added up over processes', async () => {
  const [one, other] = [coverageOf(Refund), coverageOf(Refund)]
  await approved(one)
  await approved(other)
  const report = JSON.parse(JSON.stringify(one))
  const twice = expected.map((covered) => ({ ...covered, taken: 2 * covered.taken }))
  expect(mergeReports([report, other.report()]).flows[0]?.events).toEqual(twice)
  expect(other.add(report).report().flows[0]?.events).toEqual(twice)
  // A report of an older release has no events.
  const [{ events: _, ...old }] = report.flows
  expect(other.add({ flows: [old] }).report().flows[0]?.events).toEqual(twice)
})
