import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { isNewerLayout, SessionFlowInvariantError } from '../errors/session-errors.js'
import { decodeSession } from './session-codec.js'

type Fields = Record<string, unknown>

/** A stored document with every field of the layout. */
const storedText = JSON.stringify({
  id: 's-1',
  version: 2,
  revision: '3-abc',
  owner: 'user-7',
  runStatus: 'running',
  createdAt: '2026-01-01T00:00:00.000Z',
  savedAt: '2026-01-01T00:01:00.000Z',
  error: ['The first failure.'],
  usage: { inputTokens: 10, outputTokens: 5, modelCalls: 2, cachedInputTokens: 3, reasoningTokens: 1 },
  turns: 7,
  bytes: 321,
  receipts: [{ key: 'k-1', request: 'r-1', turn: 7, code: 'FLOW_ERROR' }],
  effects: { charge: { begunAt: '2026-01-01T00:00:30.000Z', attempts: 1, result: { id: 'ch-1' } } },
  attachments: [{ id: '7-0', turn: 7, data: 'aGk=' }],
  flow: {
    name: 'Booking',
    version: 1,
    currentStep: 'Ask',
    contentType: 'text/csv',
    context: { config: { language: 'en' } },
    steps: { Ask: { state: { seats: 2 }, model: { provider: 'local', name: 'tiny' } }, Confirm: { state: {} } },
    memory: {
      Ask: {
        messages: [
          { role: 'user', parts: [{ type: 'text', text: 'Two seats, please.' }], turn: 1, summary: true },
          {
            role: 'assistant',
            parts: [
              {
                type: 'tool-call',
                toolCallId: 'c-1',
                toolName: 'book',
                input: { seats: 2 },
                providerData: { local: {} },
              },
              { type: 'reasoning', text: 'Two.', providerData: { local: { signature: 'signed' } } },
            ],
            turn: 1,
          },
          {
            role: 'tool',
            parts: [{ type: 'tool-result', toolCallId: 'c-1', toolName: 'book', output: 'Full.', isError: true }],
            turn: 1,
          },
          {
            role: 'user',
            parts: [
              { type: 'image', mediaType: 'image/png', data: 'aGk=' },
              { type: 'file', mediaType: 'application/pdf', url: 'https://files.example/a.pdf', name: 'a.pdf' },
              { type: 'image', mediaType: 'image/png', attachment: '7-0' },
              { type: 'file', mediaType: 'text/csv', name: 'a.csv', attachment: '6-0' },
            ],
            turn: 2,
          },
        ],
      },
    },
    sequence: [{ step: 'Ask', level: 0 }],
  },
  history: [
    {
      turn: 7,
      id: 'turn-7',
      at: '2026-01-01T00:01:00.000Z',
      message: 'Two seats, please.',
      reply: 'aGk=',
      contentType: 'image/png',
      encoding: 'base64',
      step: 'Ask',
    },
  ],
})

const stored = (): Fields => JSON.parse(storedText)

const samples: [string, unknown][] = [
  ['missing', undefined],
  ['null', null],
  ['a number', 0.5],
  ['a negative number', -1],
  ['a text', 'a text'],
  ['an empty text', ''],
  ['a boolean', true],
  ['a list', []],
  ['an object', {}],
]

/** Which samples a field may hold. The fields of an object have their own rows. */
const kinds = {
  text: ['a text', 'an empty text'],
  nonEmptyText: ['a text'],
  optionalText: ['missing', 'a text', 'an empty text'],
  optionalNonEmptyText: ['missing', 'a text'],
  textOrNull: ['null', 'a text', 'an empty text'],
  count: ['a number'],
  optionalCount: ['missing', 'a number'],
  /** The sample number has a fraction. */
  wholeCount: [],
  list: ['a list'],
  optionalList: ['missing', 'a list'],
  object: ['an object'],
  optionalObject: ['missing', 'an object'],
  optionalTrue: ['missing', 'a boolean'],
  anything: ['null', 'a number', 'a negative number', 'a text', 'an empty text', 'a boolean', 'a list', 'an object'],
  /** One of a few literals. No sample is one of them. */
  literal: [],
  optionalLiteral: ['missing'],
} satisfies Record<string, string[]>

