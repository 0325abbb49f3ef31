/** The parts of a reply, as a transcript shows them: a line for each, and a line for each button and row. */
import type { ReplyPart } from '../../../src/index.js'
import { list, show } from '../../expectations/expectation-error.js'

/** The lines of the parts. */
export function partLines(parts: readonly ReplyPart[]): readonly string[] {
  return parts.flatMap(linesOf).map((line) => line.replaceAll(/\s*\n\s*/g, ' '))
}

function linesOf(part: ReplyPart): readonly string[] {
  switch (part.type) {
    case 'choices':
      return part.options.map(({ label }) => `- button: ${label}`)
    case 'card':
      return [`- card: ${part.title}`, ...part.rows.map(([label, value]) => `- row: ${label} = ${value}`)]
    case 'form': {
      const { name, schema, values, errors } = part
      const filled = [...(values ? [`values ${show(values)}`] : []), ...(errors ? [`errors ${show(errors)}`] : [])]
      return [[`- form: ${name} (${list(Object.keys(Object(schema.properties)))})`, ...filled].join(', ')]
    }
    case 'file':
      return [`- file: ${part.name}, ${part.url}`]
    case 'custom':
      return [`- ${part.name}: ${show(part.data)}`]
    default:
      return part satisfies never
  }
}
