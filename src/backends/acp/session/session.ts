import { bestEffort, deadline, orAborted, timeLimit, within } from "../../../base/async.ts";
import type { Clock } from "../../../base/clock.ts";
import { isObject, type JsonObject } from "../../../base/json.ts";
import type { ToolResult, ToolSpec } from "../../backend.ts";
import type { AcpStyle } from "../known/agent-spec.ts";
import type { OwnSettings } from "../known/own-settings.ts";
import { isUnknownSession, turnFailure } from "../process/errors.ts";
import type { KeptProcess } from "../process/kept-process.ts";
import type { SessionReader } from "../process/session-router.ts";
import type { RelayedCall } from "../relay/relay-wire.ts";
import type { Abilities } from "../wire/abilities.ts";
import type { AgentChild } from "../wire/agent-child.ts";
import { type PipePeer, ProcessLoss, type Reply } from "../wire/rpc-peer.ts";
import { readSessionOptions, type SessionOffer } from "../wire/session-offer.ts";
import type { NativeKnowledge } from "./native-knowledge.ts";
import { answered, type PromptEnd, RunningPrompt } from "./running-prompt.ts";
import type { SessionTools } from "./session-tools.ts";
import {
  fresh,
  newState,
  nextStep,
  noteOf,
  type SessionEffect,
  type SessionInput,
  type SessionState,
  step,
} from "./states.ts";
import { isWork } from "./updates.ts";

const optionMs = 15_000;
const cancelMs = 2_000;
const discardMs = 5_000;

/** What a session needs of the process that has it open. */
export interface SessionProcess {
  readonly child: AgentChild;
  readonly peer: Pick<PipePeer, "ask" | "expect" | "nextId" | "notify" | "request">;
  readonly abilities: Abilities;
  /** The settings that it was started with. */
  readonly own: OwnSettings;
  readonly style: AcpStyle;
  readonly knowledge: NativeKnowledge;
  readonly clock: Clock;
  /** It has to make room for a new process once nothing runs in it. */
  isStale: boolean;
  /** Leaves a note of where it stands for the next gateway. */
  note(): void;
  /** A session is gone. */
  forget(session: Session): void;
  /** A prompt has ended. */
  onIdle(): void;
}

/** A session of an agent: its state, and the only code that acts on it. Every other part asks `state`. */
export class Session implements SessionReader {
  readonly process: SessionProcess;
  /** The client's tools, where the agent has them as its own. */
  readonly tools: SessionTools | undefined;
  id = "";
  options: SessionOffer = readSessionOptions({});
  /** The number of user messages in it, which is the place of the next one. */
  userMessages = 0;
  /** The instructions that this process last gave the session, as `rulesOf` names them. */
  rules: string | undefined;
  /** The number of its own folder, where it has one. */
  folder: number | undefined;
  /** The last prompt that this process sent in it, running or not. An agent may write more of its answer after its end. */
  prompt: RunningPrompt | undefined;
  /** When its last turn gave it back, by the monotonic clock. */
  restedMs = 0;
  #state: SessionState;
  #deleted: Promise<unknown> | undefined;

  constructor(process: SessionProcess, tools?: SessionTools) {
    this.process = process;
    this.tools = tools;
    this.#state = newState(tools !== undefined);
    tools?.listen({
      onCalls: (calls) => this.#takeCalls(calls),
      onDropped: (callId) => this.step({ type: "call_dropped", callId }),
      onLost: () => this.step({ type: "relay_lost" }),
    });
  }

