import { expectTypeOf, test } from 'vitest'
import { HttpContentType } from './http-content-type.js'

test('each member has its literal type', () => {
  expectTypeOf(HttpContentType.Plain).toEqualTypeOf<'text/plain'>()
  expectTypeOf(HttpContentType.Csv).toEqualTypeOf<'text/csv'>()
})

test('the type of the same name is the union of the values, neither any nor string', () => {
  expectTypeOf<HttpContentType>().not.toBeAny()
  expectTypeOf<string>().not.toExtend<HttpContentType>()
  expectTypeOf<'application/pdf'>().toExtend<HttpContentType>()
  expectTypeOf<'text/unheard-of'>().not.toExtend<HttpContentType>()
})

test('the members cannot be assigned', () => {
  // @ts-expect-error the values are read-only
  HttpContentType.Plain = 'text/html'
})
