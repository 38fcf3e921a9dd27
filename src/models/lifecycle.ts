/** Events of the lists of models. */
export interface ModelLifecycle {
  /** The models of a configured agent could not be read. */
  readonly agent_models_unread: { readonly agent: string; readonly error: unknown };
}
