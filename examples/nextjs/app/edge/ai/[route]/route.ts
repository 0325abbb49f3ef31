/**
 * The same flows with `runtime = 'edge'`: `/museum/edge/ai/run` and its siblings. There the URL of a request has the `basePath` of
 * next.config.ts, so that of the handler begins with it.
 */
import { after } from 'next/server'
import { FlowEngine } from 'turnkeeper'
import { createFetchHandler } from 'turnkeeper/fetch'
import { Guide, localModels, Notes } from '../../../../../serverless/flows.ts'

export const runtime = 'edge'

const engine = new FlowEngine({ flows: [Notes, Guide], providers: [localModels], onTurnError: 'rollback' })
const handler = createFetchHandler(engine, { basePath: '/museum/edge/ai', waitUntil: after })

async function handle(request: Request): Promise<Response> {
  return handler(request)
}

export { handle as GET, handle as OPTIONS, handle as POST }
