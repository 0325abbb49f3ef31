/** The local model at the support desk: its answers to what a customer says. */
import { FlowEngine } from 'turnkeeper'
import { Conversation } from 'turnkeeper/testing'
import { expect, test } from 'vitest'
import { SupportDesk } from '../flows/support-desk.js'
import { createCalendar } from '../services/calendar.js'
import { createOrders } from '../services/orders.js'
import { createLocalParcels } from '../services/parcels.js'
import { localProvider } from './desk-model.js'

test.each<[string, readonly (readonly [said: string, answered: string])[]]>([
  [
    'an order',
    [
      ['Hello', 'I can find an order, track a parcel or take a return. What is it about?'],
      ['What is in order FK-1063?', 'Order FK-1063 is being packed: green glaze cup and boston fern.'],
      ['And in order 17?', 'That did not work. Invalid arguments: orderNumber: An order number looks like FK-1042'],
      ['FK-9999', 'That did not work. There is no order FK-9999.'],
    ],
  ],
  [
    'a parcel',
    [
      ['Where is my parcel?', 'What is the order number? It looks like FK-1042.'],
      ['FK-1057', 'The parcel of FK-1057 is in the depot in Harrow Lane, out for delivery tomorrow.'],
    ],
  ],
  [
    'a return',
    [
      ['I want to return something', 'What is the order number? It looks like FK-1042.'],
      ['FK-1042', 'Gladly. Which item goes back, and why?'],
      ['the kettle', 'Which item goes back: cast iron teapot or maidenhair fern?'],
      ['the fern', 'Why does the maidenhair fern go back: damaged, wrong item, or changed your mind?'],
      [
        'The fern was the wrong one',
        'Return R-1 is open: maidenhair fern, wrong item. The label is in your mail. Anything else?',
      ],
      ['When are you open?', 'We are here from Monday to Friday, 9 to 17.\n\nIs there anything else?'],
      ['No, thank you', 'Thank you for writing to Fern & Kettle. Goodbye!'],
    ],
  ],
  [
    'a return, with a button',
    [
      ['I return the fern of FK-1042', 'Gladly. Which item goes back, and why?'],
      ['As I said', 'Why does the maidenhair fern go back: damaged, wrong item, or changed your mind?'],
      [
        'When are you open?',
        'We are here from Monday to Friday, 9 to 17.\n\nWhy does the maidenhair fern go back: damaged, wrong item, or changed your mind?',
      ],
      ['It came damaged', 'Return R-1 is open: maidenhair fern, damaged. The label is in your mail. Anything else?'],
    ],
  ],
  [
    'opening hours, and then a parcel',
    [
      ['When are you open?', 'We are here from Monday to Friday, 9 to 17.\n\nIs there anything else?'],
      ['FK-1057', 'Order FK-1057 is on its way: string of hearts.'],
    ],
  ],
  ['a refund', [['I want a refund', 'Refunds are decided by the accounts team within five working days.']]],
])('talks about %s', async (_topic, turns) => {
  await using conversation = new Conversation(SupportDesk, {
    providers: [localProvider],
    services: { calendar: createCalendar(Date.now), orders: createOrders(), parcels: createLocalParcels() },
  })
  for (const [said, answered] of turns) {
    await conversation.say(said)
    conversation.expectReply(answered)
  }
})

test('thanks for a photo', async () => {
  await using conversation = new Conversation(SupportDesk, {
    providers: [localProvider],
    services: { calendar: createCalendar(Date.now), orders: createOrders(), parcels: createLocalParcels() },
  })
  const photo = { type: 'image', mediaType: 'image/jpeg', data: 'AAEC' } as const
  await conversation.say('What is wrong with my order?', { attachments: [photo] })
  conversation.expectReply(/^Thank you for the photo\./)
  await conversation.say('FK-1063')
  conversation.expectReply('Order FK-1063 is being packed: green glaze cup and boston fern.')
})

test('there is no other local model', () => {
  const engine = new FlowEngine({ providers: [localProvider] })
  expect(() => engine.validateModel({ provider: 'local', name: 'desk-9', params: {} })).toThrow(
    "There is no local model 'desk-9', only 'desk-1'.",
  )
})
