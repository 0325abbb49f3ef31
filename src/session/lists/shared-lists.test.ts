import { expect, test } from 'vitest'
import {
  adoptList,
  checkedLength,
  extendList,
  freezeList,
  isFrozenList,
  isSharedList,
  shareList,
} from './shared-lists.js'

test('a list is shared once it was passed to shareList; a copy is not', () => {
  const list = [Object.freeze({ turn: 1 })]
  expect(isSharedList(list)).toBe(false)
  expect(shareList(list)).toBe(list)
  expect(isSharedList(list)).toBe(true)
  expect(isSharedList([...list])).toBe(false)
})

test('a frozen list that was not passed to shareList is not shared', () => {
  expect(isSharedList(Object.freeze([]))).toBe(false)
})

test('a shared list takes no more entries', () => {
  const list = shareList([1])
  expect(() => (list as number[]).push(2)).toThrow(TypeError)
})

test('adopting a list freezes it and all its content', () => {
  const list = [{ parts: [{ text: 'Hello' }] }]
  const adopted = adoptList(list)
  expect(adopted).toBe(list)
  expect(isSharedList(adopted)).toBe(true)
  expect(() => Object.assign(adopted[0]?.parts[0] as object, { text: 'changed' })).toThrow(TypeError)
  expect(() => list.push({ parts: [] })).toThrow(TypeError)
})

test('adopting a shared list returns it without checking it again', () => {
  const entry = { open: true }
  const list = shareList([entry])
  expect(adoptList(list)).toBe(list)
  expect(Object.isFrozen(entry)).toBe(false)
})

test('a frozen list is known to be frozen, but not to be checked', () => {
  const list = [{ parts: [{ text: 'Hello' }] }]
  expect(isFrozenList(list)).toBe(false)
  freezeList(list)
  expect([isFrozenList(list), isSharedList(list)]).toEqual([true, false])
  expect(() => Object.assign(list[0]?.parts[0] as object, { text: 'changed' })).toThrow(TypeError)
  expect(adoptList(list)).toBe(list)
  expect([isFrozenList(list), isSharedList(list)]).toEqual([true, true])
})

test('a list that other code froze is deeply frozen before it is known', () => {
  const list = Object.freeze([{ open: true }])
  expect(isFrozenList(list)).toBe(false)
  freezeList(list)
  expect(Object.isFrozen(list[0])).toBe(true)
})

test('a list that other code froze can be deeply frozen, and adopted', () => {
  const list = Object.freeze([{ turn: 1 }])
  freezeList(list)
  expect([isFrozenList(list), isSharedList(list)]).toEqual([true, false])
  expect(adoptList(list)).toBe(list)
  expect(isSharedList(list)).toBe(true)
})

test('the mark of a list is invisible, and no copy has it', () => {
  const list = adoptList([{ turn: 1 }])
  expect(Reflect.ownKeys(list)).toEqual(['0', 'length'])
  expect(isFrozenList(structuredClone(list) as readonly unknown[])).toBe(false)
  expect(isFrozenList(list.slice())).toBe(false)
})

test('freezing a shared list does nothing', () => {
  const entry = { open: true }
  const list = shareList([entry])
  expect(isFrozenList(list)).toBe(true)
  freezeList(list)
  expect(Object.isFrozen(entry)).toBe(false)
})

test('a list that extends another is frozen, and only its new entries need a check', () => {
  const checked = adoptList([{ turn: 1 }, { turn: 2 }])
  const extended = extendList(checked, [{ turn: 3 }])
  expect(extended).toEqual([{ turn: 1 }, { turn: 2 }, { turn: 3 }])
  expect(isFrozenList(extended)).toBe(true)
  expect(isSharedList(extended)).toBe(false)
  expect(() => Object.assign(extended[2] as object, { turn: 4 })).toThrow(TypeError)
  expect(checkedLength(extended)).toBe(2)
  expect(checkedLength(extendList(extended, [{ turn: 4 }]))).toBe(2)
  expect(checkedLength(checked)).toBe(2)
})

test('an unchecked list stays unchecked, however often it is extended', () => {
  const list = [{ turn: 1 }]
  freezeList(list)
  expect(checkedLength(extendList(list, [{ turn: 2 }]))).toBe(0)
})