const message = 'flow.memory.Ask.messages[0]'
const toolCall = 'flow.memory.Ask.messages[1].parts[0]'
const reasoning = 'flow.memory.Ask.messages[1].parts[1]'
const toolResult = 'flow.memory.Ask.messages[2].parts[0]'
const image = 'flow.memory.Ask.messages[3].parts[0]'
const file = 'flow.memory.Ask.messages[3].parts[1]'
const imageReference = 'flow.memory.Ask.messages[3].parts[2]'
const fileReference = 'flow.memory.Ask.messages[3].parts[3]'

/** Each field's path, what it may hold, and how the error names it if that is not the path. */
const fields: [string, keyof typeof kinds, string?][] = [
  ['id', 'literal', 'its id'],
  ['version', 'literal', 'its layout version'],
  ['revision', 'nonEmptyText'],
  ['owner', 'optionalText'],
  ['runStatus', 'literal'],
  ['createdAt', 'text'],
  ['savedAt', 'text'],
  ['error', 'list'],
  ['error[0]', 'text'],
  ['usage', 'object'],
  ['usage.inputTokens', 'count'],
  ['usage.outputTokens', 'count'],
  ['usage.modelCalls', 'count'],
  ['usage.cachedInputTokens', 'optionalCount'],
  ['usage.reasoningTokens', 'optionalCount'],
  ['turns', 'wholeCount'],
  ['bytes', 'count'],
  ['receipts', 'optionalList'],
  ['receipts[0]', 'object'],
  ['receipts[0].key', 'nonEmptyText'],
  ['receipts[0].request', 'text'],
  ['receipts[0].turn', 'optionalCount'],
  ['receipts[0].code', 'optionalText'],
  ['effects', 'optionalObject'],
  ['effects.charge', 'optionalObject'],
  ['effects.charge.begunAt', 'text'],
  ['effects.charge.attempts', 'count'],
  ['attachments', 'optionalList'],
  ['attachments[0]', 'object'],
  ['attachments[0].id', 'nonEmptyText'],
  ['attachments[0].turn', 'count'],
  ['attachments[0].data', 'text'],
  ['flow', 'object'],
  ['flow.name', 'nonEmptyText'],
  ['flow.version', 'count'],
  ['flow.currentStep', 'textOrNull'],
  ['flow.contentType', 'optionalText'],
  ['flow.context', 'object'],
  ['flow.steps', 'object'],
  ['flow.steps.Ask', 'optionalObject'],
  ['flow.steps.Ask.state', 'object'],
  ['flow.steps.Ask.model', 'optionalObject'],
  ['flow.steps.Ask.model.provider', 'text'],
  ['flow.steps.Ask.model.name', 'text'],
  ['flow.memory', 'object'],
  ['flow.memory.Ask', 'optionalObject'],
  ['flow.memory.Ask.messages', 'list'],
  [message, 'object'],
  [`${message}.role`, 'literal'],
  [`${message}.turn`, 'count'],
  [`${message}.summary`, 'optionalTrue'],
  [`${message}.parts`, 'list'],
  [`${message}.parts[0]`, 'object'],
  [`${message}.parts[0].type`, 'literal'],
  [`${message}.parts[0].text`, 'text'],
  [`${toolCall}.toolCallId`, 'text'],
  [`${toolCall}.toolName`, 'text'],
  [`${toolCall}.input`, 'anything'],
  [`${toolCall}.providerData`, 'optionalObject'],
  [`${reasoning}.type`, 'literal'],
  [`${reasoning}.text`, 'text'],
  [`${reasoning}.providerData`, 'optionalObject'],
  [`${toolResult}.toolCallId`, 'text'],
  [`${toolResult}.toolName`, 'text'],
  [`${toolResult}.output`, 'anything'],
  [`${toolResult}.isError`, 'optionalTrue'],
  [`${image}.mediaType`, 'text'],
  [`${image}.data`, 'text', image],
  [`${file}.mediaType`, 'text'],
  [`${file}.url`, 'text', file],
  [`${file}.name`, 'optionalText'],
  [`${imageReference}.mediaType`, 'text'],
  [`${imageReference}.attachment`, 'nonEmptyText', imageReference],
  [`${fileReference}.mediaType`, 'text'],
  [`${fileReference}.name`, 'optionalText'],
  [`${fileReference}.attachment`, 'nonEmptyText', fileReference],
  ['flow.sequence', 'list'],
  ['flow.sequence[0]', 'object'],
  ['flow.sequence[0].step', 'text'],
  ['flow.sequence[0].level', 'count'],
  ['history', 'list'],
  ['history[0]', 'object'],
  ['history[0].turn', 'count'],
  ['history[0].id', 'optionalNonEmptyText'],
  ['history[0].at', 'text'],
  ['history[0].message', 'text'],
  ['history[0].reply', 'text'],
  ['history[0].contentType', 'text'],
  ['history[0].encoding', 'optionalLiteral'],
  ['history[0].step', 'text'],
]

