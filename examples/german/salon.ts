/**
 * A hairdresser's booking form in German. What to look at:
 *
 * - `words` replaces everything that a form understands and says itself. All else is the form's own text.
 * - Labels are what users call the fields: `ändere den Tag auf Freitag`.
 * - `fields(turn)` passes the time of the turn to the schema of the day, so that `nächsten Dienstag` becomes a date.
 */
import { Flow, finish, type Turn } from 'turnkeeper'
import { FormStep, type FormValues, field } from 'turnkeeper/forms'
import { z } from 'zod'
import { dayInWords, german, shownDay } from './german.js'

const Service = z.enum(['cut', 'colour'], 'Das bieten wir nicht an.')
const services = [
  { value: 'cut', label: 'Schneiden' },
  { value: 'colour', label: 'Färben' },
]
/** `um 9 Uhr`, `9` and `09:00` as `9:00`. */
const Time = z.string().transform((said) => said.replace(/^(?:um )?0?(\d{1,2})(?:[:.]00)?(?: uhr)?$/i, '$1:00'))
const Name = z.string().min(2, 'Das ist kein Name.')
const Phone = z.string().regex(/^[+\d][\d /-]{5,}$/, 'Das ist keine Telefonnummer.')

export class Booking extends FormStep {
  static override readonly id = 'Booking'
  override readonly words = german

  override fields({ now }: Turn) {
    return {
      service: field(Service, {
        label: 'Wunsch',
        ask: 'Was dürfen wir tun: schneiden oder färben?',
        choices: services,
      }),
      day: field(dayInWords(now), {
        label: 'Tag',
        ask: 'An welchem Tag möchten Sie kommen?',
        check: (day) => timesOf(day).length > 0 || 'Sonntags und montags haben wir zu.',
      }),
      time: field(Time, {
        label: 'Uhrzeit',
        needs: ['day'],
        ask: ({ day }) => `Um wie viel Uhr? Am ${shownDay(day)} geht es um ${timesOf(day).join(', ')} Uhr.`,
        choices: ({ day }) => timesOf(day),
        check: (time, { day }) => timesOf(day).includes(time) || 'Diese Uhrzeit geht an dem Tag nicht.',
      }),
      name: field(Name, { label: 'Name', ask: 'Wie heißen Sie?' }),
      phone: field(Phone, {
        label: 'Telefon',
        ask: 'Unter welcher Nummer erreichen wir Sie? Oder sagen Sie: weiter.',
        optional: true,
      }),
    }
  }

  override done({ day, time, name }: FormValues<Booking>) {
    return finish(`Eingetragen, ${name}: ${shownDay(day)} um ${time} Uhr. Bis dann!`)
  }

  override onGaveUp() {
    return finish('Am Telefon geht das sicher besser: 030 23125 001.')
  }
}

function timesOf(day: string): readonly string[] {
  const weekday = new Date(day).getUTCDay()
  if (weekday <= 1) return []
  return weekday === 6 ? ['9:00', '11:00'] : ['9:00', '11:00', '14:00', '16:00']
}

export class Salon extends Flow {
  static override readonly id = 'Salon'
  override steps() {
    return [Booking]
  }
}
