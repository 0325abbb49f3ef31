/** Where the PDF of the report is. `report-file.ts` serves it. */

export const reportPath = '/reports/visits.pdf'

/** @param server - Where users reach the server, without a slash at the end. */
export function reportAddress(title: string, server = 'http://127.0.0.1:3000'): string {
  return `${server}${reportPath}?${new URLSearchParams({ title })}`
}
