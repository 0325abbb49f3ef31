// Serves the edge-runtime program that the second argument names, with the package that the first one names.
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'

const [, , manifest, program] = process.argv
const load = createRequire(manifest)
const { EdgeRuntime, runServer } = load('edge-runtime')
const { version } = load('edge-runtime/package.json')
const runtime = new EdgeRuntime({ initialCode: readFileSync(program, 'utf8') })
const { url } = await runServer({ runtime, port: 0, host: '127.0.0.1' })
console.log(JSON.stringify({ port: Number(new URL(url).port), version }))
