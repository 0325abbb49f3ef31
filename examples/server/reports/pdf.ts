/**
 * A report as a PDF of one page, written by hand: five objects, a table of where each begins, and a trailer. Everything
 * is ASCII, so that a character is a byte and the offsets in the table are lengths of the text so far.
 */
import { most, type Report, total } from './visits.js'

/** @returns The bytes of the file, in base64. */
export function toPdfBase64(report: Report): string {
  return btoa(toPdf(report))
}

function toPdf(report: Report): string {
  const page = drawPage(report)
  const objects = [
    '<< /Type /Catalog /Pages 2 0 R >>',
    '<< /Type /Pages /Kids [3 0 R] /Count 1 >>',
    '<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Resources << /Font << /F1 5 0 R >> >> /Contents 4 0 R >>',
    `<< /Length ${page.length} >>\nstream\n${page}\nendstream`,
    '<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>',
  ]
  let file = '%PDF-1.4\n'
  const offsets = objects.map((object, index) => {
    const offset = file.length
    file += `${index + 1} 0 obj\n${object}\nendobj\n`
    return offset
  })
  // Each line of the table is exactly 20 bytes, its two-byte line end included.
  const table = offsets.map((offset) => `${String(offset).padStart(10, '0')} 00000 n \n`).join('')
  const size = objects.length + 1
  const trailer = `trailer\n<< /Size ${size} /Root 1 0 R >>\nstartxref\n${file.length}\n%%EOF\n`
  return `${file}xref\n0 ${size}\n0000000000 65535 f \n${table}${trailer}`
}

/** The page's drawing commands. The origin is the lower left corner; a unit is 1/72 inch. */
function drawPage(report: Report): string {
  const scale = 300 / most(report)
  const bars = report.months.flatMap(({ month, visits }, index) => {
    const y = 720 - index * 28
    const width = Math.round(visits * scale)
    return [
      text(month, 60, y, 12),
      `0.16 0.44 0.59 rg 140 ${y - 4} ${width} 16 re f 0 g`,
      text(String(visits), 148 + width, y, 12),
    ]
  })
  const lastLine = text(`Total: ${total(report)}`, 60, 720 - report.months.length * 28 - 12, 12)
  return [text(report.title, 60, 770, 20), ...bars, lastLine].join('\n')
}

function text(content: string, x: number, y: number, size: number): string {
  return `BT /F1 ${size} Tf ${x} ${y} Td (${pdfText(content)}) Tj ET`
}

/** Parentheses and backslashes have a meaning in a PDF string; the font here has no more than ASCII. */
function pdfText(content: string): string {
  return content.replaceAll(/[^ -~]/gu, '?').replaceAll(/[\\()]/g, (character) => `\\${character}`)
}
