/**
 * A copy of a tool that does something else when it is called. Doubles, the count of effects and a step alone use it.
 */
import type { Tool } from '../../src/index.js'

/**
 * The same tool with another `execute`. A tool may be an object of the flow's own class, or a copy that was made here
 * before.
 */
export function withExecute(tool: Tool, execute: Tool['execute']): Tool {
  const copy: Tool = Object.getPrototypeOf(tool) === Object.prototype ? { ...tool } : Object.create(tool)
  Object.defineProperty(copy, 'execute', { value: execute, enumerable: true, configurable: true })
  return copy
}
