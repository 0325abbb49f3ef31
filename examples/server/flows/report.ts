/**
 * One report in five forms: CSV, HTML, SVG, a PDF that is sent as its bytes, and a summary. What to look at:
 *
 * - The question has its answers beside it, as buttons. `turn.choice` is the answer, pressed or written.
 * - Over HTTP a reply with another type than `Plain` is raw: its body is the report itself, and only the header has the
 *   session ID.
 * - The content type of a `reply` is of that reply alone, so the questions are plain text.
 * - The summary is text with a file beside it: the address of the PDF, which `report-file.ts` serves.
 * - The title comes from the client's `config`, and is escaped in every form.
 */
import { Flow, finish, HttpContentType, LogicStep, reply, type Turn } from 'turnkeeper'
import { choices, file } from 'turnkeeper/parts'
import { reportAddress } from '../reports/address.js'
import { toPdfBase64 } from '../reports/pdf.js'
import { toCsv, toHtml, toSvg } from '../reports/text-forms.js'
import { months, type Report, total } from '../reports/visits.js'

const question = 'In which form would you like the report: csv, html, svg, pdf or a summary? Or are you done?'

const forms = choices('form', [
  { value: 'csv', label: 'CSV' },
  { value: 'html', label: 'HTML' },
  { value: 'svg', label: 'SVG' },
  { value: 'pdf', label: 'PDF' },
  { value: 'summary', label: 'Summary' },
  { value: 'done', label: 'Done' },
])

export class ChooseForm extends LogicStep<{ sent: number }> {
  static override readonly id = 'ChooseForm'

  override initialState() {
    return { sent: 0 }
  }

  override run(turn: Turn) {
    const form = turn.choice?.value
    if (form === 'done') return finish(`${this.state.sent} sent. Goodbye.`)
    const answer = replyIn(form, { title: titleOf(turn), months }, turn)
    if (answer === undefined) return reply(question).withParts([forms])
    this.state.sent++
    return answer
  }
}

function replyIn(form: string | undefined, report: Report, { services }: Turn) {
  const addressOf = services.reportAddress ?? reportAddress
  switch (form) {
    case 'csv':
      return reply(toCsv(report)).withContentType(HttpContentType.Csv)
    case 'html':
      return reply(toHtml(report)).withContentType(HttpContentType.Html)
    case 'svg':
      return reply(toSvg(report)).withContentType(HttpContentType.Svg)
    case 'pdf':
      return reply(toPdfBase64(report)).withContentType(HttpContentType.Pdf, { encoding: 'base64' })
    case 'summary':
      return reply(`${report.title}: ${total(report)} in all. The PDF shows each month.`).withParts([
        file({ name: 'visits.pdf', mediaType: 'application/pdf', url: addressOf(report.title) }),
      ])
    default:
      return undefined
  }
}

/** The title from `config`, in which a client may send anything. */
function titleOf(turn: Turn): string {
  const { config } = turn.context
  const title = typeof config === 'object' && config !== null && 'title' in config ? config.title : undefined
  return typeof title === 'string' && title.trim() !== '' ? title.slice(0, 80) : 'Visits to the lighthouse'
}

export class VisitReport extends Flow {
  static override readonly id = 'VisitReport'
  override steps() {
    return [ChooseForm]
  }
}
