/**
 * The smallest useful program: a flow of two steps in a terminal, without network, model or key.
 *
 *     npm start quickstart              talk to it
 *     npm start -- quickstart --check   it checks itself, and fails if something is wrong
 */
import assert from 'node:assert/strict'
import { createInterface } from 'node:readline/promises'
import { Flow, FlowEngine, finish, go, LogicStep, reply, type Turn } from 'turnkeeper'

const prices: ReadonlyMap<string, number> = new Map([
  ['espresso', 2.2],
  ['flat white', 3.4],
  ['mint tea', 2.8],
])

class ChooseDrink extends LogicStep<{ drink?: string }> {
  static override readonly id = 'ChooseDrink'
  override run(turn: Turn) {
    const menu = `We have ${[...prices.keys()].join(', ')}.`
    if (turn.entered) return reply(`Good morning! ${menu} What would you like?`)
    const drink = turn.message.trim().toLowerCase()
    if (!prices.has(drink)) return reply(`Not today, sorry. ${menu}`)
    this.state.drink = drink
    return go(ChooseCount)
  }
}

class ChooseCount extends LogicStep {
  static override readonly id = 'ChooseCount'
  override run(turn: Turn) {
    const { drink = '' } = turn.stateOf(ChooseDrink)
    if (turn.entered) return reply(`How many times ${drink}?`)
    const count = Number(turn.message)
    if (!Number.isInteger(count) || count < 1 || count > 12) return reply('A number from 1 to 12, please.')
    const total = count * (prices.get(drink) ?? 0)
    return finish(`${count} x ${drink}, ${total.toFixed(2)} in all. We call your number.`)
  }
}

class CoffeeCounter extends Flow {
  static override readonly id = 'CoffeeCounter'
  override steps() {
    return [ChooseDrink, ChooseCount]
  }
}

const engine = await FlowEngine.create({ flows: [CoffeeCounter], onTurnError: 'rollback' })

/** Sends one message in a session; an empty session starts a new one. */
async function say(userMessage: string, sessionId: string) {
  return engine.execute({ flowName: 'CoffeeCounter', userMessage, sessionId })
}

async function talk(): Promise<void> {
  const terminal = createInterface({ input: process.stdin, output: process.stdout })
  let answer = await say('', '')
  // A failed turn does not end the conversation.
  while (answer.sessionState === 'running') {
    const { message, session } = answer.response
    answer = await say(await terminal.question(`${message}\n> `), session)
  }
  terminal.close()
  console.log(answer.response.message)
}

async function check(): Promise<void> {
  const said = ['', 'lemonade', 'Flat White', 'many', '2']
  const expected = [
    'Good morning! We have espresso, flat white, mint tea. What would you like?',
    'Not today, sorry. We have espresso, flat white, mint tea.',
    'How many times flat white?',
    'A number from 1 to 12, please.',
    '2 x flat white, 6.80 in all. We call your number.',
  ]
  let session = ''
  for (const [index, message] of said.entries()) {
    const { response: answer } = await say(message, session)
    console.log(`> ${message}\n${answer.message}`)
    assert.equal(answer.message, expected[index])
    assert.equal(answer.success, true)
    assert.equal(answer.completed, index === said.length - 1)
    session = answer.session
  }
  const stored = await engine.getSession(session)
  assert.equal(stored?.runStatus, 'completed')
  assert.deepEqual(stored?.flow.steps.ChooseDrink?.state, { drink: 'flat white' })
  console.log('The quickstart works.')
}

await (process.argv.includes('--check') || process.stdin.isTTY !== true ? check() : talk())
await engine.close()
