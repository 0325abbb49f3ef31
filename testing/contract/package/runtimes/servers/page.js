// A page: the handler is called with a Request, as an application without a server does in a service worker.
import { createApp } from './app.js'

globalThis.handle = createApp()
