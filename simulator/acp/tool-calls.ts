import { writeFileSync } from "node:fs";
import { orAborted } from "../../src/base/async.ts";
import { toolStep } from "../model/engine.ts";
import { internalError, JsonRpcError } from "./json-rpc.ts";
import type { PromptCall } from "./prompt.ts";

/** A call of the model to a tool of the session's servers. */
interface ServerCall {
  readonly name: string;
  readonly args: unknown;
}

/** How often the agent tries a write again after a rejection. */
const mostTries = 6;

/** The tool calls of one turn, as the client sees them. No tool really runs, but for the writes of an agent that acts. */
export class ToolCalls {
  readonly #call: PromptCall;
  /** How long a tool takes; rejects when the turn is cancelled. */
  readonly #step: () => Promise<void>;
  count = 0;

  constructor(call: PromptCall) {
    this.#call = call;
    this.#step = () => toolStep(call.terms.turn, call.services.clock, call.signal);
  }

  async read(): Promise<void> {
    const call = this.#newCall("List the working folder", "read", { path: this.#call.session.cwd });
    await this.#step();
    this.#end(call, "completed", "The folder is empty.");
  }

  /** A write, tried again after each rejection until the agent gives up. */
  async write(nth: number): Promise<void> {
    const { session, terms } = this.#call;
    const { acts } = terms.options;
    const path = `${session.cwd}/millrace-${nth + 1}.txt`;
    for (let tries = 0; ; tries++) {
      const call = this.#newCall(`Write ${path}`, "edit", { path, content: "hello" });
      const refused = acts ? undefined : await this.#refusal(call);
      if (refused === undefined) {
        if (acts) writeFileSync(path, "hello");
        else await this.#step();
        return this.#end(call, "completed", "Written.");
      }
      this.#end(call, "failed", refused);
      if (refused === notInMode || tries >= mostTries) return;
    }
  }

  /** Calls of the session's servers, as one answer of the model has them. */
  async callServers(calls: readonly ServerCall[]): Promise<{ readonly name: string; readonly text: string }[]> {
    const { session, terms, signal } = this.#call;
    const { mcpPermission, mcpCalls } = terms.options;
    const begun = calls.map(({ name, args }) => {
      const client = session.mcp.find(({ tools }) => tools.some((tool) => tool.name === name));
      return { name, args, client, id: this.#newCall(`${client?.name ?? "mcp"}_${name}`, "other", args as object) };
    });
    const one = async ({ name, args, client, id }: (typeof begun)[number]) => {
      const isAllowed = !mcpPermission || (await this.#permission(id)).startsWith("allow");
      try {
        if (!isAllowed || client === undefined) throw new Error("The call was not made.");
        this.#update({ sessionUpdate: "tool_call_update", toolCallId: id, status: "in_progress" });
        const text = await client.call(name, args, signal);
        this.#end(id, "completed", text);
        return { name, text };
      } catch (error) {
        signal.throwIfAborted();
        const text = error instanceof Error ? error.message : String(error);
        this.#end(id, "failed", text);
        return { name, text };
      }
    };
    if (mcpCalls === "together") return await Promise.all(begun.map(one));
    const results: { readonly name: string; readonly text: string }[] = [];
    for (const call of begun) results.push(await one(call));
    return results;
  }

  /** Why a write is not made; undefined when it may be. */
  async #refusal(toolCallId: string): Promise<string | undefined> {
    const { mode } = this.#call.session;
    if (mode === "ask" || mode === "plan") return notInMode;
    if (mode === "bypass") return undefined;
    const outcome = await this.#permission(toolCallId);
    this.#call.signal.throwIfAborted();
    return outcome.startsWith("allow") || outcome === "switch_bypass" ? undefined : "The user rejected this tool call.";
  }

  async #permission(toolCallId: string): Promise<string> {
    const { session, services } = this.#call;
    const outcome = await this.#outcome(toolCallId);
    await services.desk.note("permissions", { sessionId: session.sessionId, outcome });
    return outcome;
  }

  async #outcome(toolCallId: string): Promise<string> {
    const { signal } = this.#call;
    try {
      const asked = this.#ask("session/request_permission", { toolCall: { toolCallId }, options: permissionOptions });
      const { outcome } = (await orAborted(asked, signal)) as {
        readonly outcome?: { readonly outcome?: unknown; readonly optionId?: unknown };
      };
      return outcome?.outcome === "selected" ? String(outcome.optionId) : "cancelled";
    } catch (error) {
      if (signal.aborted) throw error;
      return `error ${error instanceof JsonRpcError ? error.code : internalError}`;
    }
  }

  /** A question of the agent's own to its user. */
  askUser(): void {
    this.#newCall("Ask the user", "other", { question: "Which of these do you want?" });
  }

  async askForDiagnostics(): Promise<void> {
    const { signal, services } = this.#call;
    const isAnswered = await orAborted(this.#ask("_cognition.ai/request_diagnostics", {}), signal).then(
      () => true,
      () => false,
    );
    signal.throwIfAborted();
    await services.desk.note("diagnostics", isAnswered);
  }

  #ask(method: string, params: object): Promise<unknown> {
    const { session, services } = this.#call;
    return services.rpc.begin(method, { sessionId: session.sessionId, ...params }).reply;
  }

  #newCall(title: string, kind: string, rawInput: object): string {
    const toolCallId = `call_${this.#call.services.newId().replaceAll("-", "").slice(0, 16)}`;
    this.count++;
    this.#update({ sessionUpdate: "tool_call", toolCallId, title, kind, status: "pending", rawInput });
    return toolCallId;
  }

  #end(toolCallId: string, status: "completed" | "failed", text: string): void {
    const content = [{ type: "content", content: { type: "text", text } }];
    this.#update({ sessionUpdate: "tool_call_update", toolCallId, status, content });
  }

  #update(update: { readonly toolCallId: string; readonly [field: string]: unknown }): void {
    const { keep, services } = this.#call;
    keep({ message: update.toolCallId, role: "tool", kind: "json", body: JSON.stringify(update) });
    services.update(update);
  }
}

const notInMode = "Ask mode does not allow changes.";

/** The five choices of a permission request. Source: docs/dev/wire/acp.md, "Permissions". */
const permissionOptions = [
  { optionId: "allow_once", name: "Allow once", kind: "allow_once" },
  { optionId: "allow_session", name: "Allow for this session", kind: "allow_always" },
  { optionId: "allow_always", name: "Always allow", kind: "allow_always" },
  { optionId: "switch_bypass", name: "Switch to bypass mode", kind: "allow_always" },
  { optionId: "reject_once", name: "Reject", kind: "reject_once" },
];
