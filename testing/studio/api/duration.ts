/** Times as a developer types them, in the page and in the terminal: `2h`, `30m`, `5d`. */

const units: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 }

/** A time in milliseconds; `undefined` if the text is not one. */
export function msOf(text: string): number | undefined {
  const [, number, unit = ''] = /^(\d+(?:\.\d+)?)\s*([smhdw])$/.exec(text) ?? []
  return number === undefined ? undefined : Number(number) * Number(units[unit])
}
