/**
 * The public subpath `turnkeeper/prompt`: a hand-kept list of names, and nothing else.
 */
export type { PromptTemplate, PromptValue, PromptVariableName, PromptVariables } from './prompt.js'
export { joinPrompts, promptTemplate } from './prompt.js'
