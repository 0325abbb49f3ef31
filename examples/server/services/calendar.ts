/**
 * The workshop's calendar: which times are free, and who has the others. It lives in memory; a real
 * one would be a database.
 */

/** A booked time. */
export interface Booking {
  /** The reference of the booking. A reference books one time only; booking again with it changes nothing. */
  readonly reference: string
  /** `2026-11-24` */
  readonly day: string
  /** `09:00` */
  readonly time: string
}

export interface Calendar {
  /** The next five days on which the workshop is open, from tomorrow. */
  openDays(): readonly string[]
  freeTimes(day: string): readonly string[]
  /** `false` if the time was taken meanwhile. */
  book(booking: Booking): boolean
}

const times = ['09:00', '10:30', '13:00', '14:30', '16:00']
const oneDay = 24 * 60 * 60 * 1000

/** @param now - Milliseconds since the epoch. */
export function createCalendar(now: () => number): Calendar {
  const taken = new Map<string, string>()

  function openDays(): readonly string[] {
    const days: string[] = []
    for (let at = now() + oneDay; days.length < 5; at += oneDay) {
      const weekday = new Date(at).getUTCDay()
      if (weekday !== 0 && weekday !== 6) days.push(new Date(at).toISOString().slice(0, 10))
    }
    return days
  }

  return {
    openDays,
    freeTimes: (day) => (openDays().includes(day) ? times.filter((time) => !taken.has(`${day} ${time}`)) : []),
    book({ reference, day, time }) {
      const slot = `${day} ${time}`
      const holder = taken.get(slot)
      if (holder !== undefined && holder !== reference) return false
      for (const [other, otherHolder] of taken) if (otherHolder === reference) taken.delete(other)
      taken.set(slot, reference)
      return true
    },
  }
}

/** `2026-11-24` as `Tuesday 24 November`. */
export function dayName(day: string): string {
  const date = new Date(`${day}T00:00:00Z`)
  const options = { weekday: 'long', day: 'numeric', month: 'long', timeZone: 'UTC' } as const
  return new Intl.DateTimeFormat('en-GB', options).format(date)
}
