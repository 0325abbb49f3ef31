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

test.each([
  ['turn:rejected', "Listen to 'turn:refused': its code is 'SESSION_BUSY' or 'ENGINE_BUSY'."],
  ['turn:waited', "Listen to 'turn:start': its waitedMs is present if the turn waited."],
  ['loop:blocked', 'Use monitorEventLoopDelay of node:perf_hooks.'],
])('%s is refused with what to use instead', (name, instead) => {
  for (const method of ['on', 'once', 'off'] as const) {
    expect(() => engine[method](name as 'turn:end', vi.fn())).toThrow(`The event '${name}' is gone. ${instead}`)
  }
})
