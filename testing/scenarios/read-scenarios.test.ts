import { describe, expect, test } from 'vitest'
import { readScenarios, type ScenarioSetup } from './index.js'
import { readDocument } from './read-scenarios.js'
import { failureOfAll } from './scenario-failure.js'

/** Runs all scenarios of a file, with a set-up that is used by none of them. */
async function runAll(text: string): Promise<void> {
  const { scenarios } = readScenarios(text, '/app/t.scenario.md')
  for (const scenario of scenarios) await scenario.run({} as ScenarioSetup)
}

const beginning = '# Tables\n\nSetup: ./tables.setup.js\n'

test('a file has a title, a set-up, and scenarios with their lines', () => {
  const text = `\uFEFF${beginning}
Some words about it: free text, with **anything**.

| a | table |

## One

- User: Hello
- Bot: Good
  evening.

    And welcome.

## Two
* **User**: Bye
`
  const file = readScenarios(text.replaceAll('\n', '\r\n'), 'tables.scenario.md')
  expect([file.title, file.setup, file.setupLine]).toEqual(['Tables', './tables.setup.js', 3])
  expect(file.scenarios.map(({ title, line }) => [title, line])).toEqual([
    ['One', 9],
    ['Two', 17],
  ])
  const [one, two] = readDocument(text, 'tables.scenario.md').scenarios
  expect(one?.events).toMatchObject([
    {
      kind: 'turn',
      line: 11,
      sent: { kind: 'user', text: 'Hello' },
      expectations: [{ line: 12, expected: 'Good\nevening.\n\nAnd welcome.' }],
    },
  ])
  expect(two?.events).toMatchObject([{ kind: 'turn', line: 18, sent: { kind: 'user', text: 'Bye' } }])
})

test('a heading may be closed', () => {
  const { title, scenarios } = readScenarios('# Tables #\nSetup: ./a.js\n## One ##\nUser: a\n## C#\nUser: a', 't.md')
  expect([title, ...scenarios.map((scenario) => scenario.title)]).toEqual(['Tables', 'One', 'C#'])
})

test('lines may be numbered or have any bullet, and a step may have any letters in its ID', () => {
  const { scenarios } = readDocument(
    `${beginning}## One\n1. User: a\n2) State of Größe: b = 1\n3. **Step:** Größe\n-Completed: yes\n• Tools: None`,
    't.md',
  )
  expect(scenarios[0]?.events).toMatchObject([
    {
      sent: { text: 'a' },
      expectations: [
        { kind: 'state', step: 'Größe', part: { b: 1 } },
        { kind: 'step', step: 'Größe' },
        { kind: 'completed' },
        { kind: 'tools', names: [] },
      ],
    },
  ])
})

test('an indented line is text, with a backslash where it looks like a line of its own', () => {
  const lines = 'User: a\nBot: Please:\n  Note: this\n  \\- Bot: that\n  \\## And\n  \\n\n> A note\n  with more'
  const { scenarios } = readDocument(`${beginning}## One\n${lines}`, 't.md')
  expect(scenarios[0]?.events).toMatchObject([
    { sent: { text: 'a' }, expectations: [{ expected: 'Please:\nNote: this\n- Bot: that\n## And\n\\n' }] },
  ])
})

test('a file without a title has its path as the title', () => {
  expect(readScenarios('Setup: ./a.js\n## One\nUser: a', 'a/b.scenario.md').title).toBe('a/b.scenario.md')
})

