/**
 * The entry point `turnkeeper/prompt`: the list of what it exports, kept by hand.
 */
export type { PromptTemplate, PromptValue, PromptVariableName, PromptVariables } from './prompt.js'
export { joinPrompts, promptTemplate } from './prompt.js'
