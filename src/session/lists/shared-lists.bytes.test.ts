import { expect, test } from 'vitest'
import { entryBytes, freezeList, listBytes, shareList } from './shared-lists.js'

const entry = (text: string) => Object.freeze({ turn: 1, text })

test('an entry takes its JSON and a comma', () => {
  expect(entryBytes(entry('Hi'))).toBe(JSON.stringify(entry('Hi')).length + 1)
  expect(entryBytes(entry('Größe 👋'))).toBe(new TextEncoder().encode(JSON.stringify(entry('Größe 👋'))).length + 1)
})

test('a list takes the sum of its entries', () => {
  const list = [entry('One.'), entry('Two.')]
  expect(listBytes(list)).toBe(entryBytes(list[0]) + entryBytes(list[1]))
  expect(listBytes([])).toBe(0)
})

test('a list that may still change is measured each time', () => {
  const list = [entry('One.')]
  const before = listBytes(list)
  list.push(entry('Two.'))
  expect(listBytes(list)).toBe(before + entryBytes(entry('Two.')))
})

test.each([shareList, freezeList])('a frozen list is measured once', (freeze) => {
  let measured = 0
  const watched = {
    get text() {
      measured++
      return 'Hi'
    },
  }
  const list = [watched]
  freeze(list)
  measured = 0
  expect([listBytes(list), listBytes(list)]).toEqual([entryBytes({ text: 'Hi' }), entryBytes({ text: 'Hi' })])
  expect(measured).toBe(1)
})

test("the caller's count is used", () => {
  const list = shareList([entry('One.')], 7)
  expect(listBytes(list)).toBe(7)
})