/** What a field may hold. An empty object is valid only if the layout requires nothing in it. */
const allowed = fields.flatMap(([path, kind]) =>
  samples
    .filter(([sample]) => (kinds[kind] as string[]).includes(sample))
    .filter(
      ([sample]) =>
        sample !== 'an object' || /(effects|context|steps|memory|state|input|output|providerData)$/.test(path),
    )
    .map(([sample, value]): [string, string, unknown] => [path, sample, value]),
)

/** The document with one value replaced or removed. */
function withValue(path: string, value: unknown): Fields {
  const document = stored()
  const keys = path.split(/\.|\[|\]\.?/).filter((key) => key !== '')
  const last = keys.pop() as string
  const parent = keys.reduce<Fields>((object, key) => object[key] as Fields, document)
  if (value === undefined) delete parent[last]
  else parent[last] = value
  return document
}

function catchError(work: () => unknown): unknown {
  try {
    work()
  } catch (error) {
    return error
  }
  return undefined
}

const prefix = "Session 's-1' is malformed: "

function problemOf(document: unknown): string {
  try {
    decodeSession(document, 's-1')
  } catch (error) {
    expect(error).toBeInstanceOf(SessionFlowInvariantError)
    return (error as Error).message
  }
  return 'accepted'
}

describe('decodeSession', () => {
  test('returns a well-formed document unchanged', () => {
    const document = stored()
    expect(decodeSession(document, 's-1')).toBe(document)
    expect(document).toEqual(stored())
  })

  test.each(fields)('refuses %s if it is missing or of a wrong type, and names it', (path, kind, name = path) => {
    const wrong = samples.filter(([sample]) => {
      // An entry of a list cannot be missing: the list would be shorter.
      return !(kinds[kind] as string[]).includes(sample) && !(sample === 'missing' && path.endsWith(']'))
    })
    const outcomes = wrong.map(([sample, value]) => [
      sample,
      problemOf(withValue(path, value)).slice(0, prefix.length + name.length),
    ])
    expect(outcomes).toEqual(wrong.map(([sample]) => [sample, `${prefix}${name}`]))
  })

  test.each(allowed)('accepts %s that is %s', (path, _sample, value) => {
    expect(problemOf(withValue(path, value))).toBe('accepted')
  })

  test.each<[string, unknown, string]>([
    ['an older layout', withValue('version', 1), 'its layout version is 1, and this release reads 2 and 3'],
    ['an older layout than any', withValue('version', 0), 'its layout version is 0, and this release reads 2 and 3'],
    ['a layout between two', withValue('version', 1.5), 'its layout version is 1.5, and this release reads 2 and 3'],
    [
      'a layout written as text',
      withValue('version', '2'),
      "its layout version is '2', and this release reads 2 and 3",
    ],
    ['no layout', withValue('version', undefined), 'its layout version is missing, and this release reads 2 and 3'],
    ['another session', withValue('id', 's-2'), "its id is 's-2'"],
    ['an empty revision', withValue('revision', ''), 'revision is empty'],
    ['an unknown status', withValue('runStatus', 'paused'), "runStatus is 'paused'"],
    ['an empty flow name', withValue('flow.name', ''), 'flow.name is empty'],
    ['a count that is not a number', withValue('bytes', Number.NaN), 'bytes is NaN and not a count'],
    ['a list for an object', withValue('usage', []), 'usage is a list and not an object'],
    ['an object for a list', withValue('history', {}), 'history is of type object and not a list'],
    ['an unknown role', withValue(`${message}.role`, 'system'), "flow.memory.Ask.messages[0].role is 'system'"],
    [
      'an unknown part',
      withValue(`${message}.parts[0].type`, 'video'),
      "flow.memory.Ask.messages[0].parts[0].type is 'video'",
    ],
    [
      'a reference without an ID',
      withValue(`${imageReference}.attachment`, undefined),
      `${imageReference} must have either data or url`,
    ],
    [
      'a reference with an empty ID',
      withValue(`${imageReference}.attachment`, ''),
      `${imageReference}.attachment is empty`,
    ],
    ['a receipt that is a list', withValue('receipts[0]', []), 'receipts[0] is a list and not an object'],
    [
      'an attachment without its bytes',
      withValue('attachments[0].data', undefined),
      'attachments[0].data is missing and not a string',
    ],
    ['an effect that is a text', withValue('effects.charge', 'done'), 'effects.charge is a string and not an object'],
    ['an image without its bytes', withValue(`${image}.data`, undefined), `${image} must have either data or url`],
    ['a file with both', withValue(`${file}.data`, 'aGk='), `${file} must have either data or url`],
    ['an image with data that is not a string', withValue(`${image}.data`, 5), `${image}.data is 5 and not a string`],
    ['a file with null for its bytes', withValue(`${file}.data`, null), `${file}.data is null and not a string`],
    ['an unknown encoding', withValue('history[0].encoding', 'hex'), "history[0].encoding is 'hex'"],
    ['a text', 'the document', 'the document is a string and not an object'],
    ['null', null, 'the document is null and not an object'],
    ['a list', [stored()], 'the document is a list and not an object'],
    ['an instance', new Map(), 'the document is of type object and not an object'],
  ])('says what is wrong with %s', (_name, document, problem) => {
    expect(problemOf(document)).toBe(`Session 's-1' is malformed: ${problem}.`)
  })

  test.each(Object.keys(stored()).map((_key, length) => length))(
    'refuses a document cut off after %i fields',
    (length) => {
      const cut = Object.fromEntries(Object.entries(stored()).slice(0, length))
      expect(problemOf(cut)).toMatch(/^Session 's-1' is malformed: .+ is missing/)
    },
  )

  test('checks every entry of a list, not only the first', () => {
    const document = stored()
    const history = document.history as Fields[]
    history.push({ ...history[0], turn: 2 }, { ...history[0], turn: 3, reply: null })
    expect(problemOf(document)).toBe("Session 's-1' is malformed: history[2].reply is null and not a string.")
  })

  test("never quotes a conversation's text, whatever field it is in", () => {
    const secret = 'my card is 4111 1111'
    for (const [path] of fields) {
      // If only a few words are allowed, the wrong one is shown.
      if (/^(id|version|runStatus)$|\.(role|type|encoding)$/.test(path)) continue
      let problem = ''
      try {
        decodeSession(withValue(path, secret), 's-1')
      } catch (error) {
        problem = (error as Error).message
      }
      expect(problem, path).not.toContain('4111')
    }
  })

  test('whatever a store returns, nothing but the one error comes of it', () => {
    const paths = fc.constantFrom(...fields.map(([path]) => path))
    fc.assert(
      fc.property(paths, fc.anything(), (path, value) => {
        const document = withValue(path, value)
        try {
          expect(decodeSession(document, 's-1')).toBe(document)
        } catch (error) {
          expect(error).toBeInstanceOf(SessionFlowInvariantError)
        }
      }),
    )
    fc.assert(
      fc.property(fc.anything(), (value) => {
        expect(() => decodeSession(value, 's-1')).toThrow(SessionFlowInvariantError)
      }),
    )
  })

  test.each([4, 3.5, 99])('reports that a newer release wrote layout %d', (version) => {
    const problem = `its layout version is ${version}, and this release reads 2 and 3`
    const sentence = `Session 's-1' was stored by a newer release of Turnkeeper and cannot be read: ${problem}.`
    expect(problemOf(withValue('version', version))).toBe(sentence)
    // A newer layout may have any other shape.
    expect(problemOf({ version })).toBe(sentence)
    const error: unknown = catchError(() => decodeSession({ version }, 's-1'))
    expect([error, isNewerLayout(error)]).toEqual([
      expect.objectContaining({ newerLayout: true, sessionId: 's-1' }),
      true,
    ])
    expect(isNewerLayout(catchError(() => decodeSession({ version: 0 }, 's-1')))).toBe(false)
  })

  test('step IDs and namespaces may have any name', () => {
    const text = storedText.replaceAll('"Ask":{', '"__proto__":{')
    const document = decodeSession(JSON.parse(text), 's-1')
    expect(Object.keys(document.flow.steps)).toEqual(['__proto__', 'Confirm'])
    expect(Object.keys(document.flow.memory)).toEqual(['__proto__'])
    const broken = JSON.parse(text.replace('"role":"user"', '"role":"nobody"'))
    expect(problemOf(broken)).toBe("Session 's-1' is malformed: flow.memory.__proto__.messages[0].role is 'nobody'.")
  })
})
