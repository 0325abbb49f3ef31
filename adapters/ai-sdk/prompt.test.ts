import { describe, expect, test } from 'vitest'
import type { Message, MessagePart, ToolCallPart, ToolResultPart } from '../../src/index.js'
import type { PromptMessage } from './language-model.js'
import { promptOf as promptOfVersion } from './prompt.js'

const promptOf = (system: string | undefined, messages: readonly Message[]): PromptMessage[] =>
  promptOfVersion(system, messages, 'v3')

const say = (role: Message['role'], ...parts: readonly MessagePart[]): Message => ({ role, parts, turn: 1 })
const text = (words: string): MessagePart => ({ type: 'text', text: words })
const call = (toolCallId: string): ToolCallPart => ({ type: 'tool-call', toolCallId, toolName: 'act', input: { a: 1 } })
const done = (toolCallId: string, output: string | { ok: boolean }): ToolResultPart => ({
  type: 'tool-result',
  toolCallId,
  toolName: 'act',
  output,
})

describe('the prompt of a call', () => {
  test('begins with the system prompt if there is one', () => {
    expect(promptOf('Be kind.', [say('user', text('Hi'))])).toEqual([
      { role: 'system', content: 'Be kind.' },
      { role: 'user', content: [{ type: 'text', text: 'Hi' }] },
    ])
    expect(promptOf(undefined, [])).toEqual([])
  })

  test('has the provider data of a part as its provider options', () => {
    const providerData = { own: { signature: 'signed' } }
    const parts: MessagePart[] = [
      { type: 'reasoning', text: 'Hm.', providerData },
      { type: 'text', text: 'One moment.', providerData },
      { ...call('1'), providerData },
      text('There.'),
    ]
    const providerOptions = providerData
    expect(promptOf(undefined, [say('assistant', ...parts)])).toEqual([
      {
        role: 'assistant',
        content: [
          { type: 'reasoning', text: 'Hm.', providerOptions },
          { type: 'text', text: 'One moment.', providerOptions },
          { type: 'tool-call', toolCallId: '1', toolName: 'act', input: { a: 1 }, providerOptions },
          { type: 'text', text: 'There.' },
        ],
      },
    ])
  })

  test('has the results of the calls of one answer in one message, as text or JSON, failed or not', () => {
    const failed: ToolResultPart = { ...done('3', 'No.'), isError: true }
    const failedHard: ToolResultPart = { ...done('4', { ok: false }), isError: true }
    const messages = [
      say('assistant', call('1'), call('2'), call('3'), call('4')),
      say('tool', done('1', 'Yes.')),
      say('tool', done('2', { ok: true })),
      say('tool', failed, failedHard),
      say('assistant', call('5')),
      say('tool', done('5', 'Yes.')),
    ]
    const prompt = promptOf(undefined, messages)
    expect(prompt.map(({ role }) => role)).toEqual(['assistant', 'tool', 'assistant', 'tool'])
    expect(
      prompt.flatMap((message) => (message.role === 'tool' ? message.content : [])).map(({ output }) => output),
    ).toEqual([
      { type: 'text', value: 'Yes.' },
      { type: 'json', value: { ok: true } },
      { type: 'error-text', value: 'No.' },
      { type: 'error-json', value: { ok: false } },
      { type: 'text', value: 'Yes.' },
    ])
  })

  test('has an empty part of the model only if it has provider data, and no message without content', () => {
    const signed: MessagePart = { type: 'reasoning', text: '', providerData: { own: { redacted: 'x' } } }
    expect(promptOf(undefined, [say('assistant', text('')), say('assistant', signed, text(''))])).toEqual([
      { role: 'assistant', content: [{ type: 'reasoning', text: '', providerOptions: { own: { redacted: 'x' } } }] },
    ])
  })

  test('has no blank text: providers reject white space like an empty text', () => {
    const image: MessagePart = { type: 'image', mediaType: 'image/png', data: 'iVBORw0KGgo=' }
    const messages = [
      say('user', text('')),
      say('assistant', text('\n')),
      say('user', text(' \n'), image),
      say('assistant', { type: 'reasoning', text: ' ' }, text(' '), call('1')),
    ]
    expect(promptOf(' \n', messages)).toEqual([
      { role: 'user', content: [{ type: 'text', text: '(no text)' }] },
      { role: 'user', content: [{ type: 'file', mediaType: 'image/png', data: 'iVBORw0KGgo=' }] },
      { role: 'assistant', content: [{ type: 'tool-call', toolCallId: '1', toolName: 'act', input: { a: 1 } }] },
    ])
  })

  test('ignores parts that do not belong to the role of a message', () => {
    expect(promptOf(undefined, [say('user', call('1'), text('Hi')), say('assistant', done('1', 'No.'))])).toEqual([
      { role: 'user', content: [{ type: 'text', text: 'Hi' }] },
    ])
  })
})
