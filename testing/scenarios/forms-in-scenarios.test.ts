/** A form as a scenario: filled in by text, corrected, sent by a page, and its part and its values expected. */
import { expect, test } from 'vitest'
import { reply, type Turn } from '../../src/index.js'
import { Booking, Desk } from '../contract/booking-form.js'
import { readScenarios } from './index.js'

class Shown extends Booking {
  override async onEnter(turn: Turn): Promise<ReturnType<typeof reply>> {
    return reply('Please fill in the form, or tell me what your bicycle needs.').withParts([await this.asPart(turn)])
  }
}
class ShownDesk extends Desk {
  override steps() {
    return [Shown]
  }
}

/** Runs the first scenario of a file; line 4 is the first one below its heading. */
async function run(lines: string): Promise<void> {
  const text = `# Desk\nSetup: ./x.js\n## A scenario\n${lines}`
  await readScenarios(text, 'desk.scenario.md').scenarios[0]?.run({ flow: ShownDesk })
}

test('a form is filled in by text', async () => {
  await run(`
User: Hello
Bot: Please fill in the form, or tell me what your bicycle needs.
Form: Booking

User: brakes
Bot: Which day, Tuesday or Friday?
State of Booking: values.repair = brakes
State of Booking: values.day = nothing

User: Sunday
Bot: We are closed that day. Which day, Tuesday or Friday?

User: Friday
User: 11
User: change day to Tuesday
Bot: 11 is not free. When? 9, 10.
State of Booking: values.time = nothing

User: 10
User: 2
User: skip
Bot mentions: number of bicycles: 2
Buttons: Yes, No
State of Booking: values.phone = nothing
State of Booking: values.bicycles = 2

Choose: No
Buttons: repair, day, time, number of bicycles, phone
Choose: phone
Bot: A phone number? Or skip.

User: 0731
Choose: Yes
Bot: Booked: Tuesday at 10.
Completed: yes`)
})

test('a form is sent by a page, twice', async () => {
  await run(`
User: Hello
Event: Booking {"repair": "gears", "day": "Friday", "bicycles": 1}
Bot mentions: The time is needed.
Form: Booking
State of Booking: values.day = Friday
State of Booking: values.repair = nothing

Event: Booking {"repair": "brakes", "time": "10"}
Bot mentions: Is that right?
Buttons: Yes, No`)
})

test('a value that is not so fails with its line', async () => {
  await expect(run('User: Hello\nUser: brakes\nState of Booking: values.repair = tune-up')).rejects.toThrow(
    /:6: State of Booking: values\.repair = tune-up\n.*\n {2}values\.repair: expected "tune-up", got "brakes"/,
  )
  await expect(run('User: Hello\nForm: Bokking')).rejects.toThrow(
    'Expected a reply with the form "Bokking"\n  but it has: "Booking"',
  )
})
