/** The booking, turn by turn, on a Tuesday that never ends. */
import type { FlowEngine } from 'turnkeeper'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { createApplication } from '../application.js'
import { talkTo } from '../checks/talk.js'
import { createCalendar } from '../services/calendar.js'

const calendar = () => createCalendar(() => Date.UTC(2026, 10, 24, 12))
let engine: FlowEngine

beforeEach(async () => {
  engine = await createApplication({ calendar: calendar() })
})

afterEach(() => engine.close())

async function upToConfirm() {
  const say = talkTo(engine, 'Appointment')
  for (const message of ['', 'brakes', '1', '09:00']) await say(message)
  const { message } = await say('Ife Okafor, +44 20 7946 0000')
  return { say, summary: message }
}

test('books a repair, and keeps what was said', async () => {
  const { say, summary } = await upToConfirm()
  expect(summary).toBe(
    'brakes on Wednesday 25 November at 09:00, for Ife Okafor, +442079460000. Is that right? Answer yes, cancel, or "change" with repair, day, time or contact.',
  )
  const booked = await say('yes')
  expect(booked).toMatchObject({ success: true, completed: true })
  expect(booked.message).toBe(
    `Booked, Ife Okafor: brakes on Wednesday 25 November at 09:00, for Ife Okafor, +442079460000. Your reference is W-${booked.session.slice(0, 8)}.`,
  )
  const stored = await engine.getSession(booked.session)
  expect(stored?.runStatus).toBe('completed')
  expect(stored?.flow.currentStep).toBe('Booked')
  expect(stored?.flow.steps.ChooseDay?.state).toEqual({ day: '2026-11-25' })
})

test('asks again after each answer it cannot use', async () => {
  const say = talkTo(engine, 'Appointment')
  expect((await say('anything')).message).toBe('What does your bicycle need: tune-up (60), brakes (35), new tyre (25)?')
  expect((await say('a horn')).message).toMatch(/^We do not offer that\. What does your bicycle need/)
  await say('Tune-up')
  expect((await say('2026-11-28')).message).toMatch(/^That is none of the days we are open\. On which day\?/)
  expect((await say('6')).message).toMatch(/^That is none of the days/)
  await say('2026-11-25')
  expect((await say('11:11')).message).toBe(
    'That time is not free. At what time? Free: 09:00, 10:30, 13:00, 14:30, 16:00.',
  )
  await say('9:00')
  expect((await say('Ife')).message).toMatch(/^That is no phone number\./)
  expect((await say(', 020 7946 0000')).message).toMatch(/^The name is missing\./)
  expect((await say('Ife Okafor, 020 7946 0000')).message).toMatch(/^tune-up on Wednesday 25 November at 09:00/)
})

test('an answer can be corrected at the end, and the other answers stay', async () => {
  const { say } = await upToConfirm()
  expect((await say('change repair')).message).toMatch(/^What does your bicycle need/)
  expect((await say('new tyre')).message).toMatch(/^new tyre on Wednesday 25 November at 09:00, for Ife Okafor/)
  expect((await say('change contact')).message).toMatch(/^Your name and a phone number/)
  expect((await say('Ola Nordmann, 5550101')).message).toMatch(/^new tyre on Wednesday .* for Ola Nordmann, 5550101\./)
})

test('an answer can be corrected half way', async () => {
  const say = talkTo(engine, 'Appointment')
  for (const message of ['', 'brakes', '1']) await say(message)
  expect((await say('change repair')).message).toMatch(/^What does your bicycle need/)
  expect((await say('tune-up')).message).toMatch(/^At what time\?/)
})

test('a time cannot be changed before there is a day', async () => {
  const say = talkTo(engine, 'Appointment')
  await say('')
  expect((await say('change time')).message).toMatch(/^On which day\?/)
})

test('a new day asks for a new time only where the old one is taken', async () => {
  const other = await upToConfirm()
  await other.say('change day')
  await other.say('2')
  expect((await other.say('yes')).message).toMatch(/^Booked, Ife Okafor: brakes on Thursday 26 November at 09:00/)

  const { say } = await upToConfirm()
  await say('change day')
  expect((await say('3')).message).toMatch(/^brakes on Friday 27 November at 09:00/)
  await say('change day')
  expect((await say('2')).message).toBe('At what time? Free: 10:30, 13:00, 14:30, 16:00.')
})

test('whoever says yes last gets another time', async () => {
  const first = await upToConfirm()
  const second = await upToConfirm()
  expect((await first.say('yes')).completed).toBe(true)
  const late = await second.say('yes')
  expect(late).toMatchObject({ success: true, completed: false })
  expect(late.message).toBe('Somebody was quicker and took that time. Name another one, please.')
  expect((await second.say('10:30')).message).toMatch(/^brakes on Wednesday 25 November at 10:30/)
  expect((await second.say('yes')).completed).toBe(true)
})

test('nothing is booked where the user cancels', async () => {
  const { say } = await upToConfirm()
  expect((await say('perhaps')).message).toBe('Yes, cancel, or change what?')
  expect(await say('cancel')).toMatchObject({ completed: true, message: 'Nothing was booked. Until another time.' })
  const again = talkTo(engine, 'Appointment')
  for (const message of ['', 'brakes']) await again(message)
  expect((await again('1')).message).toMatch(/Free: 09:00/)
})

test('the same reference books one time', () => {
  const days = calendar()
  expect(days.book({ reference: 'a', day: '2026-11-25', time: '09:00' })).toBe(true)
  expect(days.book({ reference: 'a', day: '2026-11-25', time: '09:00' })).toBe(true)
  expect(days.book({ reference: 'b', day: '2026-11-25', time: '09:00' })).toBe(false)
  expect(days.book({ reference: 'a', day: '2026-11-25', time: '10:30' })).toBe(true)
  expect(days.freeTimes('2026-11-25')).toEqual(['09:00', '13:00', '14:30', '16:00'])
})
