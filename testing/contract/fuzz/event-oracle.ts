/** Decides what is wrong with the body of a streamed reply: its lines, the fields of its events, and how it ends. */

const event = /^event: ([a-z-]+)\nid: ([\x21-\x7e]+)\ndata: (.+)$/
const ends: ReadonlySet<string> = new Set(['result', 'error'])
const fields: Readonly<Record<string, string>> = {
  success: 'boolean',
  completed: 'boolean',
  message: 'string',
  session: 'string',
  contentType: 'string',
}
const others: ReadonlySet<string> = new Set(['sessionState', 'replayed', 'restarted', 'encoding', 'code'])

/** All that is wrong with a stream that was read to its end. */
export function judgeEvents(body: string): string[] {
  if (!body.endsWith('\n\n')) return [`a stream that does not end with an event: ${JSON.stringify(body.slice(-100))}`]
  const blocks = body
    .slice(0, -2)
    .split('\n\n')
    .filter((block) => block !== ': keep-alive')
  const types = blocks.map((block) => event.exec(block)?.[1])
  const problems = blocks.flatMap((block, index) => judgeEvent(block, index === blocks.length - 1))
  if (types.some((type, index) => type !== undefined && ends.has(type) !== (index === types.length - 1))) {
    problems.push(`a stream with the events ${types.join(', ')}`)
  }
  return problems
}

function judgeEvent(block: string, isLast: boolean): string[] {
  const data = event.exec(block)?.[3]
  if (data === undefined) return [`a malformed event: ${JSON.stringify(block.slice(0, 200))}`]
  try {
    const value: unknown = JSON.parse(data)
    return !isLast || isOutcome(value) ? [] : [`wrong envelope in the last event: ${data.slice(0, 300)}`]
  } catch {
    return [`an event whose data is not JSON: ${JSON.stringify(data.slice(0, 200))}`]
  }
}

function isOutcome(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false
  const entries = Object.entries(value)
  const known = entries.filter(([name, field]) => typeof field === fields[name])
  return known.length === 5 && entries.length - 5 === entries.filter(([name]) => others.has(name)).length
}