  /** A session that the gateway before left, as its note says. Its prompt, where one runs, is read from here on. */
  static adopt(
    process: SessionProcess,
    { id, userMessages, told, prompt: request, folder, tools: kept, idle }: KeptProcess["sessions"][number],
    { tools, lost }: { readonly tools: SessionTools | undefined; readonly lost: SessionState["lost"] },
  ): Session {
    const session = new Session(process, tools);
    Object.assign(session, { id, userMessages, rules: told, folder });
    const how: SessionInput =
      idle === true ? { type: "opened" } : { type: "adopted", request, given: kept?.given ?? [] };
    session.#state = step(session.#state, how).state;
    if (lost !== undefined) session.#state = step(session.#state, { type: "lines_lost", why: lost }).state;
    else if (request !== undefined) process.peer.expect(request.id, session.#expect());
    return session;
  }

  get state(): SessionState {
    return this.#state;
  }

  /** Whether the agent works on a prompt in it. */
  get works(): boolean {
    return this.#state.prompt === "works";
  }

  /** Gives the machine an input and performs the effects. Answers whether the input meant something here. */
  step(input: SessionInput): boolean {
    const { state, effects } = step(this.#state, input);
    this.#state = state;
    for (const effect of effects) this.#perform(effect);
    return effects[0]?.type !== "refuse";
  }

  #perform(effect: SessionEffect): void {
    switch (effect.type) {
      case "tell":
        this.tools?.tell(effect.answer);
        return;
      case "wake":
        this.prompt?.news.wake();
        return;
      case "delete":
      case "close":
        this.#deleted = effect.type === "delete" ? this.#delete() : this.#request("session/close", inTime());
        this.#deleted.catch(() => {}); // `end` throws it
        return;
      case "note":
        this.process.note();
        return;
      case "forget":
        this.tools?.close();
        this.process.forget(this);
        return;
      case "read":
      case "refuse":
        return;
      default:
        effect satisfies never;
    }
  }

  /** It is opened. */
  open(id: string, options: SessionOffer): void {
    this.id = id;
    this.options = options;
    this.step({ type: "opened" });
  }

  /** A turn has it from now on. False: it cannot be had. `results`: of the calls that the turn brings results for. */
  take(results?: readonly string[]): boolean {
    const { givenAt, request } = this.#state;
    const isTaken = this.step({ type: "taken", results, at: this.process.child.host?.read });
    if (isTaken && givenAt === undefined && request !== undefined && this.#state.request !== request) {
      this.prompt?.skip(); // all of it belongs to the turn before
      this.prompt?.begin();
    }
    return isTaken;
  }

  /** A turn takes it, unless it is busy. Answers what the turn does here. */
  goOn(asked: Parameters<typeof nextStep>[0]): ReturnType<typeof nextStep> | "busy" {
    return this.take(asked.results) ? nextStep(asked, this.#state) : "busy";
  }

  /** The agent has these tools from now on. False: its prompt waits, and it does not list other tools again. */
  async offer(offered: readonly ToolSpec[], signal: AbortSignal): Promise<boolean> {
    const { tools, works, process } = this;
    const { knowledge, abilities, clock } = process;
    const isTold = works && tools?.differFrom(offered) === true;
    if (isTold && !knowledge.mayChange(abilities.program)) return false;
    tools?.offer(offered);
    if (!isTold || (await orAborted(tools.areListed(clock), signal))) return true;
    knowledge.noteUnchanged(abilities.program);
    return false;
  }

  /** Gives it back for the next turn. */
  release(): void {
    this.restedMs = this.process.clock.monotonic();
    this.step({ type: "released" });
  }

  /** Sends the one prompt of a turn. */
  send(blocks: readonly object[]): RunningPrompt {
    const { peer, child } = this.process;
    const onReply = this.#expect();
    this.userMessages++;
    this.step({ type: "prompted", request: { id: peer.nextId, from: child.host?.read ?? 0 } });
    peer.ask("session/prompt", { sessionId: this.id, prompt: blocks }, onReply);
    return onReply.prompt;
  }

  /** A prompt that runs from now on, and how its reply ends it. */
  #expect(): ((reply: Reply) => void) & { readonly prompt: RunningPrompt } {
    const prompt = new RunningPrompt(this.tools);
    this.prompt = prompt;
    const onReply = (reply: Reply) => {
      if (this.prompt === prompt) this.step({ type: "ended" });
      prompt.finish(endOf(reply));
      this.process.onIdle();
    };
    return Object.assign(onReply, { prompt });
  }

  /** Hands the client these calls, which its turn ends with. */
  give(calls: readonly RelayedCall[]): void {
    const callIds = calls.map(({ callId }) => callId);
    this.step({ type: "given", callIds, at: this.process.child.host?.read });
    this.prompt?.begin();
  }

  /** Brings the results of calls. */
  answer(results: readonly ToolResult[]): void {
    const answers = results.map(
      ({ callId, content, isError }) => ({ type: "answer", callId, content, isError }) as const,
    );
    this.step({ type: "results", answers });
  }

  cancel(): void {
    this.process.peer.notify("session/cancel", { sessionId: this.id });
  }

  /** Stops the agent where it still works on the prompt; the session stays. */
  async stop(): Promise<void> {
    const { prompt } = this;
    if (!this.works || prompt === undefined) return;
    this.cancel();
    if ((await within(prompt.ended, cancelMs, this.process.clock)) === undefined)
      this.giveUp({ type: "silent", inLine: false });
  }

  /** Gives up a prompt that the agent does not end: the process ends once no other turn runs in it. */
  giveUp(end: PromptEnd): void {
    this.process.isStale = true;
    this.prompt?.finish(end);
    this.step({ type: "ended" });
  }

  /**
   * Stops the agent where it works in it, and deletes or closes the session as the agent allows. Throws where that failed, and where the
   * input is refused: the session is still there.
   */
  async end(input: SessionInput & { readonly type: "discarded" | "expired" | "superseded" | "memory" }): Promise<void> {
    if (!this.step(input)) throw turnFailure(`The session is ${this.#state.place}, so it could not be deleted.`);
    await this.#deleted;
  }

  /** Ends it, where no turn has it. */
  async expire(): Promise<void> {
    await bestEffort(this.end({ type: "expired" }));
  }

  async #delete(): Promise<void> {
    await this.stop();
    const { canDelete, canClose } = this.process.abilities;
    try {
      if (canDelete) await this.#request("session/delete", inTime());
      else if (canClose) await this.#request("session/close", inTime());
    } catch (error) {
      if (!isUnknownSession(error)) throw error; // it was never stored, or is deleted already
    } finally {
      this.step({ type: "closed" });
    }
  }

