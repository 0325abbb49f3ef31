/** The names that the root exports: each one is a promise, so the list changes on purpose or not at all. */
import { readFileSync } from 'node:fs'
import ts from 'typescript'
import { expect, test } from 'vitest'
import * as root from './index.js'

const values = names(`
    back BudgetExceededError call ConfigManager End EndStep event finish Flow FlowEngine FlowError
    go HttpContentType InvalidInputError LogicStep
    MemorySessionStore ModelBlockedError ModelError reply retry SessionConflictError SessionFlowInvariantError
    SessionFlowMismatchError SessionStoreError stay Step tool ToolError
   
`)

const types = names(`
    AnyFlowError Awaitable BaseStep Clock CompactionPolicy ConfigReader DeleteResult EngineEventMap EngineLimits EventOptions
    ExecuteDeleteResult ExecuteResult FilePart FinishReason FlowCompaction FlowConstructor
    FlowConstructorMap FlowEngineOptions FlowErrorCode FlowEvent FlowLogger FlowRegistration FlowRunInput FlowServices
    FlowSession FlowStream FlowStreamEvent ImagePart JsonObject JsonValue LockEvent MemorySessionBacking
    Message MessagePart Model ModelBlockedDetails ModelBudgets ModelChoice ModelFailure
    ModelProviderAdapter ModelRequest ModelResponse ModelSelection ModelStreamPart ReasoningPart ReplyContent ReplyPart
    ResolvedModelSelection RunResponseType RuntimeModel SendEventInput SessionDocument SessionListQuery SessionSaveHint SessionStore
    SessionSummary StateOf
    StepConstructor StoredMessage TextPart TokenUsage Tool ToolCall ToolCallPart ToolDefinition ToolOptions ToolResultPart
    Transition Turn UnderReplicatedReport
`)

function names(list: string): string[] {
  return list.trim().split(/\s+/)
}

/** What the file names in its export declarations, values or types. */
function exportedNames(kind: 'value' | 'type'): string[] {
  const path = new URL('index.ts', import.meta.url)
  const file = ts.createSourceFile('index.ts', readFileSync(path, 'utf8'), ts.ScriptTarget.ES2022)
  return file.statements.flatMap((statement) => {
    if (!ts.isExportDeclaration(statement) || statement.exportClause === undefined) return ['(not a list of names)']
    if (!ts.isNamedExports(statement.exportClause)) return ['(not a list of names)']
    if (statement.isTypeOnly !== (kind === 'type')) return []
    return statement.exportClause.elements.map(({ name, isTypeOnly }) => (isTypeOnly ? '(a type)' : name.text))
  })
}

test('the root exports these values', () => {
  expect(exportedNames('value').sort()).toEqual(values.sort())
  expect(Object.keys(root).sort()).toEqual(values.sort())
})

test('the root exports these types', () => {
  expect(exportedNames('type').sort()).toEqual(types.sort())
})

test('the root exports at most 98 names', () => {
  expect(values.length + types.length).toBeLessThanOrEqual(98)
})
