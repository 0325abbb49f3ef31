// examples/kubernetes without a cluster: each manifest is what the API takes, by its schemas and, as a literal, by its
// types; and its figures and paths fit the server of examples/docker.
import { existsSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'
import ts from 'typescript'
import { describe, expect, test } from 'vitest'
import { FlowEngine } from '../../../src/index.js'

const root = new URL('../../../', import.meta.url)
const deployments = new URL('testing/contract/deployments/', root)
const tools = createRequire(deployments)
const isMissing = process.env.CI === undefined && !existsSync(new URL('node_modules/kubernetes-models', deployments))
const text = readFileSync(new URL('examples/kubernetes/turnkeeper.yaml', root), 'utf8')
const server = readFileSync(new URL('examples/docker/server.js', root), 'utf8')

interface Probe {
  readonly httpGet: { readonly path: string; readonly port: string }
  readonly timeoutSeconds?: number
}

/** As much of the manifests as is compared here. */
interface Deployment {
  readonly spec: {
    readonly selector: { readonly matchLabels: object }
    readonly template: {
      readonly metadata: { readonly labels: object }
      readonly spec: {
        readonly terminationGracePeriodSeconds: number
        readonly automountServiceAccountToken: boolean
        readonly securityContext: object
        readonly containers: readonly [
          {
            readonly image: string
            readonly env: readonly { readonly name: string; readonly value?: string }[]
            readonly resources: object
            readonly securityContext: object
            readonly ports: readonly { readonly name: string; readonly containerPort: number }[]
            readonly lifecycle: { readonly preStop: { readonly exec: { readonly command: readonly string[] } } }
            readonly startupProbe: Probe
            readonly readinessProbe: Probe
            readonly livenessProbe: Probe
          },
        ]
      }
    }
  }
}

interface NetworkPolicy {
  readonly spec: {
    readonly podSelector: { readonly matchLabels: object }
    readonly policyTypes: readonly string[]
    readonly ingress: readonly Traffic[]
    readonly egress: readonly Traffic[]
  }
}

interface Traffic {
  readonly from?: readonly object[]
  readonly to?: readonly object[]
  readonly ports: readonly { readonly protocol: string; readonly port: string | number }[]
}

interface Manifest {
  readonly apiVersion: string
  readonly kind: string
}

const modules: Readonly<Record<string, string>> = {
  Deployment: 'kubernetes-models/apps/v1',
  Service: 'kubernetes-models/v1',
  PodDisruptionBudget: 'kubernetes-models/policy/v1',
  NetworkPolicy: 'kubernetes-models/networking.k8s.io/v1',
}

function manifestsOf(yaml: string): Manifest[] {
  const { parseAllDocuments } = tools('yaml') as {
    parseAllDocuments(text: string): { errors: unknown[]; toJS(): Manifest }[]
  }
  return parseAllDocuments(yaml).map((document) => {
    expect(document.errors).toEqual([])
    return document.toJS()
  })
}

function validate(manifest: Manifest): void {
  const models = tools(modules[manifest.kind] ?? '') as Record<string, new (data: Manifest) => { validate(): void }>
  const Model = models[manifest.kind]
  if (Model === undefined) throw new Error(`There is no ${manifest.kind}.`)
  new Model(manifest).validate()
}

/** The type errors of manifests, each written down as a literal. */
function typeErrors(manifests: readonly Manifest[]): string[] {
  const file = fileURLToPath(new URL('manifests.ts', deployments))
  const lines = manifests.flatMap(({ kind, ...rest }, index) => [
    `import type { I${kind} as Kind${index} } from '${modules[kind]}'`,
    `export const manifest${index}: Kind${index} = ${JSON.stringify({ kind, ...rest })}`,
  ])
  const options: ts.CompilerOptions = {
    ...{ module: ts.ModuleKind.NodeNext, moduleResolution: ts.ModuleResolutionKind.NodeNext, noEmit: true },
    ...{ strict: true, skipLibCheck: true, types: [] },
  }
  const host = ts.createCompilerHost(options)
  const { fileExists, readFile } = host
  host.fileExists = (name) => name === file || fileExists(name)
  host.readFile = (name) => (name === file ? lines.join('\n') : readFile(name))
  const program = ts.createProgram([file], options, host)
  return ts.getPreEmitDiagnostics(program).map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, ' '))
}

const leftOut = isMissing ? ' (left out: kubernetes-models is not installed)' : ''

