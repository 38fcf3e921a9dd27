import { readFileSync } from "node:fs";
import type { Socket } from "node:net";
import { join } from "node:path";
import { isObject, parseJson, writeJson } from "../../../base/json.ts";
import { replaceFile } from "../../../base/node/replace-file.ts";
import type { ToolResult, ToolSpec } from "../../backend.ts";

/** How the relay of a session finds a gateway: the file of the door that it dials, and the secret that it says there. */
export interface RelayAddress {
  readonly socket: string;
  readonly secret: string;
}

/** What another gateway needs to go on with the tools of a session. */
export interface KeptTools extends RelayAddress {
  readonly offered: readonly Pick<ToolSpec, "name" | "description" | "inputSchema">[];
  /** The calls that a client has from a turn that ended. */
  readonly given: readonly string[];
}

/** How many calls in a row are refused for their arguments; the next one is the client's to judge. */
const mostRefused = 5;

/** The client's tools in one session of an agent: what is offered, which calls wait, and which of them the client has. */
export class SessionTools {
  readonly #relayAddress: RelayAddress;
  readonly #onClose: () => void;
  readonly #waiting = new Map<string, RelayedCall>();
  #listed = Promise.withResolvers<void>();
  /** The answers to the calls that the client was given last: a relay that lost its connection gets them again. */
  readonly #answers = new Map<string, ToRelay>();
  #offered: readonly ToolSpec[] = [];
  /** What is offered, as JSON: large, and compared and noted often. */
  #spelled: string;
  #relay: Socket | undefined;
  #connected = Promise.withResolvers<void>();
  /** The ids of the calls that the client was given and has not answered yet. */
  #given: readonly string[] = [];
  #isClosed = false;
  /** How many calls in a row did not fit their tool. */
  #refused = 0;
  /** Called when a call came, or one that waited is gone. */
  onChange: () => void = () => {};
  /** Whether the agent has called one of these tools, under any title, or may have while an earlier gateway had it. */
  isUsed: boolean;
  /** Whether the agent makes the calls of one answer at once; false once it was seen to make them one by one. */
  isTogether = true;

  /** `kept`: as an earlier gateway left them; the relay tells again which calls wait. */
  constructor(relayAddress: RelayAddress, onClose: () => void, kept?: KeptTools) {
    this.#relayAddress = relayAddress;
    this.#onClose = onClose;
    this.isUsed = kept !== undefined;
    this.#offered = kept?.offered ?? [];
    this.#spelled = spell(this.#offered);
    this.#given = kept?.given ?? [];
  }

  /** Resolves once the relay is there and has told which calls wait. */
  get connection(): Promise<void> {
    return this.#connected.promise;
  }

  /** For a later gateway: how the relay finds it. */
  get address(): RelayAddress {
    return this.#relayAddress;
  }

  /** For a later gateway: `offered` of `KeptTools`, as JSON. The same string as long as the same tools are offered. */
  get offered(): string {
    return this.#spelled;
  }

  /** Resolves once the agent has asked for the tools that are offered now. Never rejects. */
  get listed(): Promise<void> {
    return this.#listed.promise;
  }

