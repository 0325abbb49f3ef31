// The page of the example server with the client as it is in the sources.
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import type { Hono } from 'hono'
import { pageRoutes } from '../../../examples/server/page.js'

let client: Promise<string> | undefined

/** The routes of the page. */
export function deskRoutes(): Hono {
  client ??= bundleClient()
  return pageRoutes(new URL('../../../examples/server/page/', import.meta.url), client)
}

async function bundleClient(): Promise<string> {
  const entryPoints = [fileURLToPath(new URL('../../../adapters/client/index.ts', import.meta.url))]
  const { outputFiles } = await build({ entryPoints, bundle: true, format: 'esm', target: 'es2022', write: false })
  return outputFiles[0]?.text ?? ''
}
