/** A report as CSV, HTML and SVG. Everything from outside is escaped for each form. */
import { most, type Report, total } from './visits.js'

export function toCsv(report: Report): string {
  const rows = report.months.map(({ month, visits }) => [month, String(visits)])
  const table = [[report.title, ''], ['Month', 'Visits'], ...rows, ['Total', String(total(report))]]
  return table.map((row) => `${row.map(csvField).join(',')}\r\n`).join('')
}

function csvField(text: string): string {
  // A spreadsheet would treat a leading character of these as the start of a formula.
  const safe = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}

export function toHtml(report: Report): string {
  const title = markupText(report.title)
  const rows = report.months.map(({ month, visits }) => `<tr><td>${month}</td><td>${visits}</td></tr>`).join('\n')
  return `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>${title}</title></head>
<body>
<h1>${title}</h1>
<table>
<thead><tr><th>Month</th><th>Visits</th></tr></thead>
<tbody>
${rows}
</tbody>
<tfoot><tr><td>Total</td><td>${total(report)}</td></tr></tfoot>
</table>
</body>
</html>
`
}

export function toSvg(report: Report): string {
  const scale = 300 / most(report)
  const bars = report.months.map(({ month, visits }, index) => {
    const y = 44 + index * 26
    const width = Math.round(visits * scale)
    return `<text x="10" y="${y + 14}">${month}</text>
<rect x="110" y="${y}" width="${width}" height="18" fill="#2a6f97"/>
<text x="${116 + width}" y="${y + 14}">${visits}</text>`
  })
  const height = 54 + report.months.length * 26
  return `<svg xmlns="http://www.w3.org/2000/svg" width="480" height="${height}" font-family="sans-serif" font-size="13">
<text x="10" y="24" font-size="17">${markupText(report.title)}</text>
${bars.join('\n')}
</svg>
`
}

/** Text for HTML and XML. Control characters are not allowed in XML at all. */
function markupText(text: string): string {
  return text
    .replaceAll(/[^\P{Cc}\t\n]/gu, ' ')
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
}
