import { toStandardJsonSchema } from '@valibot/to-json-schema'
import { type } from 'arktype'
import * as v from 'valibot'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { ToolError, type ToolOptions, tool } from '../index.js'

const execute = (): undefined => undefined
const named = { name: 'book', description: 'Book a table.', execute }

/** A Standard Schema that accepts anything, with this function as its conversion to JSON Schema. */
function schemaThatGives(input: () => unknown): NonNullable<ToolOptions['input']> {
  const jsonSchema = { input, output: input }
  return { '~standard': { version: 1, vendor: 'test', validate: (value: unknown) => ({ value }), jsonSchema } } as never
}

describe('the JSON Schema of a tool', () => {
  const expected = {
    type: 'object',
    properties: { guests: { type: 'integer' }, name: { type: 'string' } },
    required: ['guests'],
  }

  test.each([
    ['Zod', z.object({ guests: z.int(), name: z.string().optional() })],
    [
      'Valibot',
      toStandardJsonSchema(v.object({ guests: v.pipe(v.number(), v.integer()), name: v.optional(v.string()) })),
    ],
    ['ArkType', type({ guests: 'number.integer', 'name?': 'string' })],
  ])('comes from a schema of %s', (_library, input) => {
    const { inputSchema } = tool({ ...named, input })
    expect(inputSchema).toMatchObject({ type: expected.type, required: expected.required })
    expect(inputSchema.properties).toMatchObject(expected.properties)
  })

  test('allows no arguments if the tool has no input', () => {
    const { inputSchema } = tool(named)
    expect(inputSchema).toEqual({ type: 'object', properties: {}, additionalProperties: false })
    expect(Object.isFrozen(inputSchema.properties)).toBe(true)
  })

  test('describes what the model writes, not what a transform returns', () => {
    const input = z.object({ day: z.string().transform((text) => new Date(text)) })
    expect(tool({ ...named, input }).inputSchema.properties).toEqual({ day: { type: 'string' } })
  })

  test('is converted once for each schema object, and frozen', () => {
    let asked = 0
    const input = schemaThatGives(() => ({ type: 'object', title: `Asked ${++asked} times` }))
    const first = tool({ ...named, input }).inputSchema
    const second = tool({ ...named, name: 'cancel', input }).inputSchema
    expect(second).toBe(first)
    expect(first).toEqual({ type: 'object', title: 'Asked 1 times' })
    expect(Object.isFrozen(first)).toBe(true)
  })

  test("is a copy: the library's object is not frozen", () => {
    const own = { type: 'object', properties: {} }
    tool({ ...named, input: schemaThatGives(() => own) })
    expect(Object.isFrozen(own)).toBe(false)
  })

  test('is requested in the dialect draft-2020-12', () => {
    const asked: unknown[] = []
    const input = schemaThatGives(((options: unknown) => {
      asked.push(options)
      return {}
    }) as () => unknown)
    tool({ ...named, input })
    expect(asked).toEqual([{ target: 'draft-2020-12' }])
  })

  test('can be passed, for a schema that cannot be converted', () => {
    const inputJsonSchema = { type: 'object', properties: { guests: { type: 'number' } } }
    expect(tool({ ...named, input: v.object({ guests: v.number() }), inputJsonSchema }).inputSchema).toBe(
      inputJsonSchema,
    )
  })
})

