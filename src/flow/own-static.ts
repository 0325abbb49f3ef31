/**
 * What the setters of `static id` and its like do: code compiled below ES2022 assigns statics, and the assignment has
 * to make an own property of the subclass, as the declaration does from ES2022 on.
 */
export function ownStatic(owner: object, name: string, value: unknown): void {
  Object.defineProperty(owner, name, { value, writable: true, enumerable: true, configurable: true })
}
