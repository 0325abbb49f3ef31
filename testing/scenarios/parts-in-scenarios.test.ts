/** Buttons, other parts, and files of the user in a scenario. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { call, Flow, finish, go, LogicStep, reply, type StepConstructor, type Turn } from '../../src/index.js'
import { card, choices, custom, file, form } from '../../src/parts/index.js'
import { readScenarios } from './index.js'
import { readDocument } from './read-scenarios.js'

class Ask extends LogicStep {
  static override readonly id = 'Ask'
  override run({ attachments, choice }: Turn) {
    if (attachments.length > 0) return reply(attachments.map((one) => JSON.stringify(one)).join(' '))
    if (choice !== undefined) return call(Details, {})
    return reply('Which day?').withParts([
      choices('day', [
        { value: '1', label: 'Tuesday, at 10:30' },
        { value: '2', label: 'Friday' },
      ]),
    ])
  }
}
class Show extends LogicStep<{ seen?: number }> {
  static override readonly id = 'Show'
  override run(turn: Turn) {
    if (!turn.entered) return turn.choice === undefined ? finish('Bye.') : go(Show)
    this.state.seen = 1
    return reply('Here.').withParts([
      card({ title: 'Order 4711', rows: [['Status', 'on its way']] }),
      form({ name: 'address', schema: { type: 'object', properties: { town: { type: 'string' } } } }),
      file({ name: 'invoice.pdf', mediaType: 'application/pdf', url: 'https://files.example/1' }),
      custom('map', {}),
    ])
  }
}
class Details extends Flow {
  static override readonly id = 'Details'
  override steps(): readonly StepConstructor[] {
    return [Show]
  }
}
class Desk extends Flow {
  static override readonly id = 'Desk'
  override steps() {
    return [Ask, Details]
  }
}

const folder = mkdtempSync(join(tmpdir(), 'scenarios-'))
writeFileSync(join(folder, 'roof.jpg'), 'bytes')
writeFileSync(join(folder, 'bill.PDF'), 'pages')
afterAll(() => rmSync(folder, { recursive: true }))

/** Runs the first scenario of a file; line 4 is the first one below its heading. */
async function run(lines: string): Promise<void> {
  const text = `# Desk\nSetup: ./x.js\n## A scenario\n${lines}`
  await readScenarios(text, join(folder, 'desk.scenario.md')).scenarios[0]?.run({ flow: Desk })
}

const shown = 'User: Hello\nChoose Friday'

test('a button is pressed, and parts are expected', async () => {
  await run(`
User: Hello
Buttons: Tuesday,at 10:30 , Friday
- **Choose** Tuesday, at 10:30
- Card: Order 4711
- Card: /^order \\d+$/i
- Row: Status = on its way
- Row: Status = /way/
- Form: address
- File: invoice.pdf
- Part: map
- Buttons: none
- Step: Details/Show
- State of Details/Show: seen = 1
Choose: Friday
Bot: Bye.

  Which day?`)
})

test('a file beside the scenario goes with the message', async () => {
  await run(
    'User: Hello\nUser:\nAttach roof.jpg\nAttach: bill.PDF\nBot mentions: {"type":"image","mediaType":"image/jpeg","data":"Ynl0ZXM="}\nBot mentions: "mediaType":"application/pdf","data":"cGFnZXM=","name":"bill.PDF"',
  )
})

describe('a scenario that is not so fails with its line', () => {
  test.each([
    ['User: Hello\nChoose Monday\nBot: x', ':5: Choose Monday\nThere is no button "Monday". The buttons: Tuesday'],
    [
      'User: Hello\nButtons: Friday',
      ':5: Buttons: Friday\nExpected the buttons Friday\n  but they are: Tuesday, at 10:30, Friday',
    ],
    ['User: Hello\nButtons: none', 'Expected the buttons none'],
    ['User: Hello\nButtons: Tuesday, at 10:31, Friday', 'Expected the buttons Tuesday, at 10:31, Friday'],
    [`${shown}\nRow: State = on its way`, 'Expected a card with the row State = on its way'],
    ['User: Hello\nCard: Order', 'Expected a reply with the card "Order"\n  but it has: none\nWhere:'],
    [`${shown}\nCard: Order`, 'Expected a reply with the card "Order"\n  but it has: "Order 4711"'],
    [
      `${shown}\nRow: Status = lost`,
      'Expected a card with the row Status = lost\n  but its rows are: Status = on its way',
    ],
    [`${shown}\nPart: maps`, 'Expected a reply with the part "maps"\n  but it has: "map"'],
    [`${shown}\nRow: Status`, 'it needs a label, = and a value, as in Row: Status = on its way'],
    [`${shown}\nCard: /(/`, 'this is not a valid one'],
    [`${shown}\nAttach roof.jpg\nBot: x`, ':6: Attach roof.jpg\nA file goes with a message of the user'],
    [
      'User: Hello\nAttach wall.jpg\nBot: x',
      ':5: Attach wall.jpg\nThe file cannot be read. It must be beside this scenario',
    ],
    ['User: Hello\nChoose\nBot: x', "Write a colon after 'Choose'."],
    ['User: Hello\nChosse: Friday\nBot: x', "Did you mean 'Choose'?"],
    ['User: Hello\nState of Show: seen = 1', "The flow has no step 'Show'; its steps: Ask, Details/Show."],
  ])('%s', async (lines, message) => {
    await expect(run(lines)).rejects.toThrow(message)
  })
})

test('the words without a colon are lines only where a line begins', () => {
  const text =
    '# Desk\nSetup: ./x.js\nChoose a day.\nAttach a file.\n## One\nUser: Hello\nBot: Please:\n  Choose a day.'
  const [one] = readDocument(text, 'desk.scenario.md').scenarios
  expect(one?.problems).toEqual([])
  expect(one?.events).toMatchObject([{ expectations: [{ kind: 'reply', expected: 'Please:\nChoose a day.' }] }])
})
