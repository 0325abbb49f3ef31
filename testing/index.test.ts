/** How many names the entry points of the harness export: each one is a promise, and hides the others. */
import { readFileSync } from 'node:fs'
import ts from 'typescript'
import { expect, test } from 'vitest'

/** The names that a file exports, values and types, those of the files that it exports whole included. */
function exportedNames(url: URL): string[] {
  const file = ts.createSourceFile('index.ts', readFileSync(url, 'utf8'), ts.ScriptTarget.ES2022)
  return file.statements.filter(ts.isExportDeclaration).flatMap(({ exportClause, moduleSpecifier }) => {
    if (exportClause !== undefined && ts.isNamedExports(exportClause)) {
      return exportClause.elements.map(({ name }) => name.text)
    }
    if (moduleSpecifier === undefined || !ts.isStringLiteral(moduleSpecifier)) return ['(not a list of names)']
    return exportedNames(new URL(moduleSpecifier.text.replace(/\.js$/, '.ts'), url))
  })
}

test('turnkeeper/testing exports at most 60 names', () => {
  const names = exportedNames(new URL('index.ts', import.meta.url))
  expect(names).toContain('Conversation')
  expect(names).not.toContain('(not a list of names)')
  expect(names.length).toBeLessThanOrEqual(60)
})

test('the suites are an entry point of their own', () => {
  expect(exportedNames(new URL('suites/index.ts', import.meta.url)).sort()).toEqual([
    'ModelProviderSuiteOptions',
    'ModelSuiteAnswer',
    'ModelSuiteCall',
    'ModelSuiteFailure',
    'ModelSuiteReply',
    'ModelSuiteSubject',
    'SessionStoreSuiteOptions',
    'SuiteTest',
    'modelProviderSuite',
    'sessionStoreSuite',
  ])
})
