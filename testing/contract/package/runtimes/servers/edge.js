// edge-runtime, where the event of a request has `waitUntil`.
import { createApp } from './app.js'

const handle = createApp()

addEventListener('fetch', (event) => event.respondWith(handle(event.request, event)))
