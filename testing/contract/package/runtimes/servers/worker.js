// A Worker: the runtime passes its context, with `waitUntil`, as the third argument.
import { createApp } from './app.js'

const handle = createApp()

export default { fetch: (request, _env, context) => handle(request, context) }
