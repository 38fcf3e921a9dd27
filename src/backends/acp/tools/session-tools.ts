import type { Socket } from "node:net";
import type { ToolResult, ToolSpec } from "../../backend.ts";
import { isOwnTool } from "./own-tool.ts";
import type { FromRelay, RelayedCall, ToRelay } from "./relay-protocol.ts";

/** What a later gateway needs to go on with the tools of a session. */
export interface KeptTools {
  readonly secret: string;
  readonly offered: readonly Pick<ToolSpec, "name" | "description" | "inputSchema">[];
  /** The calls that a client has from a turn that ended. */
  readonly given: readonly string[];
}

/** How many calls in a row are refused for their arguments; the next one is the client's to judge. */
const mostRefused = 5;

/** The client's tools in one session of an agent: what is offered, which calls wait, and which of them the client has. */
export class SessionTools {
  readonly #secret: string;
  readonly #onClose: () => void;
  readonly #waiting = new Map<string, RelayedCall>();
  readonly #listed = Promise.withResolvers<void>();
  /** The answers to the calls that the client was given last: a relay that lost its connection gets them again. */
  readonly #answers = new Map<string, ToRelay>();
  #offered: readonly ToolSpec[] = [];
  #relay: Socket | undefined;
  readonly #connected = Promise.withResolvers<void>();
  /** The ids of the calls that the client was given and has not answered yet. */
  #given: readonly string[] = [];
  #isClosed = false;
  /** How many calls in a row did not fit their tool. */
  #refused = 0;
  /** Called when a call came, or one that waited is gone. */
  onChange: () => void = () => {};
  /** Whether the agent makes the calls of one answer at once; false once it was seen to make them one by one. */
  isTogether = true;

  /** `kept`: as an earlier gateway left them; the relay tells again which calls wait. */
  constructor(secret: string, onClose: () => void, kept?: KeptTools) {
    this.#secret = secret;
    this.#onClose = onClose;
    this.#offered = kept?.offered ?? [];
    this.#given = kept?.given ?? [];
  }

  /** Resolves once the relay has told which calls wait. */
  get connection(): Promise<void> {
    return this.#connected.promise;
  }

  /** For a later gateway, with the calls that the client has from a turn that ended. */
  kept(given: readonly string[]): KeptTools {
    const offered = this.#offered.map(({ name, description, inputSchema }) => ({ name, description, inputSchema }));
    return { secret: this.#secret, offered, given };
  }

  /** Resolves once the agent has asked for the tools. Never rejects. */
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
  owns(step: { readonly title: string; readonly kind: unknown }): boolean {
    return isOwnTool(
      step,
      this.#offered.map(({ name }) => name),
    );
  }

  /** Offers these tools from now on; a call of another one is answered with an error. */
  offer(tools: readonly ToolSpec[]): void {
    this.#offered = tools;
    this.#tell({
      type: "tools",
      tools: tools.map(({ name, description, inputSchema }) => ({ name, description, inputSchema })),
    });
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

  connected(socket: Socket, { listed, calls }: FromRelay & { readonly type: "hello" }): void {
    this.#relay = socket;
    if (listed) this.#listed.resolve();
    this.offer(this.#offered);
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
    this.#isClosed = true;
    this.#relay?.destroy();
    this.#relay = undefined;
  }

  disconnected(socket: Socket): void {
    if (this.#relay === socket) this.#relay = undefined;
  }

  /** Answers what still waits with an error, and forgets the session. */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    for (const callId of this.#waiting.keys()) this.#answer(callId, textParts("The client has ended this."), true);
    this.#relay?.end();
    this.#onClose();
  }

  #take(call: RelayedCall): void {
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
    this.#relay?.write(`${JSON.stringify(message)}\n`);
  }
}

function textParts(text: string): ToolResult["content"] {
  return [{ type: "text", text }];
}