  /** Resolves with the offer of the reply, where it holds one. */
  async setOption(configId: string, value: string, signal: AbortSignal): Promise<SessionOffer> {
    return readSessionOptions(
      await this.#request("session/set_config_option", deadline(signal, optionMs), { configId, value }),
    );
  }

  /** Its mode, its model (where no option has that) or its title. */
  async set(what: { readonly [Name in "modeId" | "modelId" | "title"]?: string }, signal: AbortSignal): Promise<void> {
    const method = what.modeId !== undefined ? "mode" : what.modelId !== undefined ? "model" : "title";
    await this.#request(`session/set_${method}`, deadline(signal, optionMs), what);
  }

  async #request(method: string, signal: AbortSignal, params: object = {}): Promise<unknown> {
    return await this.process.peer.request(method, { sessionId: this.id, ...params }, signal);
  }

  update(update: JsonObject): void {
    if (!this.#reads()) return;
    if (isWork(update)) this.step({ type: "accepted" });
    this.prompt?.update(update);
  }

  vendor(method: string, params: JsonObject): void {
    if (this.#reads()) this.prompt?.vendor(method, params);
  }

  permission(toolCall: JsonObject): boolean {
    if (!this.works) return false;
    this.step({ type: "accepted" });
    return this.prompt?.permission(toolCall) === true;
  }

  ask(question: string): void {
    if (!this.works) return;
    this.step({ type: "accepted" });
    this.prompt?.ask(question);
  }

  /** Whether a message belongs to the last prompt: not one that is read again and is older. */
  #reads(): boolean {
    const { effects } = step(this.#state, { type: "update", line: this.process.child.host?.read });
    return effects.some(({ type }) => type === "read");
  }

  /** Calls that the relay tells: at its beginning every one that waits, later each new one. */
  #takeCalls(calls: readonly RelayedCall[]): void {
    this.step({ type: "relay_back", callIds: calls.map(({ callId }) => callId) });
    for (const call of calls) {
      const known = this.#state.calls.find(({ callId }) => callId === call.callId);
      if (known?.call !== undefined || known?.answer !== undefined) continue;
      this.step({ type: "call", call, problem: known === undefined ? this.tools?.problemOf(call) : undefined });
    }
  }

  /** The calls that the client does not have yet. */
  get fresh(): readonly RelayedCall[] {
    return fresh(this.#state);
  }

  /** For the next gateway, but for what is offered. */
  get note() {
    const { id, userMessages, rules: told, folder, tools } = this;
    const { request: prompt, given } = noteOf(this.#state);
    const idle = this.#state.place === "idle" || this.#state.place === "ending"; // the next gateway deletes it
    return { id, userMessages, told, prompt, folder, idle, tools: tools && { ...tools.address, given } };
  }
}

const inTime = () => timeLimit(discardMs);

function endOf(reply: Reply): PromptEnd {
  if (!("error" in reply)) return answered(isObject(reply.result) ? reply.result : {});
  const { error } = reply;
  return error instanceof ProcessLoss ? { type: "died", how: error.message } : { type: "refused", error };
}
