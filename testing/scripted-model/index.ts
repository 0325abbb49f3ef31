/** A model, and a provider of it, that follow a script. */
export type {
  ExpectedRequest,
  ModelScript,
  RecordedRequest,
  ScriptedAnswer,
  ScriptedFailure,
  ScriptedModelOptions,
  ScriptedProvider,
  ScriptedReplies,
  ScriptedReply,
  ScriptedReplyFunction,
  ScriptedToolCall,
} from './scripted-model.js'
export { ScriptedModel, scriptedProvider } from './scripted-model.js'
