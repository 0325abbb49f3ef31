// The table of docs/deploy.md, made of what ran: a column for each runtime, a row for each case whose outcome is not
// `yes` on all of them. A list below has the other cases.

/** The table's entry for each case, by the name of the runtime. */
export type Outcomes = Map<string, ReadonlyMap<string, string>>

interface Named {
  readonly name: string
}

const begin = '<!-- The table of runtimes: `WRITE_TABLE=true npm run package -- runtimes/` writes it. -->'
const end = '<!-- The end of the table of runtimes. -->'

/** A case that does not apply to a runtime has a dash. */
export function tableOf(runtimes: readonly Named[], cases: readonly Named[], outcomes: Outcomes): string {
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`
  const names = runtimes.map(({ name }) => name)
  const cellsOf = (title: string): string[] => names.map((name) => outcomes.get(name)?.get(title) ?? '-')
  const isYesEverywhere = ({ name }: Named): boolean => cellsOf(name).every((cell) => cell === 'yes')
  return [
    line(['', ...names]),
    line(['', ...names].map(() => '---')),
    ...cases.filter((each) => !isYesEverywhere(each)).map(({ name }) => line([name, ...cellsOf(name)])),
    '',
    'On all of them:',
    '',
    ...cases.filter(isYesEverywhere).map(({ name }) => `- ${name}`),
  ].join('\n')
}

/** The table that a page has. */
export function sectionOf(page: string): string {
  return split(page)[1].trim()
}

/** The page with another table. */
export function withTable(page: string, table: string): string {
  const [before, , after] = split(page)
  return `${before}${begin}\n\n${table}\n\n${end}${after}`
}

function split(page: string): [before: string, table: string, after: string] {
  const [before = '', rest] = page.split(begin)
  const [table, after] = rest?.split(end) ?? []
  if (table === undefined || after === undefined) throw new Error(`The page has no place for the table: ${begin}`)
  return [before, table, after]
}
