import { toStandardJsonSchema } from '@valibot/to-json-schema'
import { type } from 'arktype'
import * as v from 'valibot'
import { expectTypeOf, test } from 'vitest'
import { z } from 'zod'
import { type JsonObject, type Tool, type ToolCall, type Turn, tool } from '../index.js'

const named = { name: 'book', description: 'Books a table.' }

interface Booking {
  guests: number
  name?: string | undefined
}

test('the arguments of execute come from a schema of Zod', () => {
  const input = z.object({ guests: z.number(), name: z.string().optional() })
  tool({
    ...named,
    input,
    execute: (args, turn, call) => {
      expectTypeOf(args).not.toBeAny()
      expectTypeOf(args).toEqualTypeOf<Booking>()
      expectTypeOf(turn).toEqualTypeOf<Turn>()
      expectTypeOf(call).toEqualTypeOf<ToolCall>()
    },
  })
})

test('the arguments of execute come from a schema of Valibot', () => {
  const input = toStandardJsonSchema(v.object({ guests: v.number(), name: v.optional(v.string()) }))
  tool({
    ...named,
    input,
    execute: (args) => {
      expectTypeOf(args).not.toBeAny()
      expectTypeOf(args).toExtend<Booking>()
      expectTypeOf(args.guests).toEqualTypeOf<number>()
      expectTypeOf(args.name).toEqualTypeOf<string | undefined>()
    },
  })
})

test('the arguments of execute come from a schema of ArkType', () => {
  const input = type({ guests: 'number', 'name?': 'string' })
  tool({
    ...named,
    input,
    execute: (args) => {
      expectTypeOf(args).not.toBeAny()
      expectTypeOf(args.guests).toEqualTypeOf<number>()
      expectTypeOf(args.name).toEqualTypeOf<string | undefined>()
    },
  })
})

test('they have the output type of the schema, not its input type', () => {
  const input = z.object({ day: z.string().transform((text) => new Date(text)), table: z.string().default('window') })
  tool({
    ...named,
    input,
    execute: ({ day, table }) => {
      expectTypeOf(day).toEqualTypeOf<Date>()
      expectTypeOf(table).toEqualTypeOf<string>()
    },
  })
})

test('a tool without input has no arguments', () => {
  tool({
    ...named,
    execute: (args) => {
      expectTypeOf(args).not.toBeAny()
      expectTypeOf(args).toEqualTypeOf<Record<string, never>>()
    },
  })
})

test('wrong arguments, and wrong options, do not compile', () => {
  const input = z.object({ guests: z.number() })
  // @ts-expect-error an unknown argument
  tool({ ...named, input, execute: ({ seats }) => seats })
  // @ts-expect-error guests is a number
  tool({ ...named, input, execute: ({ guests }) => guests.toUpperCase() })
  // @ts-expect-error no execute
  tool({ ...named, input })
  // @ts-expect-error no description
  tool({ name: 'book', execute: () => 1 })
  // @ts-expect-error not a Standard Schema
  tool({ ...named, input: { type: 'object' }, execute: () => 1 })
})

test('tool() returns a Tool, whose JSON Schema can be read', () => {
  const made = tool({ ...named, execute: () => 1 })
  expectTypeOf(made).toEqualTypeOf<Tool>()
  expectTypeOf(made.inputSchema).toEqualTypeOf<JsonObject>()
  expectTypeOf<readonly Tool[]>().not.toBeAny()
})
