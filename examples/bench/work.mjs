/**
 * The measured work: one turn of a support conversation, with the same texts and the same model for every system.
 *
 * A turn loads the session, appends the user's message, asks the model of the current step, appends the answer, moves
 * to the next of three steps, and saves. With a tool, the model asks for one call first and sees its result. The model
 * answers at once, so that what is left is the system's own cost.
 */

export const turnsPerConversation = 20
export const stepCount = 3
export const answer = 'Noted. Anything else I can do for you?'
export const toolName = 'find_order'
export const toolArguments = { orderNumber: 'A-1042' }
export const order = { state: 'on its way', days: 2 }

/** What the user says in a turn. */
export const userMessage = (turn) => `Here is what I have to say in turn ${turn}.`

let calls = 0

/** What the model answers to a conversation whose last message has this role: a call, or a text. */
export function respond(lastRole, withTool) {
  return withTool && lastRole === 'user' ? { callId: `call-${++calls}` } : { text: answer }
}

/** Runs whole conversations, each with its own ID. */
export async function converse(system, conversations) {
  for (let count = 0; count < conversations; count++) {
    const conversation = system.start()
    for (let turn = 1; turn <= turnsPerConversation; turn++) await conversation(userMessage(turn))
  }
}

/** Keeps the processor busy for the given milliseconds. */
export function burn(milliseconds) {
  const end = performance.now() + milliseconds
  while (performance.now() < end);
}
