import { writeJson } from "../../../base/json.ts";
import type { ToolResult, ToolSpec } from "../../backend.ts";
import { isOwnTool } from "../known/tool-names.ts";
import type { KeptTools } from "../process/kept-process.ts";
import type { RelayDoor } from "../relay/relay-hub.ts";
import type { FromRelay, RelayedCall, ToRelay } from "../relay/relay-wire.ts";

/**
 * A call of one of the client's tools, from the agent's call to the end of the turn that brought its result. `fresh`: no turn has handed
 * it to the client. `given`: the client has it, and the agent waits. `lost`: the client has it, and the agent does not wait, or has
 * not said so yet to this gateway. `answered`: `answer` went to the relay, which gets it again after a lost connection.
 */
interface ParkedCall {
  state: "fresh" | "given" | "lost" | "answered";
  /** The end of the turn that handed it to the client is stored, and no turn with its result has ended since. */
  isStored: boolean;
  /** As the relay told it; undefined before the relay has told it to this gateway. */
  call: RelayedCall | undefined;
  answer: (ToRelay & { readonly type: "answer" }) | undefined;
}

/** How many calls in a row are refused for their arguments; the next one is the client's to judge. */
const mostRefused = 5;

/** The client's tools in one session of an agent: what is offered, and the calls that wait. Nothing else keeps calls. */
export class SessionTools {
  readonly #door: RelayDoor;
  readonly #calls = new Map<string, ParkedCall>();
  #listed = Promise.withResolvers<void>();
  #offered: readonly ToolSpec[] = [];
  /** What is offered, as JSON: large, and compared and noted often. */
  #spelled: string;
  #connected = Promise.withResolvers<void>();
  /** How many calls in a row did not fit their tool. */
  #refused = 0;
  /** Where the agent's lines stood when the client was given calls; undefined once the end of that turn is stored. */
  #givenAt: number | undefined;
  /** Called when a call came, or one that waited is gone. */
  onChange: () => void = () => {};
  /** Whether the agent has called one of these tools, under any title, or may have while an earlier gateway had it. */
  isUsed: boolean;
  /** Whether the agent makes the calls of one answer at once; false once it was seen to make them one by one. */
  isTogether = true;

  /** `kept`: as an earlier gateway left them; the relay tells again which calls wait. */
  constructor(door: RelayDoor, kept?: KeptTools) {
    this.#door = door;
    this.isUsed = kept !== undefined;
    this.#offered = kept?.offered ?? [];
    this.#spelled = spell(this.#offered);
    for (const callId of kept?.given ?? [])
      this.#calls.set(callId, { state: "lost", isStored: true, call: undefined, answer: undefined });
    door.onMessage = (message) => this.#receive(message);
    door.onLost = () => {
      this.#connected = Promise.withResolvers();
    };
  }

  /** Resolves once the relay is there and has told which calls wait. */
  get connection(): Promise<void> {
    return this.#connected.promise;
  }

