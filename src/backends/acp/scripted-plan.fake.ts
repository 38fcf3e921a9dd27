/** The scripted agent's behaviour from now on; read again for each call. */
export interface AgentPlan {
  readonly text?: string;
  /** The answer's text, then nothing until the prompt is cancelled. */
  readonly holds?: boolean;
  readonly refuse?: { readonly code: number; readonly message: string; readonly data?: unknown };
  readonly newError?: { readonly code: number; readonly message: string; readonly data?: unknown };
  /** Sent as `session/update`s before the text, as they stand. */
  readonly updates?: readonly object[];
  /** A permission request before the text, without its session id. */
  readonly permission?: object;
  /** How often it is asked; once by default. */
  readonly permissions?: number;
  /** A request of this method before the text, with these parameters. */
  readonly asks?: string;
  readonly asking?: object;
  /** Commands of its owner, by their names: a prompt whose text begins with `/name` runs the shell line. */
  readonly commands?: Readonly<Record<string, string>>;
  /** The ids of the modes that a session offers; the first is where it starts. None: no modes. */
  readonly modes?: readonly string[];
  /** Ids of models that a session offers beside its own two. */
  readonly models?: readonly string[];
  /** It lists its models as agents of an older protocol do, and has `session/set_model` for them. */
  readonly isOlder?: boolean;
  /** `session/load` answers with these in place of modes. */
  readonly loadedModes?: unknown;
  /** Writes this file without asking, and reports it as a tool. */
  readonly writes?: string;
  /** Answers this method with another id. */
  readonly mumbles?: "session/new";
  /** Writes a part of a line after half of the answer, and then nothing more. */
  readonly halfLine?: boolean;
  /** Writes a line of so many arrays within each other after half of the answer. */
  readonly levels?: number;
  /** Writes the second half of the answer only once the plan no longer says this. */
  readonly pauses?: boolean;
  /** Replies to the prompt before the second half of the answer, which follows after so many ms. */
  readonly lateMs?: number;
  /** A process that leaves the agent's group, and whose id is in the file `grandchild`. */
  readonly grandchild?: boolean;
  readonly stopReason?: string;
  readonly usage?: object;
  readonly agentName?: string;
  readonly agentVersion?: string;
  readonly onlyClient?: string;
  readonly can?: {
    readonly load?: boolean;
    readonly delete?: boolean;
    readonly images?: boolean;
    readonly title?: boolean;
  };
  /** The process kills itself there, once. */
  readonly crashAt?:
    | "initialize"
    | "load"
    | "new"
    | "before-store"
    | "after-store"
    | "working"
    | "mid-answer"
    | "before-reply"
    | "delete";
  readonly crashesAgain?: boolean;
  /** It has no session any more when it dies at `working`. */
  readonly loses?: boolean;
  /** The part of an answer that was written before the process died is stored. */
  readonly storesParts?: boolean;
  /** A session is stored before its first prompt. */
  readonly storesUnprompted?: boolean;
  /** A replay marks the end of a complete turn. */
  readonly marksEnd?: boolean;
  /** A replay gives the token counts of a complete message, as Qwen Code's does. */
  readonly countsMessages?: boolean;
  /** `session/load` finds the session locked; then `onLocked` becomes the plan. */
  readonly locked?: boolean;
  readonly onLocked?: AgentPlan;
  readonly noise?: boolean;
  readonly exitsAtOnce?: boolean;
  /** It does not end when its standard input does. */
  readonly stubborn?: boolean;
}

export type StoredMessages = readonly {
  readonly role: "user" | "agent";
  readonly text: string;
  readonly ended?: string;
  readonly usage?: object;
}[];

/** A call that the agent received. The journal keeps the order over all its processes. */
export type JournalLine =
  | {
      readonly what: "start";
      readonly pid: number;
      readonly args: readonly string[];
      readonly environment: Readonly<Record<string, string | undefined>>;
      readonly cwd: string;
    }
  | { readonly what: "initialize"; readonly client: string; readonly capabilities: unknown }
  | {
      readonly what: "accepted";
      readonly pid: number;
      readonly sessionId: string;
      readonly text: string;
      readonly images: number;
      readonly model: string;
    }
  | { readonly what: "mode" | "title"; readonly sessionId: string; readonly value: string }
  | { readonly what: "load" | "cancel" | "delete"; readonly sessionId: string }
  | { readonly what: "permission" | "asked"; readonly reply: unknown };