describe('tool refuses, when it is called,', () => {
  const message = (options: Record<string, unknown>): string => {
    try {
      tool({ ...named, ...options } as unknown as ToolOptions)
    } catch (error) {
      expect(error).toMatchObject({ code: 'FLOW_ERROR' })
      return (error as Error).message
    }
    return 'nothing was refused'
  }

  test.each(['', 'two words', 'café', 'x'.repeat(65), undefined])('the name %j', (name) => {
    expect(message({ name })).toBe(
      `The name of a tool must be 1 to 64 letters, digits, '_' or '-'; got '${String(name)}'.`,
    )
  })

  test.each(['a', 'look_up-2', 'x'.repeat(64)])('but not the name %j', (name) => {
    expect(message({ name })).toBe('nothing was refused')
  })

  test('a tool without execute', () => {
    expect(message({ execute: undefined })).toBe("Tool 'book' must have a function execute.")
  })

  test.each(['yes', 1, null])('a parallel that is not a boolean: %j', (parallel) => {
    expect(message({ parallel })).toBe(`parallel of tool 'book' must be true or false; got ${typeof parallel}.`)
  })

  test.each(['schema', 'parameters', 'inputSchema'])('the arguments as %s, as others name them', (name) => {
    expect(message({ [name]: {} })).toContain("Did you mean 'input'?")
  })

  test('an option that it does not have', () => {
    expect(message({ timeoutMs: 5 })).toBe(
      "Tool 'book' has no option 'timeoutMs'. The options are name, description, input, inputJsonSchema, toolTimeoutMs, parallel, execute. Did you mean 'toolTimeoutMs'?",
    )
  })

  test('a schema that cannot be converted to JSON Schema, and says what to do', () => {
    expect(message({ input: v.object({ guests: v.number() }) })).toBe(
      "The input schema of tool 'book' (valibot) cannot be converted to JSON Schema. Wrap it (Valibot: toStandardJsonSchema), or pass inputJsonSchema.",
    )
  })

  test('an input that is not a Standard Schema', () => {
    const expected = "The input of tool 'book' must be a Standard Schema (Zod, Valibot, ArkType)."
    expect(message({ input: { type: 'object' } })).toBe(expected)
    expect(message({ input: { '~standard': { jsonSchema: { input: () => ({}) } } } })).toBe(expected)
  })

  test('a schema with a type that JSON Schema does not have', () => {
    expect(message({ input: z.object({ day: z.date() }) })).toBe(
      "The input schema of tool 'book' cannot be converted to JSON Schema: Date cannot be represented in JSON Schema",
    )
  })

  test('a schema whose conversion throws, and keeps that as the cause', () => {
    const cause = new Error('not today')
    const input = schemaThatGives(() => {
      throw cause
    })
    expect(() => tool({ ...named, input })).toThrow(expect.objectContaining({ cause }))
  })

  test('a schema whose conversion throws a value that is not an error', () => {
    const input = schemaThatGives(() => {
      throw 'not today'
    })
    expect(message({ input })).toBe("The input schema of tool 'book' cannot be converted to JSON Schema: not today")
  })

  test('a JSON Schema that is not an object', () => {
    expect(message({ input: schemaThatGives(() => true) })).toBe(
      "The input schema of tool 'book' has a JSON Schema that is not an object.",
    )
  })
})

describe('ToolError', () => {
  test('is recognised by its symbol', () => {
    expect(ToolError.isInstance(new ToolError('No such order.'))).toBe(true)
    expect(ToolError.isInstance(new Error('No such order.'))).toBe(false)
    expect(ToolError.isInstance('No such order.')).toBe(false)
    const ofAnotherCopy = Object.assign(new Error('No such order.'), { [Symbol.for('turnkeeper.ToolError')]: true })
    expect(ToolError.isInstance(ofAnotherCopy)).toBe(true)
  })

  test('has its own name', () => {
    expect(String(new ToolError('No such order.'))).toBe('ToolError: No such order.')
  })
})

test.each([0, -1, Number.NaN, '500', null])(
  'a tool refuses a toolTimeoutMs that is not a number above 0: %j',
  (given) => {
    const toolTimeoutMs = given as number
    expect(() => tool({ name: 'act', description: 'Acts.', toolTimeoutMs, execute: () => 1 })).toThrow(
      `toolTimeoutMs of tool 'act' must be a number above 0, or Infinity for no bound; got ${typeof given === 'string' ? `the text '${given}'` : given}.`,
    )
  },
)
