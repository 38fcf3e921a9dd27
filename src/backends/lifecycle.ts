/** Events of the backends. */
export interface BackendLifecycle {
  /** An agent ends with this gateway, because its host could not be started. */
  readonly agent_hostless: { readonly agent: string; readonly why: string };
  /** An agent wrote lines about itself where its answer belongs; they were left out of the answer. Once a prompt, at its end. */
  readonly agent_noted: { readonly agent: string; readonly notices: readonly string[] };
}
