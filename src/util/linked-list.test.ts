import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type Linked, LinkedList } from './linked-list.js'

interface Node extends Linked<Node> {
  readonly name: string
}

const node = (name: string): Node => ({ name, previous: undefined, next: undefined })

function names(list: LinkedList<Node>): string[] {
  const found: string[] = []
  for (let at = list.first; at !== undefined; at = at.next) found.push(at.name)
  const backwards: string[] = []
  for (let at = list.last; at !== undefined; at = at.previous) backwards.unshift(at.name)
  expect(backwards).toEqual(found)
  return found
}

test('keeps the order of an array when nodes are removed and appended again', () => {
  const step = fc.record({ name: fc.integer({ min: 0, max: 5 }), adds: fc.boolean() })
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
      const nodes = Array.from({ length: 6 }, (_, name) => node(String(name)))
      const list = new LinkedList<Node>()
      let expected: string[] = []
      for (const { name, adds } of steps) {
        const chosen = nodes[name] as Node
        const isIn = expected.includes(chosen.name)
        if (adds && isIn) continue
        if (adds) list.append(chosen)
        else expect(list.remove(chosen)).toBe(isIn)
        expected = adds ? [...expected, chosen.name] : expected.filter((other) => other !== chosen.name)
        expect(names(list)).toEqual(expected)
      }
    }),
  )
})

test('a removed node has no link to its former neighbours', () => {
  const list = new LinkedList<Node>()
  const [first, middle, last] = ['first', 'middle', 'last'].map(node) as [Node, Node, Node]
  for (const each of [first, middle, last]) list.append(each)
  list.remove(middle)
  expect([middle.previous, middle.next]).toEqual([undefined, undefined])
  expect(names(list)).toEqual(['first', 'last'])
})