  /** The calls that the client does not have yet, in the order in which they came. */
  get fresh(): readonly RelayedCall[] {
    return [...this.#waiting.values()].filter(({ callId }) => !this.#given.includes(callId));
  }

  /** The calls that the client has and that the agent still waits for. */
  get given(): readonly string[] {
    return this.#given.filter((callId) => this.#waiting.has(callId));
  }

  /** How many of the calls that the client has are gone: the agent did not wait for their results. */
  get lost(): number {
    return this.#given.length - this.given.length;
  }

  /** Whether a tool step that the agent reports is a call of one of these tools. */
  owns(step: ToolStep): boolean {
    return isOwnTool(
      step,
      this.#offered.map(({ name }) => name),
    );
  }

  /** Whether these are other tools than those that are offered. */
  differFrom(tools: readonly ToolSpec[]): boolean {
    return spell(tools) !== this.#spelled;
  }

  /** Offers these tools from now on; a call of another one is answered with an error. */
  offer(tools: readonly ToolSpec[]): void {
    const spelled = spell(tools);
    const isOther = spelled !== this.#spelled;
    this.#offered = tools;
    this.#spelled = spelled;
    if (isOther) {
      this.#listed = Promise.withResolvers();
      this.#tellTools();
    }
  }

  /** Hands the client these calls. */
  give(calls: readonly RelayedCall[]): void {
    this.#answers.clear();
    this.#given = [...this.given, ...calls.map(({ callId }) => callId)];
  }

  /** Answers calls. An answer to a call that does not wait is ignored; before the relay is there it is kept. */
  answer(results: readonly ToolResult[]): void {
    for (const { callId, content, isError } of results) this.#answer(callId, content, isError);
    this.#given = this.given;
  }

  receive(message: FromRelay): void {
    if (message.type === "listed") this.#listed.resolve();
    else if (message.type === "call") this.#take(message.call);
    else if (message.type === "dropped") this.#waiting.delete(message.callId);
    this.onChange();
  }

  /** Whether this is the secret that the relay of the session was given. */
  isSecret(said: string): boolean {
    return said === this.#relayAddress.secret;
  }

  connected(socket: Socket, { listed, calls }: FromRelay & { readonly type: "hello" }): void {
    this.#relay = socket;
    if (listed) this.#listed.resolve();
    this.#tellTools();
    for (const call of calls) {
      const answer = this.#answers.get(call.callId);
      if (answer !== undefined) this.#tell(answer);
      else if (!this.#waiting.has(call.callId)) this.#take(call);
    }
    this.#connected.resolve();
    this.onChange();
  }

  /** Leaves the relay and the calls that wait to the next gateway. */
  leave(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#onClose();
    this.#relay?.destroy();
    this.#relay = undefined;
  }

  disconnected(socket: Socket): void {
    if (this.#relay !== socket) return;
    this.#relay = undefined;
    this.#connected = Promise.withResolvers();
  }

  /** Answers what still waits with an error, and forgets the session. */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    for (const callId of this.#waiting.keys()) this.#answer(callId, textParts("The client has ended this."), true);
    this.#relay?.end();
    this.#onClose();
  }

  #tellTools(): void {
    this.#tell({ type: "tools", tools: specsOf(this.#offered) });
  }

  #take(call: RelayedCall): void {
    this.isUsed = true;
    this.#waiting.set(call.callId, call);
    const tool = this.#offered.find(({ name }) => name === call.name);
    const misfit = this.#refused < mostRefused ? tool?.check?.(call.arguments) : undefined;
    const problem = tool === undefined ? `The tool "${call.name}" may not be called now.` : misfit;
    this.#refused = problem === undefined ? 0 : this.#refused + 1;
    if (problem !== undefined) this.#answer(call.callId, textParts(problem), true);
  }

  #answer(callId: string, content: ToolResult["content"], isError: boolean): void {
    const waits = this.#waiting.delete(callId);
    if (!waits && this.#relay !== undefined) return; // a relay that is not back yet may still have the call
    const answer: ToRelay = { type: "answer", callId, content, isError };
    this.#answers.set(callId, answer);
    this.#tell(answer);
  }

  #tell(message: ToRelay): void {
    this.#relay?.write(`${writeJson(message)}\n`);
  }
}

function specsOf(tools: readonly ToolSpec[]): KeptTools["offered"] {
  return tools.map(({ name, description, inputSchema }) => ({ name, description, inputSchema }));
}

function spell(tools: readonly ToolSpec[]): string {
  return writeJson(specsOf(tools));
}

function textParts(text: string): ToolResult["content"] {
  return [{ type: "text", text }];
}

/** The name of our server towards the agent, which is a part of the names of its tools there. */
export const serverName = "millrace";

/** Kinds of tools that act on the machine. A step of such a kind is never a call of the client's tools, also if its title is the name of one. */
const acting: ReadonlySet<unknown> = new Set(["edit", "delete", "move", "execute", "read", "search", "fetch"]);

export function isActing(kind: unknown): boolean {
  return acting.has(kind);
}

/** A step as an agent reports it: `title`, `name`, `kind` and `rawInput` of a `tool_call`. */
interface ToolStep {
  readonly title: string;
  readonly name: unknown;
  readonly kind: unknown;
  readonly input: unknown;
}

/**
 * Whether an agent's tool step is a call of one of the client's tools: by its name, or else by its title. The whole title has to be a
 * name that agents give such a tool, because it may be words of the model (a command line). Source: docs/wire/acp-tools.md, "Names".
 */
export function isOwnTool({ title, name, kind, input }: ToolStep, tools: readonly string[]): boolean {
  const shown = title.trim();
  return tools.some((tool) => {
    const names = forms(tool);
    if (typeof name === "string" && names.includes(name)) return true;
    if (acting.has(kind)) return shown === `mcp.${serverName}.${tool}` && isServerCall(input, tool);
    return names.includes(shown);
  });
}

