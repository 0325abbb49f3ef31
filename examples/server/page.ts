/**
 * The page of the example server: the files in `page/` and the client, without a build, and a policy
 * that allows nothing else.
 */
import { readFile } from 'node:fs/promises'
import { Hono } from 'hono'

const policy =
  "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data: blob:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

const files: readonly (readonly [path: string, file: string, type: string])[] = [
  ['/', 'index.html', 'text/html'],
  ['/page.css', 'page.css', 'text/css'],
  ['/page.js', 'page.js', 'text/javascript'],
  ['/conversation.js', 'conversation.js', 'text/javascript'],
  ['/parts.js', 'parts.js', 'text/javascript'],
  ['/form-part.js', 'form-part.js', 'text/javascript'],
  ['/send-form.js', 'send-form.js', 'text/javascript'],
  ['/text-element.js', 'text-element.js', 'text/javascript'],
  ['/photo.js', 'photo.js', 'text/javascript'],
]

/**
 * @param folder - The folder of the files, with a slash at its end.
 * @param client - The code of `turnkeeper/client`. It imports nothing, so the page needs this one file.
 */
export function pageRoutes(folder: URL, client: string | Promise<string>): Hono {
  const app = new Hono()
  const serve = (path: string, type: string, read: () => string | Promise<string>): void => {
    app.get(path, async (context) =>
      context.body(await read(), 200, {
        'Content-Type': `${type}; charset=utf-8`,
        'Content-Security-Policy': policy,
        'X-Content-Type-Options': 'nosniff',
      }),
    )
  }
  for (const [path, file, type] of files) serve(path, type, () => readFile(new URL(file, folder), 'utf8'))
  serve('/client.js', 'text/javascript', () => client)
  return app
}
