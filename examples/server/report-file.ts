/** The PDF of the report at an address of its own, for the `file` part of the flow `VisitReport`. */
import { Hono } from 'hono'
import { reportPath } from './reports/address.js'
import { toPdfBase64 } from './reports/pdf.js'
import { months } from './reports/visits.js'

/** A demonstration: everyone may read it. An application checks here who asks. */
export function reportRoutes(): Hono {
  const app = new Hono()
  app.get(reportPath, (context) => {
    const title = (context.req.query('title') ?? '').slice(0, 80)
    return context.body(Buffer.from(toPdfBase64({ title, months }), 'base64'), 200, {
      'Content-Type': 'application/pdf',
      'Content-Disposition': 'attachment; filename="visits.pdf"',
      'X-Content-Type-Options': 'nosniff',
    })
  })
  return app
}
