/** Every way to damage a stored text, by name. It does not say what must follow. */

export interface Poison {
  readonly name: string
  readonly text: string
}

type Path = readonly (string | number)[]

const otherTypes: readonly unknown[] = [null, 5, -1, 2.5, 'text', '', true, [], {}, [[]]]

/** The text, cut off after every byte. */
export function* truncated(text: string): Generator<Poison> {
  const bytes = new TextEncoder().encode(text)
  const decoder = new TextDecoder()
  for (let length = 0; length < bytes.length; length++) {
    yield { name: `cut off after ${length} bytes`, text: decoder.decode(bytes.subarray(0, length)) }
  }
}

/** The JSON text with another value, or none, at every path. */
export function* changedFields(text: string): Generator<Poison> {
  for (const path of pathsOf(JSON.parse(text))) {
    const name = path.join('.')
    for (const value of otherTypes) {
      yield { name: `${name} is ${JSON.stringify(value)}`, text: withValue(text, path, value) }
    }
    yield { name: `${name} is missing`, text: withValue(text, path, undefined) }
  }
}

/** The JSON text with these values at these paths. */
export function withValues(text: string, values: Readonly<Record<string, unknown>>): string {
  let changed = text
  for (const [path, value] of Object.entries(values)) changed = withValue(changed, path.split('.'), value)
  return changed
}

function* pathsOf(value: unknown, path: Path = []): Generator<Path> {
  if (path.length > 0) yield path
  if (typeof value !== 'object' || value === null) return
  const keys = Array.isArray(value) ? value.keys() : Object.keys(value)
  for (const key of keys) yield* pathsOf(value[key as keyof typeof value], [...path, key])
}

function withValue(text: string, path: Path, value: unknown): string {
  const root = { '': JSON.parse(text) as unknown }
  let parent: Record<string | number, unknown> = root
  let last: string | number = ''
  for (const key of path) {
    parent = parent[last] as Record<string | number, unknown>
    last = key
  }
  if (value !== undefined) parent[last] = value
  else if (Array.isArray(parent)) parent.splice(Number(last), 1)
  else delete parent[last]
  return JSON.stringify(root[''])
}
