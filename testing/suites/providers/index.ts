/** What every model provider must do, as tests for any runner. */
export type {
  ModelProviderSuiteOptions,
  ModelSuiteAnswer,
  ModelSuiteCall,
  ModelSuiteFailure,
  ModelSuiteReply,
  ModelSuiteSubject,
} from './model-provider-suite.js'
export { modelProviderSuite } from './model-provider-suite.js'
