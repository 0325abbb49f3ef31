import { expectTypeOf, test } from 'vitest'
import { joinPrompts, type PromptValue, type PromptVariables, promptTemplate } from './index.js'

test('the variables are inferred from the literal', () => {
  expectTypeOf<PromptVariables<'You speak with {{name}} of {{ company }}.'>>().toEqualTypeOf<'name' | 'company'>()
  expectTypeOf<PromptVariables<'{{\n  name\n}}{{name}}'>>().toEqualTypeOf<'name'>()
  expectTypeOf<PromptVariables<'Be brief.'>>().toEqualTypeOf<never>()
  expectTypeOf<PromptVariables<'Write {{{{name}}}} for {{first}}.'>>().toEqualTypeOf<'first'>()
  expectTypeOf<PromptVariables<'{"name": {{name}}}'>>().toEqualTypeOf<'name'>()
  expectTypeOf<PromptVariables<string>>().toEqualTypeOf<string>()
  expectTypeOf<PromptVariables<'{{constructor}} {{__proto__}}'>>().toEqualTypeOf<'constructor' | '__proto__'>()
})

test('a template takes a value for each variable, and no others', () => {
  const greet = promptTemplate('You speak with {{name}}, {{age}} years old.')
  expectTypeOf(greet).not.toBeAny()
  expectTypeOf(greet).parameters.toEqualTypeOf<[values: Readonly<Record<'name' | 'age', PromptValue>>]>()
  expectTypeOf(greet).returns.toEqualTypeOf<string>()
  expectTypeOf(greet).toBeCallableWith({ name: 'Ada', age: 36 })
  // @ts-expect-error age is missing
  void (() => greet({ name: 'Ada' }))
  // @ts-expect-error an unknown variable
  void (() => greet({ name: 'Ada', age: 36, city: 'London' }))
  // @ts-expect-error a typo
  void (() => greet({ nmae: 'Ada', age: 36 }))
  // @ts-expect-error a value that may be undefined
  void ((name?: string) => greet({ name, age: 36 }))
  // @ts-expect-error an object is not a prompt value
  void (() => greet({ name: { first: 'Ada' }, age: 36 }))
  // @ts-expect-error it needs values
  void (() => greet())
})

test('the variables of a multi-line literal are inferred as well', () => {
  const desk = promptTemplate(`
    You answer for {{shop}}.
    Today is {{today}}.
  `)
  expectTypeOf(desk).parameters.toEqualTypeOf<[values: Readonly<Record<'shop' | 'today', PromptValue>>]>()
})

test('a template without variables takes nothing', () => {
  const brief = promptTemplate('Be brief.')
  expectTypeOf(brief).parameters.toEqualTypeOf<[]>()
  // @ts-expect-error it has no variables
  void (() => brief({ name: 'Ada' }))
})

test('a template that is not a literal accepts any name; it is checked at run time', () => {
  const loose = promptTemplate('{{name}}' as string)
  expectTypeOf(loose).parameters.toEqualTypeOf<[values: Readonly<Record<string, PromptValue>>]>()
})

test('many variables are inferred', () => {
  type Ten = '{{a}} {{b}} {{c}} {{d}} {{e}} {{f}} {{g}} {{h}} {{i}} {{j}} '
  type Hundred = `${Ten}${Ten}${Ten}${Ten}${Ten}${Ten}${Ten}${Ten}${Ten}${Ten}`
  expectTypeOf<PromptVariables<Hundred>>().toEqualTypeOf<'a' | 'b' | 'c' | 'd' | 'e' | 'f' | 'g' | 'h' | 'i' | 'j'>()
})

test('joinPrompts takes strings, undefined and false', () => {
  expectTypeOf(joinPrompts('One.', undefined, false)).toEqualTypeOf<string>()
  // @ts-expect-error a template has to be filled in first
  void (() => joinPrompts('One.', promptTemplate('Two.')))
})
