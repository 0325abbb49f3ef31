/**
 * The root for runtimes that have Node's modules: Node, Bun and Deno use the condition `node` of package.json, which
 * comes after the conditions for workers and browsers. It exports the same names as the root; in addition,
 * `SESSION_STORE` may name a store of `turnkeeper/keyv`, which is loaded when needed.
 */
import { setKeyvLoader } from './stores/create-store.js'

export * from './index.js'

// The name is computed so that bundlers do not follow it: otherwise the optional packages of the stores would be in
// every bundle.
const entryPoint = ['turnkeeper', 'keyv']
setKeyvLoader(() => import(/* webpackIgnore: true */ /* @vite-ignore */ entryPoint.join('/')))
