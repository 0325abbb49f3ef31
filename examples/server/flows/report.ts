/**
 * One report in four forms: CSV, HTML, SVG, and a PDF that is sent as its bytes. What to look at:
 *
 * - Over HTTP a reply with another type than `Plain` is raw: its body is the report itself, and only the header has the
 *   session ID.
 * - The content type of a `reply` is of that reply alone, so the questions are plain text.
 * - The title comes from the client's `config`, and is escaped in every form.
 */
import { Flow, finish, HttpContentType, LogicStep, reply, type Turn } from 'turnkeeper'
import { toPdfBase64 } from '../reports/pdf.js'
import { toCsv, toHtml, toSvg } from '../reports/text-forms.js'
import { months, type Report } from '../reports/visits.js'

const question = 'In which form would you like the report: csv, html, svg or pdf? Or are you done?'

export class ChooseForm extends LogicStep<{ sent: number }> {
  static override readonly id = 'ChooseForm'

  override initialState() {
    return { sent: 0 }
  }

  override run(turn: Turn) {
    if (turn.entered) return reply(question)
    const form = turn.message.trim().toLowerCase()
    if (form === 'done') return finish(`${this.state.sent} sent. Goodbye.`)
    const answer = replyIn(form, { title: titleOf(turn), months })
    if (answer === undefined) return reply(question)
    this.state.sent++
    return answer
  }
}

function replyIn(form: string, report: Report) {
  switch (form) {
    case 'csv':
      return reply(toCsv(report)).withContentType(HttpContentType.Csv)
    case 'html':
      return reply(toHtml(report)).withContentType(HttpContentType.Html)
    case 'svg':
      return reply(toSvg(report)).withContentType(HttpContentType.Svg)
    case 'pdf':
      return reply(toPdfBase64(report)).withContentType(HttpContentType.Pdf, { encoding: 'base64' })
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
