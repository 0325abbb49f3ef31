/** The path of a request, for finding the route and for messages. */

/** The path of an absolute URL. `new URL` would cost many times as much. */
export function pathOf(url: string): string {
  const start = url.indexOf('/', url.indexOf('://') + 3)
  const end = url.slice(start).search(/[?#]/)
  return end === -1 ? url.slice(start) : url.slice(start, start + end)
}

/** At most 200 visible ASCII characters of a path, because a client chose it. */
export function shownPath(path: string): string {
  const visible = path.slice(0, 201).replace(/[^!-~]/g, '?')
  return visible.length > 200 ? `${visible.slice(0, 199)}...` : visible
}
