/** The path of a request: as the routes are found by it, and as a message shows it. */

/** The path of an absolute URL. `new URL` would do, at many times the cost. */
export function pathOf(url: string): string {
  const start = url.indexOf('/', url.indexOf('://') + 3)
  const end = url.slice(start).search(/[?#]/)
  return end === -1 ? url.slice(start) : url.slice(start, start + end)
}

/** At most 200 characters of a path, all of them visible ASCII: a client chose them. */
export function shownPath(path: string): string {
  const visible = path.slice(0, 201).replace(/[^!-~]/g, '?')
  return visible.length > 200 ? `${visible.slice(0, 199)}...` : visible
}
