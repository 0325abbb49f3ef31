/** Values as a test writes them, for the code that failures and reports suggest. */

/** A value as it is written in code. */
export function codeOf(value: unknown): string {
  if (typeof value === 'string') {
    const text = JSON.stringify(value).slice(1, -1).replaceAll('\\"', '"').replaceAll("'", "\\'")
    return `'${text}'`
  }
  if (value instanceof Error) return `new Error(${codeOf(value.message)})`
  if (Array.isArray(value)) return `[${value.map(codeOf).join(', ')}]`
  if (typeof value !== 'object' || value === null) return String(value)
  const fields = Object.entries(value).map(([key, entry]) => {
    return `${/^[A-Za-z_$][\w$]*$/.test(key) ? key : codeOf(key)}: ${codeOf(entry)}`
  })
  return fields.length === 0 ? '{}' : `{ ${fields.join(', ')} }`
}
