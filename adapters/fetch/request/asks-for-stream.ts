// Whether a request asks for its reply as server-sent events. Its Accept header decides (RFC 9110, section 12.5.1): the
// type has to be named, for `*/*` is what a client sends that has no wish; and JSON must not be wanted more.

const EVENT_STREAM = /text\/event-stream/i
const WEIGHT = /^(?:0(?:\.\d{0,3})?|1(?:\.0{0,3})?)$/

/** Most requests name no event stream: they cost one look at one header. */
export function asksForStream(headers: Headers): boolean {
  const accept = headers.get('accept')
  return accept !== null && EVENT_STREAM.test(accept) && prefersStream(accept)
}

function prefersStream(accept: string): boolean {
  const weights = new Map<string, number>()
  for (const range of split(accept, ',')) {
    const [type = '', ...parameters] = split(range, ';')
    const weight = weightOf(parameters)
    if (weight !== undefined) weights.set(type, Math.max(weight, weights.get(type) ?? 0))
  }
  const stream = weights.get('text/event-stream') ?? 0
  const json = weights.get('application/json') ?? weights.get('application/*') ?? weights.get('*/*') ?? 0
  // Who names both and wants neither more can read both: the stream tells sooner.
  return stream > 0 && stream >= json
}

/** 1 where none is given, `undefined` for one that is none: its range counts for nothing. */
function weightOf(parameters: readonly string[]): number | undefined {
  const parameter = parameters.find((text) => /^q\s*=/.test(text))
  if (parameter === undefined) return 1
  const value = parameter.slice(parameter.indexOf('=') + 1).trim()
  return WEIGHT.test(value) ? Number(value) : undefined
}

/** The parts between separators, in lower case. A separator in a quoted string separates nothing. */
function split(text: string, separator: string): string[] {
  const parts: string[] = []
  let start = 0
  let quoted = false
  for (let index = 0; index < text.length; index++) {
    const character = text[index]
    if (character === '"') quoted = !quoted
    else if (character === '\\' && quoted) index++
    else if (character === separator && !quoted) {
      parts.push(text.slice(start, index))
      start = index + 1
    }
  }
  return [...parts, text.slice(start)].map((part) => part.trim().toLowerCase())
}
