/**
 * A process of the example: the office. Settings, from the environment: FOLDER, and SECRET, which seals the links.
 *
 * It wakes the sessions that are due every minute.
 */
import { serve } from '@hono/node-server'
import { createApplication } from './application.js'

const { FOLDER: folder = '.', SECRET: secret = '', PORT = '3000' } = process.env
const officeUrl = `http://127.0.0.1:${PORT}`
const { app, engine, wakes, close } = await createApplication({ folder, officeUrl, secret })
const waking = setInterval(() => wakes.wakeDue(engine).catch(console.error), 60_000)

const server = serve({ fetch: app.fetch, port: Number(PORT), hostname: '127.0.0.1' }, ({ port }) => {
  console.log(`The office is at http://127.0.0.1:${port}, the customers' routes below /ai/end.`)
})

process.once('SIGTERM', async () => {
  clearInterval(waking)
  server.close()
  await close()
})
