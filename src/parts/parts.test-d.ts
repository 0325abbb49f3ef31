import { expectTypeOf, test } from 'vitest'
import type { ReplyPart as RootPart } from '../index.js'
import { card, choices, custom, file, form, type ReplyPart, textOf } from './index.js'

test('every builder returns its own kind of part', () => {
  const size = choices('size', [{ value: 's', label: 'Small' }])
  expectTypeOf(size).toExtend<ReplyPart>()
  expectTypeOf(size).not.toBeAny()
  expectTypeOf(size.type).toEqualTypeOf<'choices'>()
  expectTypeOf(size.options).toEqualTypeOf<readonly { readonly value: string; readonly label: string }[]>()
  expectTypeOf(card({ title: 'a', rows: [['b', 'c']] }).rows).toEqualTypeOf<readonly (readonly [string, string])[]>()
  expectTypeOf(file({ name: 'a', mediaType: 'a/b', url: 'https://example.com' }).url).toEqualTypeOf<string>()
  expectTypeOf(custom('map', { at: [1, null] }).name).toEqualTypeOf<string>()
  expectTypeOf(textOf('a', [size])).toEqualTypeOf<string>()
  expectTypeOf<ReplyPart>().toEqualTypeOf<RootPart>()
})

test('a schema that is a constant is taken', () => {
  const schema = { type: 'object', properties: { town: { type: 'string', enum: ['a'] } }, required: ['town'] } as const
  form({ name: 'address', schema, values: { town: 'Berlin' }, errors: { town: 'Unknown.' } })
})

test('a wrong part does not compile', () => {
  const size = choices('size', [{ value: 's', label: 'Small' }])
  // @ts-expect-error read-only
  size.name = 'a'
  // @ts-expect-error read-only
  size.options.push({ value: 'l', label: 'Large' })
  // @ts-expect-error an option without a label
  choices('size', [{ value: 's' }])
  // @ts-expect-error a row of one text
  card({ title: 'a', rows: [['b']] })
  // @ts-expect-error no schema
  form({ name: 'a' })
  // @ts-expect-error an error is a text
  form({ name: 'a', schema: { type: 'object' }, errors: { town: 7 } })
  // @ts-expect-error no url
  file({ name: 'a', mediaType: 'a/b' })
  // @ts-expect-error JSON has no functions
  custom('map', { at: () => 1 })
})
