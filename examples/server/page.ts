/** The page of the example server: the files in `page/`, without a build, and a policy that allows nothing else. */
import { readFile } from 'node:fs/promises'
import { Hono } from 'hono'

const policy =
  "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

const files: readonly (readonly [path: string, file: string, type: string])[] = [
  ['/', 'index.html', 'text/html'],
  ['/page.css', 'page.css', 'text/css'],
  ['/page.js', 'page.js', 'text/javascript'],
  ['/send-message.js', 'send-message.js', 'text/javascript'],
  ['/read-events.js', 'read-events.js', 'text/javascript'],
]

/** @param folder - The folder of the files, with a slash at its end. */
export function pageRoutes(folder: URL): Hono {
  const app = new Hono()
  for (const [path, file, type] of files) {
    app.get(path, async (context) =>
      context.body(await readFile(new URL(file, folder), 'utf8'), 200, {
        'Content-Type': `${type}; charset=utf-8`,
        'Content-Security-Policy': policy,
        'X-Content-Type-Options': 'nosniff',
      }),
    )
  }
  return app
}