describe.skipIf(isMissing)(`the manifests${leftOut}`, () => {
  test('are four, and their schemas and types take them', () => {
    const manifests = manifestsOf(text)
    expect(manifests.map(({ kind }) => kind)).toEqual(Object.keys(modules))
    for (const manifest of manifests) validate(manifest)
    expect(typeErrors(manifests)).toEqual([])
  })

  test('would be refused with a wrong value by the schemas, and with a wrong name by the types', () => {
    const [wrongValue] = manifestsOf(text.replace('containerPort: 3000', 'containerPort: http'))
    expect(() => validate(wrongValue as Manifest)).toThrow('containerPort')
    const [wrongName] = manifestsOf(text.replace('readinessProbe:', 'readynessProbe:'))
    expect(typeErrors([wrongName as Manifest]).join()).toMatch(/'"readynessProbe"' does not exist/)
  })

  test('select the pods, and name their port', () => {
    const [deployment, service, budget, policy] = manifestsOf(text) as unknown as [
      Deployment,
      { readonly spec: { readonly selector: object; readonly ports: readonly { readonly targetPort: string }[] } },
      { readonly spec: { readonly selector: { readonly matchLabels: object } } },
      NetworkPolicy,
    ]
    const { labels } = deployment.spec.template.metadata
    const selectors = [deployment.spec.selector, budget.spec.selector, policy.spec.podSelector]
    expect(selectors.map(({ matchLabels }) => matchLabels)).toEqual([labels, labels, labels])
    expect(service.spec.selector).toEqual(labels)
    const [container] = deployment.spec.template.spec.containers
    expect(container.ports).toEqual([{ name: 'http', containerPort: 3000 }])
    expect(service.spec.ports.map(({ targetPort }) => targetPort)).toEqual(['http'])
    expect(policy.spec.ingress.flatMap(({ ports }) => ports)).toEqual([{ protocol: 'TCP', port: 'http' }])
  })

  test('give a pod what the Pod Security Standard "restricted" allows, no credential, and bounded resources', () => {
    const [deployment] = manifestsOf(text) as unknown as [Deployment]
    const { automountServiceAccountToken, securityContext, containers } = deployment.spec.template.spec
    expect(automountServiceAccountToken).toBe(false)
    expect(securityContext).toEqual({
      runAsNonRoot: true,
      runAsUser: 1000,
      runAsGroup: 1000,
      seccompProfile: { type: 'RuntimeDefault' },
    })
    const [{ image, resources, securityContext: ofContainer }] = containers
    expect(ofContainer).toEqual({
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    })
    expect(resources).toEqual({
      requests: { cpu: '250m', memory: '256Mi' },
      limits: { cpu: '1', memory: '512Mi' },
    })
    // A placeholder that no cluster starts: whoever forgets it notices.
    expect(image).toMatch(/@sha256:<digest>$/)
  })

  test('let only the Ingress in, and only DNS and Redis out', () => {
    const { policyTypes, ingress, egress } = (manifestsOf(text)[3] as unknown as NetworkPolicy).spec
    expect(policyTypes).toEqual(['Ingress', 'Egress'])
    const peers = [...ingress.map(({ from }) => from), ...egress.map(({ to }) => to)]
    // A rule without peers would be one for everybody.
    expect(peers.map((list) => list?.length)).toEqual([1, 1, 1])
    expect(peers.flat().filter((peer) => Object.keys(peer ?? {}).length === 0)).toEqual([])
    expect(egress.map(({ ports }) => ports.map(({ protocol, port }) => `${protocol} ${port}`))).toEqual([
      ['UDP 53', 'TCP 53'],
      ['TCP 6379'],
    ])
  })

  test('give a process the time that its end may take, and ask the store only whether it is ready', async () => {
    const [deployment] = manifestsOf(text) as unknown as [Deployment]
    const { terminationGracePeriodSeconds, containers } = deployment.spec.template.spec
    const [{ lifecycle, startupProbe, readinessProbe, livenessProbe }] = containers
    const [program, seconds] = lifecycle.preStop.exec.command
    expect(program).toBe('sleep')
    const closeTimeoutMs = Number(/closeTimeoutMs: ([\d_]+)/.exec(server)?.[1]?.replaceAll('_', ''))
    const engine = new FlowEngine()
    const { storeTimeoutMs } = engine.limits
    await engine.close()
    // A save with its checks has three times storeTimeoutMs, and the end of the connection once more.
    const longest = Number(seconds) + (closeTimeoutMs + 4 * storeTimeoutMs) / 1000
    expect(terminationGracePeriodSeconds).toBeGreaterThan(longest)
    const probes = [startupProbe, readinessProbe, livenessProbe].map(({ httpGet }) => `${httpGet.port} ${httpGet.path}`)
    expect(probes).toEqual(['http /ai/health?check=live', 'http /ai/health', 'http /ai/health?check=live'])
    expect((readinessProbe.timeoutSeconds ?? 1) * 1000).toBeGreaterThan(storeTimeoutMs)
  })
})
