import { expect, test, vi } from 'vitest'
import { FlowEngine, MemorySessionStore } from '../index.js'

const engine = new FlowEngine({ sessionStore: new MemorySessionStore() })

test.each(['__proto__', 'constructor', 'toString', '', undefined])('%s is refused, which no event has', (name) => {
  for (const method of ['on', 'once', 'off'] as const) {
    expect(() => engine[method](name as 'turn:end', vi.fn())).toThrow(`There is no event '${name}'. The events are `)
  }
})

test.each([
  ['turn:ended', 'turn:end'],
  ['turn:starts', 'turn:start'],
  ['turnEnd', 'turn:end'],
  ['session:save', 'session:saved'],
  ['conflict', 'session:conflict'],
])('for %s it says that %s was meant', (name, meant) => {
  expect(() => engine.on(name as 'turn:end', vi.fn())).toThrow(`Did you mean '${meant}'?`)
})
