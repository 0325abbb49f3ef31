import { describe, expect, test } from 'vitest'
import { FlowCodeError } from '../../../src/errors/engine-errors.js'
import type { FlowStreamEvent } from '../../../src/index.js'
import { encodeEvent } from './event-stream.js'

const response = {
  success: true,
  completed: false,
  message: 'Hello.',
  session: 's1',
  contentType: 'text/markdown',
}
const failed = { ...response, success: false, completed: true, message: 'It broke.' }

describe('encodeEvent', () => {
  test.each<[FlowStreamEvent, string]>([
    [{ type: 'session', session: 's1' }, 'event: session\nid: 7\ndata: {"session":"s1"}\n\n'],
    [{ type: 'step', step: 'Ask' }, 'event: step\nid: 7\ndata: {"step":"Ask"}\n\n'],
    [{ type: 'text-delta', text: 'Hel' }, 'event: text-delta\nid: 7\ndata: {"text":"Hel"}\n\n'],
    [
      { type: 'tool-start', tool: 'find', toolCallId: 'c1' },
      'event: tool-start\nid: 7\ndata: {"tool":"find","toolCallId":"c1"}\n\n',
    ],
    [
      { type: 'tool-end', tool: 'find', toolCallId: 'c1', success: true },
      'event: tool-end\nid: 7\ndata: {"tool":"find","toolCallId":"c1","success":true}\n\n',
    ],
    [{ type: 'reset', reason: 'retry' }, 'event: reset\nid: 7\ndata: {"reason":"retry"}\n\n'],
    [
      { type: 'result', response, sessionState: 'running' },
      'event: result\nid: 7\ndata: {"success":true,"completed":false,"message":"Hello.","session":"s1","contentType":"text/markdown","sessionState":"running"}\n\n',
    ],
    [
      {
        type: 'result',
        response: { ...response, message: 'aGk=', contentType: 'image/png' },
        sessionState: 'running',
        encoding: 'base64',
      },
      'event: result\nid: 7\ndata: {"success":true,"completed":false,"message":"aGk=","session":"s1","contentType":"image/png","sessionState":"running","encoding":"base64"}\n\n',
    ],
    [
      { type: 'error', response: failed, sessionState: 'aborted', error: new FlowCodeError({ message: 'It broke.' }) },
      'event: error\nid: 7\ndata: {"success":false,"completed":true,"message":"It broke.","session":"s1","contentType":"text/plain","sessionState":"aborted","code":"FLOW_ERROR"}\n\n',
    ],
  ])('%j', (event, text) => {
    expect(encodeEvent(event, '7')).toBe(text)
  })

  test('a new session that replaces the requested one is named in the first and the last event', () => {
    const restarted = { restarted: 'outdated' } as const
    expect(encodeEvent({ type: 'session', session: 's2', ...restarted }, '1')).toContain(
      'data: {"session":"s2","restarted":"outdated"}\n',
    )
    expect(encodeEvent({ type: 'result', response, sessionState: 'running', ...restarted }, '2')).toContain(
      '"sessionState":"running","restarted":"outdated"}\n',
    )
  })

  test('a value that an engine wrapper leaves out or invents becomes unknown, and its error codes are dropped', () => {
    const event = { type: 'error', response: failed, sessionState: 'gone', restarted: 'x', error: { code: 'no code' } }
    expect(encodeEvent(event as unknown as FlowStreamEvent, '1')).toContain(
      '"contentType":"text/plain","sessionState":"unknown","code":"INTERNAL_ERROR"}\n',
    )
    const bare = { type: 'result', response }
    expect(encodeEvent(bare as unknown as FlowStreamEvent, '1')).toContain('"sessionState":"unknown"}\n')
  })

  test.each([
    ['line breaks', 'a\r\nb\nc\rd'],
    ['an event in the text', 'x\n\nevent: result\ndata: {"success":true}\n\n'],
    ['line breaks of other languages', 'a\u2028b\u2029c\u0085d\u000be\u000cf\u001cg'],
    ['NUL and a byte order mark', '\ufeffa\u0000b'],
    ['lone surrogates', 'a\ud83db\ude00'],
    ['a pair of surrogates', '😀'],
  ])('%s survive in one line of data', (_name, text) => {
    const bytes = new TextEncoder().encode(encodeEvent({ type: 'text-delta', text }, '1'))
    const lines = new TextDecoder().decode(bytes).split(/\r\n|[\r\n\x85\u2028\u2029]/)
    expect(lines).toHaveLength(5)
    expect(JSON.parse((lines[2] ?? '').slice('data: '.length))).toEqual({ text })
  })
})
