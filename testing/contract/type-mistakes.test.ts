/**
 * Checks what an author of tests sees in the editor: of a script, a double or a list of expectations with a mistake,
 * the compiler marks the mistake alone, and its last sentence says what is wrong.
 */
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import ts from 'typescript'
import { describe, expect, test } from 'vitest'

const root = fileURLToPath(new URL('../../', import.meta.url))
const start = `
import { Flow, Step } from 'turnkeeper'
import { Conversation, type ModelScript, ScriptedModel, scriptedProvider } from 'turnkeeper/testing'
class Ask extends Step<{ name: string }> { static override readonly id = 'Ask'; override prompt() { return 'Ask.' } }
class Desk extends Flow { static override readonly id = 'Desk'; steps() { return [Ask] } }
const conversation = new Conversation(Desk)
`

interface Marked {
  /** What the compiler marks. */
  readonly marked: string
  /** The last line of what it says: the lines before it only lead there. */
  readonly says: string
}

/** What the compiler marks in each of the programs. */
function compile(programs: readonly string[]): Marked[][] {
  const config = ts.getParsedCommandLineOfConfigFile(
    join(root, 'tsconfig.json'),
    { isolatedDeclarations: false, declaration: false },
    { ...ts.sys, onUnRecoverableConfigFileDiagnostic: () => undefined },
  )
  const options = { ...config?.options }
  const files = new Map(programs.map((program, index) => [join(root, `type-mistake-${index}.ts`), start + program]))
  const host = ts.createCompilerHost(options)
  const { fileExists, readFile, getSourceFile } = host
  host.fileExists = (file) => files.has(file) || fileExists(file)
  host.readFile = (file) => files.get(file) ?? readFile(file)
  host.getSourceFile = (file, languageOptions) => {
    const text = files.get(file)
    return text === undefined ? getSourceFile(file, languageOptions) : ts.createSourceFile(file, text, languageOptions)
  }
  const program = ts.createProgram([...files.keys()], options, host)
  return Array.from(files, ([file, text]) =>
    program.getSemanticDiagnostics(program.getSourceFile(file)).map(({ start: from = 0, length = 0, messageText }) => ({
      marked: text.slice(from, from + length),
      says: lastLine(ts.flattenDiagnosticMessageText(messageText, '\n')),
    })),
  )
}

