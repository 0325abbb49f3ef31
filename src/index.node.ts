/**
 * The root for runtimes that have Node's modules (the condition `node` of package.json: Node, Bun and Deno; the
 * conditions of workers and browsers come before it). It is the same list of names; besides, `SESSION_STORE` may name a
 * store of `turnkeeper/keyv` there, which is loaded when it is needed.
 */
import { setKeyvLoader } from './stores/create-store.js'

export * from './index.js'

// Bundlers must not follow it, or the optional packages of the stores would be in every bundle.
// So its name is computed.
const entryPoint = ['turnkeeper', 'keyv']
setKeyvLoader(() => import(/* webpackIgnore: true */ /* @vite-ignore */ entryPoint.join('/')))