describe('a file that cannot be read fails with the line', () => {
  test.each([
    [
      'an unknown word',
      '## One\nUsr: Hello',
      't.scenario.md:5: Usr: Hello\nA line of a scenario begins with one of these',
    ],
    ['a misspelt word', '## One\nUsr: Hello', "and a note begins with >\nDid you mean 'User'?"],
    ['no colon', '## One\n- User Hello', ':5: - User Hello\nA line of a scenario begins with one of these words'],
    ['no colon after one word', '## One\n- User Hello', "and a note begins with >\nWrite a colon after 'User'."],
    ['no colon after two words', '## One\n**Bot mentions** a', "Write a colon after 'Bot mentions'."],
    ['no colon after a step', '## One\nState of A b = 1', "Write a colon after 'State of <step>'."],
    ['text that begins like a word', '## One\nUsers come', /:5: Users come\n.* and a note begins with >$/],
    [
      'no space in a heading',
      '##One\nUser: a',
      't.scenario.md:4: ##One\nA scenario begins with ##, a space and a title',
    ],
    ['no title in a heading', '## One\nUser: a\n##\nUser: b', ':6: ##\nA scenario begins with ##, a space and a title'],
    [
      'an unknown code',
      '## One\nUser: a\nFails: FLOW_ERORR',
      'there is no error code "FLOW_ERORR". The codes are INVALID_INPUT, FLOW_NOT_FOUND,',
    ],
    ['a misspelt code', '## One\nUser: a\nFails: FLOW_ERORR', "TURN_TIMEOUT. Did you mean 'FLOW_ERROR'?"],
    ['a code in lower case', '## One\nUser: a\nFails: flow_error', "Did you mean 'FLOW_ERROR'?"],
    [
      'tools without a comma',
      '## One\nUser: a\nTools: find order',
      ':6: Tools: find order\nThe line cannot be read: it needs the names',
    ],
    [
      'tools with a comma too many',
      '## One\nUser: a\nTools: find,',
      'the names of tools with a comma between two of them',
    ],
    [
      'JSON of a state',
      '## One\nUser: a\nState of A: b = {c: 1}',
      ':6: State of A: b = {c: 1}\nThe line cannot be read: a value that begins with { is JSON, and this is not valid JSON: ',
    ],
    ['JSON that is meant as text', '## One\nUser: a\nState of A: b = [1', 'as a text, write it in quotes: "[1"'],
    ['a line without a word', '## One\nHello', 't.scenario.md:5: Hello\nA line of a scenario begins with'],
    ['a property of objects', '## One\nconstructor: a', ':5: constructor: a\nA line of a scenario begins with'],
    ['the bot first', '## One\nBot: Hello', ':5: Bot: Hello\nIt belongs to a message of the user'],
    ['an expectation after a wait', '## One\nUser: a\nWait: 1 day\nBot: b', ':7: Bot: b\nIt belongs to a message'],
    ['a message before a scenario', 'User: Hello\n## One', ':4: User: Hello\nIt belongs to no scenario.'],
    ['something given before a scenario', 'Given: rain\n## One', ':4: Given: rain\nIt belongs to no scenario.'],
    ['a step before a scenario', '- **Step**: Ask\n## One', ':4: - **Step**: Ask\nIt belongs to no scenario.'],
    ['a wait before a scenario', 'wait: long\n## One', ':4: wait: long\nIt belongs to no scenario.'],
    ['another heading', '## One\n### More', ':5: ### More\nThe title of the file begins with one #'],
    ['a second title', '## One\n# More', ':5: # More\nThe title of the file begins with one #'],
    ['something given late', '## One\nUser: a\nGiven: b', ':6: Given: b\nWhat is given comes before the first message'],
    [
      'nothing after the colon',
      '## One\nUser: a\nStep:',
      ':6: Step:\nThe line cannot be read: nothing follows the colon.',
    ],
    ['a pattern', '## One\nUser: a\nBot: /(/', 'this is not a valid one: Invalid regular expression'],
    ['a flag twice', '## One\nUser: a\nState of A: b = /a/ii', 'this is not a valid one: Invalid'],
    [
      'arguments',
      '## One\nUser: a\nModel calls: find {guests: 4}',
      'what the model gives to the tool is not valid JSON',
    ],
    ['state', '## One\nUser: a\nState of AskName: Ada', 'it needs a name, = and a value'],
    ['a time', '## One\nWait: a while', 'it needs a number and a unit'],
    ['no time', '## One\nWait: 0 days', 'it needs a number and a unit'],
    ['not completed', '## One\nUser: a\nCompleted: no', 'it can only be "Completed: yes"'],
    ['the server', '## One\nServer: stops', 'it can only be "Server: restarts"'],
    [
      'an indented line of a list',
      '## One\n- User: Ada\n  - Bot: nonsense',
      ':6: - Bot: nonsense\nThe line is indented: it would become part of the line above.',
    ],
    [
      'an indented line after a blank one',
      '## One\nUser: Ada\n\n  state of A: b = 1',
      't.scenario.md:7: state of A: b = 1\nThe line is indented: it would become part of the line above. Take the spaces before it out. If it is text, write a backslash before it: \\state of A: b = 1',
    ],
    ['an indented line below a note', '## One\nUser: Ada\n> note\n  Bot: b', ':7: Bot: b\nThe line is indented'],
    ['an indented line that cannot be read', '## One\nUser: Ada\n  Wait: long', ':6: Wait: long\nThe line is indented'],
    ['an indented heading', '## One\nUser: a\n  ## Two\nBot: b', ':6: ## Two\nThe line is indented'],
    [
      'a scenario without a line',
      '## One\n## Two\nUser: a',
      ':4: ## One\nThe scenario checks nothing: it has no message',
    ],
    ['a scenario that is a note', '## One\n> note\n## Two\nUser: a', ':4: ## One\nThe scenario checks nothing'],
    ['a scenario without a message', '## One\nGiven: a\nServer: restarts', ':4: ## One\nThe scenario checks nothing'],
    [
      'a scenario without an expectation',
      '## One\nUser: a\nModel: b\nServer: restarts\nUser: b',
      ':4: ## One\nThe scenario checks nothing: it expects nothing.',
    ],
    [
      'two failures of one message',
      '## One\nUser: a\nFails: TOOL_ERROR\nStep: A\nFails: FLOW_ERROR',
      ':8: Fails: FLOW_ERROR\nThe message has a line "Fails:" already, and it fails with one code.',
    ],
    [
      'a second set-up',
      'Setup: ./b.js\n## One\nUser: a',
      't.scenario.md:4: Setup: ./b.js\nLine 3 names the set-up already',
    ],
    [
      'a set-up below a scenario',
      '## One\n- **Setup:** ./b.js\nUser: a',
      't.scenario.md:5: - **Setup:** ./b.js\nThe set-up is named above the first scenario',
    ],
    ['a wait that no clock can show', '## One\nUser: a\nWait: 36501 days', 'the longest wait is 36500 days.'],
    ['no scenario', 'Words.', 't.scenario.md:1: The file is not complete.\nIt has no scenario.'],
  ])('%s', async (_title, text, message) => {
    await expect(runAll(`${beginning}${text}`)).rejects.toThrow(message)
  })

  test('which fails its scenario, and no other one, with all of its lines', async () => {
    const text = '## One\nUsr: Hello\nBot: a\nStep:\n### More\n## Two\nUser: a\nBot: b\n## Three\nWait: long'
    const [one, two, three] = readDocument(`${beginning}${text}`, '/app/t.scenario.md').scenarios
    expect([two?.problems, two?.events.length]).toEqual([[], 1])
    expect(three?.problems.map(({ message }) => message)).toEqual([expect.stringContaining(':13: Wait: long\n')])
    const failure = failureOfAll(one?.problems ?? [])
    const lines = (text = '') => text.split('\n').filter((line) => /scenario.*:\d/.test(line))
    expect(lines(failure?.message)).toEqual([
      't.scenario.md:5: Usr: Hello',
      't.scenario.md:7: Step:',
      't.scenario.md:8: ### More',
    ])
    expect(lines(failure?.stack).at(-1)).toBe('    at scenario (/app/t.scenario.md:5:1)')
  })

  test('with its path, as far as it is relative', () => {
    const read = (file: string) => () => readScenarios('', file)
    expect(read('test/t.scenario.md')).toThrow(/^test\/t\.scenario\.md:1: /)
    expect(read('../t.scenario.md')).toThrow(/^\.\.\/t\.scenario\.md:1: /)
    expect(read('/app/test/t.scenario.md')).toThrow(/^t\.scenario\.md:1: /)
    expect(read('C:\\app\\t.scenario.md')).toThrow(/^t\.scenario\.md:1: /)
  })

  test('what is not a text', () => {
    const read = readScenarios as (text: unknown, file: unknown) => unknown
    expect(() => read(undefined, 't.md')).toThrow(
      "readScenarios: text must be the text of the file, as readFileSync(file, 'utf8') returns it; got undefined.",
    )
    expect(() => read('', undefined)).toThrow(
      'readScenarios: file must be the path of the file, as a string; got undefined.',
    )
  })

  test('no set-up', () => {
    expect(() => readScenarios('## One\nUser: a', 't.scenario.md')).toThrow('must name the module that sets it up')
    expect(() => readScenarios('## One\nSetup: ./a.js\nUser: a', 't.scenario.md')).toThrow(
      't.scenario.md:2: Setup: ./a.js\nThe set-up is named above the first scenario: move the line there.',
    )
    expect(() => readScenarios('Setup:\n## One\nUser: a', 't.scenario.md')).toThrow(
      't.scenario.md:1: Setup:\nNothing follows the colon: name a module, as in Setup: ./desk.setup.js',
    )
  })
})
