import { expectTypeOf, test } from 'vitest'
import type { AnyFlowError, ExecuteResult, FlowError, FlowErrorCode } from '../index.js'

declare const error: AnyFlowError

test('every code is one of the union, and only codes are', () => {
  expectTypeOf<AnyFlowError['code']>().toEqualTypeOf<FlowErrorCode>()
})

test('the code narrows an error to the fields of its class, which may be missing', () => {
  if (error.code === 'LIMIT_EXCEEDED') expectTypeOf(error.limit).toEqualTypeOf<string | undefined>()
  // @ts-expect-error A field of another class.
  if (error.code === 'TOOL_ERROR') error.limit
  // @ts-expect-error Before the code is known.
  error.limit
  switch (error.code) {
    case 'BUDGET_EXCEEDED':
      expectTypeOf(error.scope).toEqualTypeOf<'turn' | 'session' | 'owner' | undefined>()
      break
    case 'SESSION_STORE_ERROR':
      expectTypeOf(error.operation).not.toBeAny()
      break
  }
  expectTypeOf(error.message).toEqualTypeOf<string>()
})

test('what the engine returns narrows, and is a FlowError', () => {
  expectTypeOf<ExecuteResult['error']>().toEqualTypeOf<AnyFlowError | undefined>()
  expectTypeOf(error).toExtend<FlowError>()
  expectTypeOf<FlowError>().toExtend<AnyFlowError>()
})
