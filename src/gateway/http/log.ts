/** Where the gateway's log lines go: an event name and plain fields. Never bodies, prompts, answers or secrets. */
export interface GatewayLog {
  write(level: "debug" | "info" | "warn" | "error", event: string, fields: Readonly<Record<string, unknown>>): void;
  /** Why lines are lost now, as a sentence; undefined while they are written. */
  problem?(): string | undefined;
}
