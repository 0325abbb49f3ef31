/** A model, and a provider of it, that follow a script. */
export type {
  ModelScript,
  RecordedRequest,
  ScriptedAnswer,
  ScriptedJson,
  ScriptedModelOptions,
  ScriptedProvider,
  ScriptedReply,
  ScriptedReplyFunction,
  ScriptedToolCall,
} from './scripted-model.js'
export { ScriptedModel, scriptedProvider } from './scripted-model.js'
