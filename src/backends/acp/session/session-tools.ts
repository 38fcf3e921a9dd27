import { within } from "../../../base/async.ts";
import type { Clock } from "../../../base/clock.ts";
import { writeJson } from "../../../base/json.ts";
import type { ToolSpec } from "../../backend.ts";
import { isOwnTool, type ToolStep } from "../known/tool-names.ts";
import type { KeptTools } from "../process/kept-process.ts";
import type { RelayDoor } from "../relay/relay-hub.ts";
import type { RelayAddress, RelayedCall, ToRelay } from "../relay/relay-wire.ts";

/** How many calls in a row are refused for their arguments; the next one is the client's to judge. */
const mostRefused = 5;
/** How long an agent may take to ask for the tools of a new session, and for changed ones; ms. */
const listMs = 3_000;

/** The client's tools in one session of an agent: what is offered, over its relay. The calls are in the session's state. */
export class SessionTools {
  readonly #door: RelayDoor;
  /** The name of our server towards the agent. */
  readonly #server: string;
  #listed = Promise.withResolvers<void>();
  #offered: readonly ToolSpec[];
  /** What is offered, as JSON: large, and compared and noted often. */
  #spelled: string;
  #connected = Promise.withResolvers<void>();
  /** How many calls in a row did not fit their tool. */
  #refused = 0;
  /** Whether the agent has called one of these tools, under any title, or may have while an earlier gateway had it. */
  isUsed: boolean;
  /** Whether the agent makes the calls of one answer at once; false once it was seen to make them one by one. */
  isTogether = true;

  /** `kept`: the tools of a session that an earlier gateway left. */
  constructor(door: RelayDoor, server: string, kept?: KeptTools["offered"]) {
    this.#door = door;
    this.#server = server;
    this.isUsed = kept !== undefined;
    this.#offered = kept ?? [];
    this.#spelled = spell(this.#offered);
  }

  /** `onCalls`: at the beginning of each connection every call that waits, later each new one. */
  listen({
    onCalls,
    onDropped,
    onLost,
  }: {
    readonly onCalls: (calls: readonly RelayedCall[]) => void;
    readonly onDropped: (callId: string) => void;
    readonly onLost: () => void;
  }): void {
    this.#door.onMessage = (message) => {
      if (message.type === "listed" || (message.type === "hello" && message.listed)) this.#listed.resolve();
      if (message.type === "call") onCalls([message.call]);
      if (message.type === "dropped") onDropped(message.callId);
      if (message.type !== "hello") return;
      this.#tellTools();
      onCalls(message.calls);
      this.#connected.resolve();
    };
    this.#door.onLost = () => {
      this.#connected = Promise.withResolvers();
      onLost();
    };
  }

  /** Resolves once the relay is there and has told which calls wait. */
  get connection(): Promise<void> {
    return this.#connected.promise;
  }

  /** For a later gateway: how the relay finds it. */
  get address(): RelayAddress {
    return this.#door.address;
  }

  /** For a later gateway: `offered` of `KeptTools`, as JSON. The same string as long as the same tools are offered. */
  get offered(): string {
    return this.#spelled;
  }

  /** Whether the agent asks in time for the tools that are offered now. */
  async areListed(clock: Clock): Promise<boolean> {
    const listed = this.#listed.promise.then(() => true);
    return (await within(listed, listMs, clock)) === true;
  }

  /** Whether a tool step that the agent reports is a call of one of these tools. */
  owns(step: ToolStep): boolean {
    return isOwnTool(step, { server: this.#server, tools: this.#offered.map(({ name }) => name) });
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

  /** Why a new call is refused, in words for the model; undefined where the client gets it. */
  problemOf(call: RelayedCall): string | undefined {
    this.isUsed = true;
    const tool = this.#offered.find(({ name }) => name === call.name);
    const misfit = this.#refused < mostRefused ? tool?.check?.(call.arguments) : undefined;
    const problem = tool === undefined ? `The tool "${call.name}" may not be called now.` : misfit;
    this.#refused = problem === undefined ? 0 : this.#refused + 1;
    return problem;
  }

  tell(message: ToRelay): void {
    this.#door.tell(message);
  }

  close(): void {
    this.#door.close();
  }

  #tellTools(): void {
    this.#door.tell({ type: "tools", tools: specsOf(this.#offered) });
  }
}

function specsOf(tools: readonly ToolSpec[]): KeptTools["offered"] {
  return tools.map(({ name, description, inputSchema }) => ({ name, description, inputSchema }));
}

function spell(tools: readonly ToolSpec[]): string {
  return writeJson(specsOf(tools));
}
