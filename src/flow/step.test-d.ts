import { type } from 'arktype'
import * as v from 'valibot'
import { expectTypeOf, test } from 'vitest'
import { z } from 'zod'
import {
  type BudgetExceededError,
  type FlowEngineOptions,
  type ModelBlockedDetails,
  type ModelBudgets,
  type ModelChoice,
  type ModelError,
  reply,
  Step,
  type Transition,
} from '../index.js'

const Order = z.object({ item: z.string(), at: z.string().transform((text) => new Date(text)) })

test('onReply of a step with output receives what its schema returns', () => {
  class Ordering extends Step<object, z.infer<typeof Order>> {
    override readonly output = Order
    override onReply(order: z.infer<typeof Order>) {
      expectTypeOf(order).toEqualTypeOf<{ item: string; at: Date }>()
      expectTypeOf(order).not.toBeAny()
      return order.item
    }
  }
  expectTypeOf<Parameters<Ordering['onReply']>[0]>().toEqualTypeOf<{ item: string; at: Date }>()
  expectTypeOf<Step<object, { count: number }>['onReply']>().parameter(0).toEqualTypeOf<{ count: number }>()
})

test('schemas of Valibot and ArkType are accepted as well', () => {
  const Named = v.object({ name: v.string() })
  class OverValibot extends Step<object, v.InferOutput<typeof Named>> {
    override readonly output = Named
  }
  const Aged = type({ age: 'number' })
  class OverArkType extends Step<object, typeof Aged.infer> {
    override readonly output = Aged
  }
  expectTypeOf<OverValibot['onReply']>().parameter(0).toEqualTypeOf<{ name: string }>()
  expectTypeOf<OverArkType['onReply']>().parameter(0).toEqualTypeOf<{ age: number }>()
})

test('a schema of another type than that of the step is refused', () => {
  class Wrong extends Step<object, { name: string }> {
    // @ts-expect-error The schema returns an item and a date.
    override readonly output = Order
  }
  class Forgotten extends Step {
    // @ts-expect-error Without a type the answer is a text.
    override readonly output = Order
  }
  expectTypeOf<Wrong | Forgotten>().not.toBeAny()
})

test('without output the answer is a text', () => {
  expectTypeOf<Step['onReply']>().parameter(0).toEqualTypeOf<string>()
  expectTypeOf<Step['onReply']>().parameter(0).not.toBeAny()
})

test('hooks receive what happened, and return a transition, nothing, or a promise of either', () => {
  expectTypeOf<Step['onModelError']>().parameter(0).toEqualTypeOf<ModelError | BudgetExceededError>()
  expectTypeOf<Step['onModelBlocked']>().parameter(0).toEqualTypeOf<ModelBlockedDetails>()
  expectTypeOf<Transition>().toExtend<ReturnType<Step['onModelError']>>()
  expectTypeOf<Promise<void>>().toExtend<ReturnType<Step['onModelError']>>()
  class Kind extends Step {
    override async onModelError(error: ModelError | BudgetExceededError) {
      return error.code === 'BUDGET_EXCEEDED' ? reply('That is all.') : undefined
    }
    // @ts-expect-error A text is not a transition.
    override onModelBlocked() {
      return 'No.'
    }
  }
  expectTypeOf<Kind>().not.toBeAny()
})

test('model() returns a selection or a list', () => {
  expectTypeOf<{ provider: 'a'; name: 'b' }>().toExtend<ModelChoice>()
  expectTypeOf<{ provider: 'a'; name: 'b' }[]>().toExtend<ModelChoice>()
  expectTypeOf<string>().not.toExtend<ModelChoice>()
})

test('budgets have known amounts only', () => {
  expectTypeOf<{ turn: { tokens: 5 }; session: { cost: 0.5 } }>().toExtend<ModelBudgets>()
  expectTypeOf<{ turn: { tokens: '5' } }>().not.toExtend<ModelBudgets>()
  // @ts-expect-error `token` is not an amount.
  const wrong: FlowEngineOptions = { budgets: { turn: { token: 5 } } }
  expectTypeOf(wrong).not.toBeAny()
})
