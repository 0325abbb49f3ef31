// Answers that must have a form: how the form is described to the model, what the model reads when its answer is
// wrong, and what the flow gets.
import type { StandardSchemaV1 } from '@standard-schema/spec'
import { toStandardJsonSchema } from '@valibot/to-json-schema'
import { type } from 'arktype'
import * as v from 'valibot'
import { afterEach, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { expectNothingLeft } from '../../../../testing/contract/engine-harness.js'
import {
  type Act,
  calls,
  chatOf,
  hello,
  type ModelHarness,
  modelHarness,
  Talk,
  toolThat,
} from '../../../../testing/contract/model-harness.js'
import { lines } from '../../../../testing/contract/test-flows.js'
import { go, type JsonObject, retry, Step, type StepConstructor } from '../../../index.js'

afterEach(expectNothingLeft)

const Order = z.object({ item: z.string(), count: z.number().int() })
const ordered = '{"item":"tea","count":2}'

class Ordering extends Step<object, z.infer<typeof Order>> {
  static override readonly id: string = 'Talk'
  override readonly output = Order
  override onReply({ item, count }: z.infer<typeof Order>) {
    return `${count} x ${item}`
  }
}

function over(step: StepConstructor, acts: readonly Act[]): ModelHarness {
  return modelHarness({ 'own/small': acts }, { flows: [chatOf(step)] })
}

/** A step, `Talk`, with this output, and without `onReply`. */
function stepWith(output: unknown, fields: object = {}): StepConstructor {
  class Formal extends Step<object, unknown> {
    static override readonly id: string = 'Talk'
    override readonly output = output as StandardSchemaV1<unknown, unknown>
  }
  return class extends Formal {
    constructor() {
      super()
      Object.assign(this, fields)
    }
  }
}

async function memoryOf(made: ModelHarness, session: string): Promise<string[]> {
  return lines((await made.document(session)).flow.memory.Talk?.messages)
}

const object = (properties: JsonObject, more: JsonObject = {}): JsonObject => ({
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  type: 'object',
  properties,
  ...more,
})

describe('the model', () => {
  test.each<[string, unknown, JsonObject]>([
    ['Zod', z.object({ item: z.string() }), object({ item: { type: 'string' } }, { required: ['item'] })],
    [
      'Valibot',
      toStandardJsonSchema(v.object({ item: v.string() })),
      object({ item: { type: 'string' } }, { required: ['item'] }),
    ],
    ['ArkType', type({ item: 'string' }), object({ item: { type: 'string' } }, { required: ['item'] })],
    [
      'what it takes, and not what it makes of it',
      z.object({ at: z.string().transform((text) => new Date(text)) }),
      object({ at: { type: 'string' } }, { required: ['at'] }),
    ],
  ])('gets the JSON Schema: %s', async (_name, schema, expected) => {
    const made = over(stepWith(schema), ['{"item":"tea","at":"2026-01-01"}'])
    await made.engine.run(hello)
    expect(made.asked[0]?.request.output).toEqual({ name: 'Talk', schema: expected })
  })

  test('gets the JSON Schema that the step passes, and a name that providers take', async () => {
    class Own extends stepWith(z.any(), { outputJsonSchema: { type: 'number' } }) {
      static override readonly id = `Größe ${'x'.repeat(80)}`
    }
    const made = over(Own, ['5'])
    await made.engine.run(hello)
    expect(made.asked[0]?.request.output).toEqual({ name: `Gr__e_${'x'.repeat(58)}`, schema: { type: 'number' } })
  })

  test('of a step without output gets no form', async () => {
    const made = over(Talk, ['Hi.'])
    await made.engine.run(hello)
    expect(made.asked[0]?.request).not.toHaveProperty('output')
  })
})

describe('an answer of the form', () => {
  test.each<[string, string]>([
    ['plain', ordered],
    ['with space around it', `\n ${ordered}\n`],
    ['fenced', `\`\`\`json\n${ordered}\n\`\`\``],
    ['fenced without a language', `\`\`\`\n${ordered}\n\`\`\`\n`],
    ['fenced in one line', `\`\`\`json ${ordered}\`\`\``],
  ])('goes to onReply: %s', async (_name, text) => {
    const made = over(Ordering, [text])
    const { message, session } = await made.engine.run(hello)
    expect(message).toBe('2 x tea')
    expect(await memoryOf(made, session)).toEqual(['user: Hello', 'assistant: 2 x tea'])
  })

  test('goes to onReply as the schema makes it: transforms, defaults, promises', async () => {
    const Late = z
      .object({ at: z.string(), kind: z.string().default('plain') })
      .transform(async ({ at, kind }) => ({ at: new Date(at), kind }))
    class Dating extends Step<object, z.output<typeof Late>> {
      static override readonly id = 'Talk'
      override readonly output = Late
      override onReply({ at, kind }: z.output<typeof Late>) {
        return `${at.getUTCFullYear()} ${kind}`
      }
    }
    expect((await over(Dating, ['{"at":"2026-05-01"}']).engine.run(hello)).message).toBe('2026 plain')
  })

  test.each<[string, unknown, string, string]>([
    ['an object', Order, `\`\`\`\n${ordered}\n\`\`\``, ordered],
    ['a text', z.string(), '"Just words."', 'Just words.'],
    ['a number', z.number(), '42', '42'],
    ['null', z.null(), 'null', 'null'],
  ])('is the reply as JSON where there is no onReply: %s', async (_name, schema, text, reply) => {
    expect((await over(stepWith(schema), [text]).engine.run(hello)).message).toBe(reply)
  })

  test('may come after tools, whose calls need have no form', async () => {
    class Working extends Ordering {
      override tools() {
        return [toolThat('look', () => 'Seen.')]
      }
    }
    const made = over(Working, [calls('look'), ordered])
    expect((await made.engine.run(hello)).message).toBe('2 x tea')
    expect(made.asked).toHaveLength(2)
  })

  test('may be sent back by onReply all the same, and that does not count as a repair', async () => {
    const acts = ['{"item":"tea","count":0}', '{"item":"tea","count":0}', '{"item":"tea","count":0}', ordered]
    class Some extends Ordering {
      override onReply({ item, count }: z.infer<typeof Order>) {
        return count === 0 ? (retry('None is not enough.') as never) : `${count} x ${item}`
      }
    }
    const made = over(Some, acts)
    expect((await made.engine.run(hello)).message).toBe('2 x tea')
    expect(made.events.filter(([name]) => name === 'model:retry').map(([, { reason }]) => reason)).toEqual([
      'reply',
      'reply',
      'reply',
    ])
  })
})

describe('an answer of another form', () => {
  test('goes back with path and reason, and both are remembered', async () => {
    const made = over(Ordering, ['{"item":5,"count":1.5}', ordered])
    const { message, session } = await made.engine.run(hello)
    expect(message).toBe('2 x tea')
    expect(await memoryOf(made, session)).toEqual([
      'user: Hello',
      'assistant: {"item":5,"count":1.5}',
      'user: Your answer does not have the required form: item: Invalid input: expected string, received number; count: Invalid input: expected int, received number. Answer again, with JSON of that form and nothing else.',
      'assistant: 2 x tea',
    ])
    expect(lines(made.asked[1]?.request.messages)).toHaveLength(3)
    const [, told] = made.events.find(([name]) => name === 'model:retry') ?? []
    expect(told).toMatchObject({ step: 'Talk', model: 'small', callNumber: 1, reason: 'output', delayMs: 0 })
  })

  test.each<[string, Act]>([
    ['prose', 'Two cups of tea, please.'],
    ['an open fence', '```json\n{'],
    ['a fence alone', '```'],
    ['JSON and words', `${ordered} Anything else?`],
  ])('that is not valid JSON goes back: %s', async (_name, act) => {
    const made = over(Ordering, [act, ordered])
    expect((await made.engine.run(hello)).message).toBe('2 x tea')
    expect(lines(made.asked[1]?.request.messages).at(-1)).toBe(
      'user: Your answer does not have the required form: It is not valid JSON. Answer again, with JSON of that form and nothing else.',
    )
  })

  test.each<[string, Act]>([
    ['nothing', ''],
    ['reasoning alone', () => ({ parts: [{ type: 'reasoning', text: ordered }] })],
    ['no part', () => ({ parts: [] })],
  ])('that is empty is asked for again as in any step, and is not one of maxRepairs: %s', async (_name, act) => {
    const made = over(stepWith(Order, { maxRepairs: 0 }), [act, ordered])
    expect((await made.engine.run(hello)).success).toBe(true)
    expect(lines(made.asked[1]?.request.messages).at(-1)).toBe(
      'user: Your last answer was empty. Answer again, with text.',
    )
  })

  test.each<[string, unknown, string]>([
    [
      'Valibot',
      toStandardJsonSchema(v.object({ item: v.string() })),
      'item: Invalid type: Expected string but received 5',
    ],
    ['ArkType', type({ item: 'string' }), 'item: item must be a string (was a number)'],
  ])('goes back in the words of its schema: %s', async (_name, schema, words) => {
    const { engine, asked } = over(stepWith(schema), ['{"item":5}', '{"item":"tea"}'])
    expect((await engine.run(hello)).message).toBe('{"item":"tea"}')
    expect(lines(asked[1]?.request.messages).at(-1)).toContain(`required form: ${words}. Answer again`)
  })

  test('goes back twice, and then the turn fails', async () => {
    const { engine, asked } = over(Ordering, ['1', '2', '3'])
    const { error } = await engine.execute(hello)
    expect([error?.code, error?.message, asked.length]).toEqual([
      'MODEL_ERROR',
      "Model 'small' of provider 'own' failed. Its answer does not have the form of output of step 'Talk': Invalid input: expected object, received number.",
      3,
    ])
  })

  test.each([
    [0, 1],
    [1, 2],
    [4, 5],
  ])('with maxRepairs %i fails after %i answers', async (maxRepairs, answers) => {
    const { engine, asked } = over(stepWith(Order, { maxRepairs }), ['1', '2', '3', '4', '5'])
    expect((await engine.execute(hello)).error?.code).toBe('MODEL_ERROR')
    expect(asked).toHaveLength(answers)
  })

  test('counts anew each time the step runs', async () => {
    class Twice extends stepWith(Order, { maxRepairs: 1 }) {
      onReply() {
        return made.asked.length < 4 ? go('Talk') : 'Done.'
      }
    }
    const made: ModelHarness = over(Twice, ['1', ordered, '2', ordered])
    expect((await made.engine.run(hello)).message).toBe('Done.')
  })

  test('is bounded by maxModelCallsPerTurn, however many repairs there may be', async () => {
    const acts = Array.from({ length: 16 }, () => 'no')
    const { engine, asked } = over(stepWith(Order, { maxRepairs: 1_000 }), acts)
    expect((await engine.execute(hello)).error?.code).toBe('LIMIT_EXCEEDED')
    expect(asked).toHaveLength(16)
  })

  test('of a thousand mistakes goes back with twenty', async () => {
    const many = JSON.stringify(Array.from({ length: 1_000 }, () => 'x'))
    const { engine, asked } = over(stepWith(z.array(z.number())), [many, '[1]'])
    await engine.run(hello)
    const feedback = lines(asked[1]?.request.messages).at(-1) ?? ''
    expect([feedback.length < 2_500, feedback.includes('and 980 more')]).toEqual([true, true])
  })
})

test('a fence with a hundred thousand lines of nothing is read at once', async () => {
  const made = over(Ordering, [`\`\`\`${'\n'.repeat(100_000)}x`, ordered])
  expect((await made.engine.run(hello)).message).toBe('2 x tea')
})

describe('a schema that cannot be used fails before anything is loaded', () => {
  test.each<[string, unknown, object, string]>([
    [
      'without JSON Schema',
      v.object({}),
      {},
      "The output schema of step 'Talk' (valibot) cannot be converted to JSON Schema. Wrap it (Valibot: toStandardJsonSchema), or pass outputJsonSchema.",
    ],
    ['that has none', z.date(), {}, "The output schema of step 'Talk' cannot be converted to JSON Schema:"],
    ['null', null, {}, "The output of step 'Talk' must be a Standard Schema (Zod, Valibot, ArkType)."],
    ['a text', 'string', {}, "The output of step 'Talk' must be a Standard Schema (Zod, Valibot, ArkType)."],
    [
      'JSON Schema, though one is passed with it',
      { type: 'object' },
      { outputJsonSchema: { type: 'object' } },
      "The output of step 'Talk' must be a Standard Schema (Zod, Valibot, ArkType).",
    ],
    [
      'with something that is not a JSON Schema',
      z.any(),
      { outputJsonSchema: 'object' },
      "The output schema of step 'Talk' has a JSON Schema that is not an object.",
    ],
    ...[-1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, '2', null].map(
      (maxRepairs): [string, unknown, object, string] => [
        `maxRepairs ${maxRepairs}`,
        Order,
        { maxRepairs },
        "maxRepairs of step 'Talk' must be a whole number of at least 0.",
      ],
    ),
  ])('%s', async (_name, output, fields, message) => {
    const { engine, asked, store } = over(stepWith(output, fields), ['1'])
    const { error } = await engine.execute(hello)
    expect([error?.code, asked.length, store.journal.length]).toEqual(['FLOW_ERROR', 0, 0])
    expect(error?.message).toContain(message)
  })
})

describe('a schema of somebody else', () => {
  const schemaThat = (validate: (value: unknown) => unknown): unknown => ({
    '~standard': { version: 1, vendor: 'own', validate, jsonSchema: { input: () => ({}), output: () => ({}) } },
  })

  test('that throws fails the turn with its own words', async () => {
    const throwing = schemaThat(() => {
      throw new Error('The schema is broken.')
    })
    const { error } = await over(stepWith(throwing), ['1']).engine.execute(hello)
    expect([error?.code, error?.message]).toEqual(['FLOW_ERROR', 'The schema is broken.'])
  })

  test.each<[string, unknown]>([
    ['nothing', undefined],
    ['null', null],
    ['neither', {}],
    ['issues that are not a list', { issues: 'bad' }],
    ['a text', 'fine'],
  ])('that returns %s fails the turn', async (_name, returned) => {
    const { error, response } = await over(stepWith(schemaThat(() => returned)), ['1']).engine.execute(hello)
    expect([error?.code, response.message]).toEqual([
      'FLOW_ERROR',
      "The output schema of step 'Talk' returned neither a value nor issues.",
    ])
  })

  test('that never answers is ended by the deadline of the turn', async () => {
    const made = over(stepWith(schemaThat(() => new Promise(() => undefined))), ['1'])
    const { error } = await made.clock.runUntil(made.engine.execute(hello))
    expect(error?.code).toBe('TURN_TIMEOUT')
  })
})