  /** For a later gateway: how the relay finds it, and the calls that the client has. */
  get kept(): Omit<KeptTools, "offered"> {
    const stored = [...this.#calls].filter(([, { isStored }]) => isStored);
    return { ...this.#door.address, given: stored.map(([callId]) => callId) };
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
    return [...this.#calls.values()].flatMap(({ state, call }) => (state === "fresh" && call ? [call] : []));
  }

  /** The ids of the calls that the client has and that the agent still waits for. */
  get given(): readonly string[] {
    return this.#in("given");
  }

  /** Whether the agent waits for results, or its relay is not back to tell. */
  get mayWait(): boolean {
    return this.fresh.length + this.given.length > 0 || !this.#door.isConnected;
  }

  /** How many of the calls that the client has are gone: the agent did not wait for their results. */
  get lost(): number {
    return this.#in("lost").length;
  }

  /** Whether a tool step that the agent reports is a call of one of these tools. */
  owns(step: Parameters<typeof isOwnTool>[0]): boolean {
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

  /** Hands the client these calls, which the turn ends with. `at`: where the agent's lines stand. */
  give(calls: readonly RelayedCall[], at: number | undefined): void {
    this.#forgetLost();
    this.#givenAt = at;
    for (const { callId } of calls) {
      const parked = this.#calls.get(callId);
      if (parked !== undefined) parked.state = "given";
    }
  }

  /** The end of the turn is stored: a later gateway goes on from here. Returns the `at` of `give`, where the turn gave calls. */
  settle(): number | undefined {
    for (const [callId, parked] of this.#calls) {
      if (parked.state === "answered") this.#calls.delete(callId);
      parked.isStored = parked.state === "given";
    }
    const at = this.#givenAt;
    this.#givenAt = undefined;
    return at;
  }

  /** Answers calls. An answer to a call that does not wait is ignored; before the relay is there it is kept. */
  answer(results: readonly ToolResult[]): void {
    for (const { callId, content, isError } of results) this.#answer(callId, content, isError);
    this.#forgetLost();
  }

  /** Leaves the relay and the calls that wait to the next gateway. */
  leave(): void {
    this.#door.leave();
  }

  /** Answers what still waits with an error, and forgets the session. */
  close(): void {
    if (this.#door.isClosed) return;
    for (const [callId, { state }] of this.#calls)
      if (state === "fresh" || state === "given") this.#answer(callId, textParts("The client has ended this."), true);
    this.#door.close();
  }

  #in(state: ParkedCall["state"]): readonly string[] {
    return [...this.#calls].flatMap(([callId, parked]) => (parked.state === state ? [callId] : []));
  }

  #forgetLost(): void {
    for (const callId of this.#in("lost")) this.#calls.delete(callId);
  }

  #receive(message: FromRelay): void {
    if (message.type === "hello") this.#hello(message);
    else if (message.type === "listed") this.#listed.resolve();
    else if (message.type === "call") this.#take(message.call);
    else this.#drop(message.callId);
    this.onChange();
  }

  #hello({ listed, calls }: FromRelay & { readonly type: "hello" }): void {
    if (listed) this.#listed.resolve();
    this.#tellTools();
    for (const call of calls) {
      const { state, answer } = this.#calls.get(call.callId) ?? {};
      if (answer !== undefined) this.#door.tell(answer);
      else if (state === undefined || state === "lost") this.#take(call);
    }
    this.#connected.resolve();
  }

  #tellTools(): void {
    this.#door.tell({ type: "tools", tools: specsOf(this.#offered) });
  }

  #take(call: RelayedCall): void {
    this.isUsed = true;
    const { isStored = false, state } = this.#calls.get(call.callId) ?? {};
    this.#calls.set(call.callId, { state: state === "lost" ? "given" : "fresh", isStored, call, answer: undefined });
    const tool = this.#offered.find(({ name }) => name === call.name);
    const misfit = this.#refused < mostRefused ? tool?.check?.(call.arguments) : undefined;
    const problem = tool === undefined ? `The tool "${call.name}" may not be called now.` : misfit;
    this.#refused = problem === undefined ? 0 : this.#refused + 1;
    if (problem !== undefined) this.#answer(call.callId, textParts(problem), true);
  }

  #drop(callId: string): void {
    const parked = this.#calls.get(callId);
    if (parked?.state === "fresh") this.#calls.delete(callId);
    else if (parked?.state === "given") parked.state = "lost";
  }

  #answer(callId: string, content: ToolResult["content"], isError: boolean): void {
    const parked = this.#calls.get(callId);
    const isWaiting = parked?.state === "fresh" || parked?.state === "given";
    if (!isWaiting && this.#door.isConnected) return; // a relay that is not back yet may still have the call
    const answer = { type: "answer", callId, content, isError } as const;
    this.#calls.set(callId, { state: "answered", isStored: parked?.isStored === true, call: parked?.call, answer });
    this.#door.tell(answer);
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
