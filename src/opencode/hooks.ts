/*
 * What OpenCode hands a plugin and takes from it, as far as this one uses it. Written out, so that the plugin depends on no
 * package of OpenCode's. Source: @opencode-ai/plugin 1.18, dist/index.d.ts; the client suite runs it in the real binary.
 */

/** OpenCode's input to a plugin at its start. */
export interface PluginInput {
  readonly worktree: string;
  readonly directory: string;
  readonly client: {
    readonly tui: { showToast(options: { readonly body: Toast }): Promise<unknown> };
    readonly app: { log(options: { readonly body: LogEntry }): Promise<unknown> };
  };
}

export interface Toast {
  readonly title?: string;
  readonly message: string;
  readonly variant: "info" | "success" | "warning" | "error";
  readonly duration?: number;
}

export interface LogEntry {
  readonly service: string;
  readonly level: "info" | "warn" | "error";
  readonly message: string;
}

/** OpenCode's configuration, as far as it is read or changed here. */
export interface OpenCodeConfig {
  /** The model that OpenCode starts with: `millrace/claude-sonnet-4.6`. */
  readonly model?: string;
  readonly small_model?: string;
  provider?: Record<string, ProviderConfig>;
}

export interface ProviderConfig {
  npm?: string;
  name?: string;
  options?: Record<string, unknown>;
  models?: Record<string, ModelConfig>;
}

export interface ModelConfig {
  name?: string;
  attachment?: boolean;
  reasoning?: boolean;
  tool_call?: boolean;
  limit?: { context: number; output: number };
  modalities?: { input: string[]; output: string[] };
  variants?: Record<string, Record<string, unknown>>;
}

export interface Hooks {
  config(config: OpenCodeConfig): Promise<void>;
  /** The user sent a message. */
  "chat.message"(): Promise<void>;
  event(input: { readonly event: { readonly type: string } }): Promise<void>;
  readonly auth: {
    readonly provider: string;
    readonly methods: readonly {
      readonly type: "api";
      readonly label: string;
      readonly prompts: readonly never[];
      authorize(): Promise<{ readonly type: "success"; readonly key: string } | { readonly type: "failed" }>;
    }[];
  };
  readonly tool: Readonly<
    Record<
      string,
      {
        readonly description: string;
        readonly args: Readonly<Record<string, never>>;
        execute(args: unknown, context: { readonly abort: AbortSignal }): Promise<string>;
      }
    >
  >;
  "chat.headers"(
    input: { readonly model: { readonly providerID: string } },
    output: { readonly headers: Record<string, string> },
  ): Promise<void>;
}
