/** What happens to the lists of models. */
export interface ModelLifecycle {
  /** A configured agent did not tell its models. */
  readonly agent_models_unread: { readonly agent: string; readonly error: unknown };
}
