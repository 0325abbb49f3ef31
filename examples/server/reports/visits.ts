/** The figures of the report: visits to a small lighthouse museum. `text-forms.ts` and `pdf.ts` write it. */

export interface MonthOfVisits {
  readonly month: string
  readonly visits: number
}

/** A report, ready to be written in any form. The title comes from a client: no form may trust it. */
export interface Report {
  readonly title: string
  readonly months: readonly MonthOfVisits[]
}

export const months: readonly MonthOfVisits[] = [
  { month: 'April', visits: 412 },
  { month: 'May', visits: 655 },
  { month: 'June', visits: 803 },
  { month: 'July', visits: 1240 },
  { month: 'August', visits: 1318 },
  { month: 'September', visits: 690 },
]

export function total(report: Report): number {
  return report.months.reduce((sum, { visits }) => sum + visits, 0)
}

export function most(report: Report): number {
  return Math.max(1, ...report.months.map(({ visits }) => visits))
}
