/** Where prompts go, as `/health` shows it. */
export interface ShownBackend {
  readonly kind: string;
  readonly why: string;
  readonly product?: string | undefined;
  /** The vendor's agent that takes the prompts for its own models. */
  readonly beside?: string | undefined;
  readonly hint?: string | undefined;
}

const names: Readonly<Record<string, string>> = {
  acp: "the agent program",
  cascade: "Cascade",
  raw_chat: "raw chat",
  none: "nothing yet",
};

/** Says in words where prompts go, why, and what to do if they go nowhere. */
export function spellBackend({ kind, why, product, beside, hint }: ShownBackend): string {
  const to = `${product ?? names[kind] ?? kind}${kind === "acp" ? " (ACP)" : ""}`;
  const todo = hint === undefined ? "" : ` ${hint}`;
  const others = beside === undefined ? "" : `; models that only its agent offers go to ${beside} (ACP)`;
  return `${to}: ${why}${todo}${others}`;
}
