/** Checks lines about what a reply carries beside its text: `Buttons: Tuesday, Friday`, `Card: Order 4711`. */
import type { ReplyPart } from '../../src/index.js'
import { fits, list, show } from '../expectations/expectation-error.js'
import type { ExpectationLine } from './scenario-lines.js'

type PartLine = Extract<ExpectationLine, { readonly kind: 'buttons' | 'part' | 'row' }>

/** What is wrong with the parts of a reply, in words for people who do not program. */
export function partProblem(parts: readonly ReplyPart[], line: PartLine): string | undefined {
  if (line.kind === 'buttons') return buttonsProblem(parts, line.labels)
  if (line.kind === 'row') return rowProblem(parts, line)
  const titles = parts.filter(({ type }) => type === line.type).map(titleOf)
  if (titles.some((title) => fits(line.title, title))) return undefined
  const noun = line.type === 'custom' ? 'part' : line.type
  return `Expected a reply with the ${noun} ${show(line.title)}\n  but it has: ${list(titles.map((title) => show(title)))}`
}

/** A label may have a comma, so the whole lists are compared. */
function buttonsProblem(parts: readonly ReplyPart[], expected: string): string | undefined {
  const labels = parts.flatMap((part) => (part.type === 'choices' ? part.options.map(({ label }) => label) : []))
  const text = list(labels)
  const same = (one: string): string => one.replaceAll(/\s*,\s*/g, ', ')
  if (same(text) === same(expected)) return undefined
  return `Expected the buttons ${expected}\n  but they are: ${text}`
}

function rowProblem(
  parts: readonly ReplyPart[],
  { label, value }: Extract<PartLine, { readonly kind: 'row' }>,
): string | undefined {
  const rows = parts.flatMap((part) => (part.type === 'card' ? part.rows : []))
  if (rows.some(([title, text]) => title === label && fits(value, text))) return undefined
  const shown = rows.map(([title, text]) => `${title} = ${text}`)
  return `Expected a card with the row ${label} = ${value}\n  but its rows are: ${list(shown)}`
}

function titleOf(part: ReplyPart): string {
  return part.type === 'card' ? part.title : part.name
}