/** The compiler lists the members of a union in an order of its own: here they are sorted. */
function lastLine(text: string): string {
  const line = text.split('\n').at(-1)?.trim() ?? ''
  return line.replace(/'([^'{]* \| [^'{]*)'/g, (_, union: string) => `'${union.split(' | ').sort().join(' | ')}'`)
}

interface Mistake {
  readonly title: string
  readonly code: string
  readonly expected: readonly Marked[]
}

const mistakes: readonly Mistake[] = [
  {
    title: 'a property of a reply that there is not',
    code: "new Conversation(Desk, { script: ['one', { text: 'two' }, { txt: 'three' }, () => 'four'] })",
    expected: [
      {
        marked: 'txt',
        says: "Object literal may only specify known properties, and 'txt' does not exist in type 'Error | ScriptedAnswer | ScriptedReplyFunction'.",
      },
    ],
  },
  {
    title: 'a property too many in a reply that is good without it',
    code: "new Conversation(Desk, { script: ['one', { text: 'two', delay: 3 }, 'three'] })",
    expected: [
      {
        marked: 'delay',
        says: "Object literal may only specify known properties, and 'delay' does not exist in type 'Error | ScriptedAnswer | ScriptedReplyFunction'.",
      },
    ],
  },
  {
    title: 'two mistakes, and good replies before, between and after them',
    code: "new Conversation(Desk, { script: ['one', { text: 2 }, 'three', 4, { failure: 503 }] })",
    expected: [
      { marked: 'text', says: "Type 'number' is not assignable to type 'string'." },
      { marked: '4', says: "Type 'number' is not assignable to type 'ScriptedReply | ScriptedReplyFunction'." },
    ],
  },
  {
    title: 'a tool call with a name that is written wrongly',
    code: "new Conversation(Desk, { script: ['one', { toolCalls: [{ name: 'a' }, { nam: 'b' }] }, 'three'] })",
    expected: [
      {
        marked: 'nam',
        says: "Object literal may only specify known properties, but 'nam' does not exist in type 'ScriptedToolCall'. Did you mean to write 'name'?",
      },
    ],
  },
  {
    title: 'an argument of a tool call that is not JSON',
    code: "new Conversation(Desk, { script: ['one', { toolCalls: [{ name: 'a', input: { at: new Date() } }] }] })",
    expected: [{ marked: 'input', says: "Index signature for type 'string' is missing in type 'Date'." }],
  },
  {
    title: 'a failure with an option that there is not',
    code: "new Conversation(Desk, { script: [{ failure: 503 }, { failure: { retryAfter: 3 } }, 'three'] })",
    expected: [
      {
        marked: 'retryAfter',
        says: "Object literal may only specify known properties, but 'retryAfter' does not exist in type 'ScriptedFailure'. Did you mean to write 'retryAfterMs'?",
      },
    ],
  },
  {
    title: 'a function among the replies with a wrong result',
    code: "new Conversation(Desk, { script: ['one', () => 2, () => 'three'] })",
    expected: [
      { marked: '() => 2', says: "Type 'number' is not assignable to type 'Promise<ScriptedReply> | ScriptedReply'." },
    ],
  },
  {
    title: 'a promise that was not awaited',
    code: "new Conversation(Desk, { script: ['one', Promise.resolve('two'), 'three'] })",
    expected: [
      {
        marked: "Promise.resolve('two')",
        says: "Type 'Promise<string>' is not assignable to type 'ScriptedReply | ScriptedReplyFunction'.",
      },
    ],
  },
  {
    title: 'one function for all replies with a wrong result',
    code: 'new Conversation(Desk, { script: () => 7 })',
    expected: [
      { marked: 'script', says: "Type 'number' is not assignable to type 'Promise<ScriptedReply> | ScriptedReply'." },
    ],
  },
  {
    title: 'a text instead of a list',
    code: "new Conversation(Desk, { script: 'Hello' })",
    expected: [{ marked: 'script', says: "Type 'string' is not assignable to type 'ModelScript | undefined'." }],
  },
  {
    title: 'a reply of the rule for one step',
    code: "const script: ModelScript = { Ask: ['one'], Confirm: ['two', { chunks: 'three' }, 'four'] }; void script",
    expected: [{ marked: 'chunks', says: "Type 'string' is not assignable to type 'readonly string[]'." }],
  },
  {
    title: 'a property too many in a reply of the rule for one step',
    code: "new Conversation(Desk, { script: { Confirm: ['one'], Ask: ['two', { toolCall: 'three' }, 'four'] } })",
    expected: [
      {
        marked: 'toolCall',
        says: "Object literal may only specify known properties, and 'toolCall' does not exist in type 'Error | ScriptedAnswer | ScriptedReplyFunction'.",
      },
    ],
  },
  {
    title: 'the script of a model, and of a provider',
    code: "new ScriptedModel(['one', 2, 'three']); scriptedProvider(['one', { text: null }, 'three'])",
    expected: [
      { marked: '2', says: "Type 'number' is not assignable to type 'ScriptedReply | ScriptedReplyFunction'." },
      { marked: 'text', says: "Type 'null' is not assignable to type 'string | undefined'." },
    ],
  },
  {
    title: 'a result of a double that is not JSON, beside a function and an error',
    code: "new Conversation(Desk, { tools: { find: [{ ok: true }, () => 'x', 3n, new Error('down')], ask: 'good' } })",
    expected: [{ marked: '3n', says: "Type 'bigint' is not assignable to type 'ToolDoubleResult'." }],
  },
  {
    title: 'a double that is not JSON, beside good ones',
    code: 'new Conversation(Desk, { tools: { find: { ok: true }, ask: 3n, none: null, run: ({ a }) => a } })',
    expected: [{ marked: 'ask', says: "Type 'bigint' is not assignable to type 'ToolDouble'." }],
  },
  {
    title: 'an expected tool call',
    code: "conversation.expectToolCalls(['a', { name: 'b', inputs: 3 }, { name: 'c', isError: true }])",
    expected: [
      {
        marked: 'inputs',
        says: "Object literal may only specify known properties, but 'inputs' does not exist in type '{ readonly name: string; readonly input?: unknown; readonly output?: unknown; readonly isError?: boolean; }'. Did you mean to write 'input'?",
      },
    ],
  },
  {
    title: 'a message of several at once',
    code: "await conversation.atOnce(['Hello', { txt: 'Hi' }, { text: 'Bye', key: 'bye' }])",
    expected: [
      {
        marked: 'txt',
        says: `Object literal may only specify known properties, but 'txt' does not exist in type '{ readonly text: string; } & Omit<SayInput, "fault">'. Did you mean to write 'text'?`,
      },
    ],
  },
  {
    title: 'a call in the journal',
    code: "conversation.store.expectJournal(['load', 'creat', 'save'])",
    expected: [
      {
        marked: "'creat'",
        says: `Type '"creat"' is not assignable to type 'ExpectedStoreCall'. Did you mean '"create"'?`,
      },
    ],
  },
  {
    title: 'a property of a state',
    code: 'conversation.expectState(Ask, { name: 3 })',
    expected: [{ marked: 'name', says: "Type 'number' is not assignable to type 'RegExp | string | undefined'." }],
  },
  {
    title: 'nothing where there is no mistake',
    code: `
      new Conversation(Desk, { script: ['one', { text: 'two' }, (request) => request.origin.stepId, new Error('x')] })
      new Conversation(Desk, { script: (request) => ({ text: request.origin.stepId }) })
      new Conversation(Desk, { script: { Ask: (request) => request.origin.stepId, Do: [async (request) => request.origin.stepId] } })
      const replies: string[] = ['one']
      new Conversation(Desk, { script: replies, tools: { a: (args: { q: string }, turn) => args.q + turn.message, b: [null, ['x']] } })
    `,
    expected: [],
  },
]

describe('the compiler marks', () => {
  const found = compile(mistakes.map(({ code }) => code))

  test.each(mistakes.map((mistake, index) => ({ ...mistake, found: found[index] })))('$title', (mistake) => {
    expect(mistake.found).toEqual(mistake.expected)
  })
})
