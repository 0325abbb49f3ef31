/**
 * Prompts with variables that are checked, and prompts that are joined from several.
 *
 * @module turnkeeper/prompt
 */

// A list of names that is kept by hand, and nothing else.

export type { PromptTemplate, PromptValue, PromptVariableName, PromptVariables } from './prompt.js'
export { joinPrompts, promptTemplate } from './prompt.js'