/** Codex reports every call of a server as `execute`, with an input of its own making. A tool that acts needs other members than these. */
function isServerCall(input: unknown, tool: string): boolean {
  if (!isObject(input) || input["server"] !== serverName || input["tool"] !== tool) return false;
  return Object.keys(input).every((key) => ["server", "tool", "arguments"].includes(key));
}

function forms(tool: string): readonly string[] {
  return [
    `${serverName}_${tool}`,
    `mcp__${serverName}__${tool}`,
    `mcp_${serverName}_${tool}`,
    `${serverName}__${tool}`,
    `${serverName}/${tool}`,
    `${serverName}.${tool}`,
    `Tool: ${serverName}/${tool}`,
    `${tool} (${serverName} MCP Server)`,
  ];
}

/* What the relay and the gateway say to each other: one JSON object a line, over a door of `RelayHub`. */

/** A call of the agent. The relay gives the id: it is the same on every connection, and the client sees it. */
export interface RelayedCall {
  readonly callId: string;
  readonly name: string;
  readonly arguments: Readonly<Record<string, unknown>>;
}

/** `hello` is the first line of a connection and names every call that waits; `dropped`: the agent no longer waits for that call. */
export type FromRelay =
  | {
      readonly type: "hello";
      readonly secret: string;
      readonly listed: boolean;
      readonly calls: readonly RelayedCall[];
    }
  | { readonly type: "listed" }
  | { readonly type: "call"; readonly call: RelayedCall }
  | { readonly type: "dropped"; readonly callId: string };

/** An answer to a call that does not wait is ignored, so it may be given twice. */
export type ToRelay =
  | { readonly type: "tools"; readonly tools: readonly Omit<ToolSpec, "check">[] }
  | {
      readonly type: "answer";
      readonly callId: string;
      readonly content: ToolResult["content"];
      readonly isError: boolean;
    };

/**
 * How a client's tools reach an agent. `auto`: as its own, unless this version did not take them before; `native`: every new conversation
 * tries that again; `prose`: never. An agent that does not ask for them gets prose in any case.
 */
export const toolWays = ["auto", "native", "prose"] as const;
export type ToolWay = (typeof toolWays)[number];

/**
 * Which versions of an agent take the tools of a session, as it was seen here. In a file, because to find out costs a session and a
 * wait. What was never seen is tried.
 */
export class NativeKnowledge {
  readonly #file: string;
  readonly #way: ToolWay;
  /** Versions that did not ask for the tools in time: a slow start looks the same, so the next gateway tries again. */
  readonly #unlisted = new Set<string>();
  /** Versions that did not list tools again that had changed. */
  readonly #unchanged = new Set<string>();
  #seen: ReadonlyMap<string, boolean> | undefined;

  constructor(folder: string, way: ToolWay) {
    this.#file = join(folder, "native-tools.json");
    this.#way = way;
  }

  /** Whether to offer tools to this version. */
  mayOffer(version: string): boolean {
    if (this.#way !== "auto") return this.#way === "native";
    return this.#known().get(version) !== false && !this.#unlisted.has(version);
  }

  /** Whether to change the tools of a session of this version. */
  mayChange(version: string): boolean {
    return !this.#unchanged.has(version);
  }

  /** It did not list tools again that had changed. */
  noteUnchanged(version: string): void {
    this.#unchanged.add(version);
  }

  /** It did not ask for the tools of a session. */
  noteUnlisted(version: string): void {
    this.#unlisted.add(version);
  }

  /** Whether this version takes tools, for later gateways too. */
  async note(version: string, takesTools: boolean): Promise<void> {
    if (this.#known().get(version) === takesTools) return;
    this.#seen = new Map([...this.#known(), [version, takesTools]]);
    await replaceFile(this.#file, `${writeJson(Object.fromEntries(this.#seen))}\n`, { mode: 0o600 });
  }

  #known(): ReadonlyMap<string, boolean> {
    this.#seen ??= new Map(Object.entries(readObject(this.#file)).map(([version, takes]) => [version, takes === true]));
    return this.#seen;
  }
}

function readObject(file: string): object {
  try {
    const value: unknown = parseJson(readFileSync(file, "utf8"));
    return typeof value === "object" && value !== null ? value : {};
  } catch {
    return {}; // none yet, or one that a later release wrote
  }
}
