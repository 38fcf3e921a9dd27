/** Events of the backends. */
export interface BackendLifecycle {
  /** An agent ends with this gateway, because its host could not be started. */
  readonly agent_hostless: { readonly agent: string; readonly why: string };
}
