/** German for forms: what a form understands and says itself, and how it reads and shows days. */
import type { FormWords } from 'turnkeeper/forms'
import { z } from 'zod'

/** What Zod says itself, for example if a page sends a number in place of a text. */
z.config(z.locales.de())

const articles = ['', 'den ', 'die ', 'das ']

export const german: FormWords = {
  yes: ['Ja', 'j', 'ok', 'okay', 'stimmt', 'genau', 'ja bitte'],
  no: ['Nein', 'n', 'falsch', 'stimmt nicht'],
  skip: ['weiter', 'überspringen'],
  change: [
    ...articles.flatMap((article) => [`ändere ${article}{field} auf {value}`, `ändere ${article}{field}`]),
    '{field} ändern',
  ],
  needed: (label) => `Ohne ${label} geht es nicht.`,
  review: (rows) => `${rows.map(([label, value]) => `${label}: ${shownDay(value)}`).join('\n')}\nStimmt das so?`,
  whatToChange: (labels) => `Was soll anders sein: ${labels.join(', ')}? Wenn alles stimmt, sagen Sie bitte ja.`,
}

const oneDay = 24 * 60 * 60 * 1000
const isoInBerlin = new Intl.DateTimeFormat('sv-SE', { timeZone: 'Europe/Berlin' })
const longDay = new Intl.DateTimeFormat('de-DE', { weekday: 'long', day: 'numeric', month: 'long', timeZone: 'UTC' })
const weekdays = ['de-DE', 'en-GB'].map(
  (locale) => new Intl.DateTimeFormat(locale, { weekday: 'long', timeZone: 'UTC' }),
)

/** `2026-12-01` as `Dienstag, 1. Dezember`; any other text as it is. */
export function shownDay(text: string): string {
  return /^\d{4}-\d\d-\d\d$/.test(text) ? longDay.format(Date.parse(text)) : text
}

/**
 * A day in the next eight weeks in a user's words: `morgen`, `nächsten Dienstag`, `next Tuesday`, `1.12.`, `01.12.2026`. A
 * weekday is the next one after today. The result, `2026-12-01`, is read as well.
 *
 * @param now - Milliseconds since the epoch: `turn.now`, so that a test can set it.
 */
export function dayInWords(now: number) {
  return z.string().transform((text, context) => {
    const said = text.toLowerCase().replace(/^(?:(?:am|kommenden|nächsten|on|next) )+/, '')
    const today = Date.parse(isoInBerlin.format(now))
    for (let ahead = 1; ahead <= 56; ahead++) {
      const day = new Date(today + ahead * oneDay)
      if (namesOf(day, ahead).includes(said)) return day.toISOString().slice(0, 10)
    }
    context.addIssue('Diesen Tag verstehe ich nicht.')
    return z.NEVER
  })
}

function namesOf(day: Date, ahead: number): readonly string[] {
  const iso = day.toISOString().slice(0, 10)
  const [year, month, date] = iso.split('-')
  const short = `${Number(date)}.${Number(month)}.`
  const weekday = ahead <= 7 ? weekdays.map((one) => one.format(day).toLowerCase()) : []
  const inWords = [[], ['morgen', 'tomorrow'], ['übermorgen']][ahead] ?? []
  return [iso, short, `${short}${year}`, `${date}.${month}.`, `${date}.${month}.${year}`, ...weekday, ...inWords]
}
