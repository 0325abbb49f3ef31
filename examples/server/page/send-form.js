/**
 * Sends a form as the user's event, and shows what came of it.
 *
 * @param {import('./client.js').Chat} chat
 * @param {string} flowName
 * @param {string} name
 * @param {object} payload
 * @returns {Promise<string>} what went wrong; empty if nothing did
 */
export async function sendForm(chat, flowName, name, payload) {
  try {
    const response = await fetch('ai/run?envelope=1', {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', 'Chat-Session-Id': chat.state.session },
      body: JSON.stringify({ flowName, event: { name, payload } }),
    })
    if (!response.ok) return (await response.json()).message
  } catch {
    return 'The form was not sent. Please try again.'
  }
  // If this fails, the page reads the reply later.
  await chat.refresh().catch(() => {})
  return ''
}
