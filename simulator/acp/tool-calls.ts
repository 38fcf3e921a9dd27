import { writeFileSync } from "node:fs";
import { orAborted } from "../../src/base/async.ts";
import type { AgentOptions } from "./agent-options.ts";
import { internalError, JsonRpcError } from "./json-rpc.ts";
import type { McpClient } from "./mcp-client.ts";
import type { TurnHands } from "./turn-hands.ts";

/** How the agent of this process treats its tools. */
export interface ToolRules {
  /** A type without tools: neither reads nor writes are tried. */
  readonly none: boolean;
  readonly mode: string;
  readonly askAgain: number;
  /** Writes happen in every mode, without a question. */
  readonly acts: boolean;
  readonly cwd: string;
  /** The session's MCP servers, and how their tools are called. */
  readonly mcp: readonly McpClient[];
  readonly mcpRules: Pick<AgentOptions, "mcpCallMs" | "mcpPermission" | "mcpCalls" | "ownToolsFirst">;
}

/** The tool calls of one turn, as the client sees them. No tool really runs, but for the writes of an agent that acts. */
export class ToolCalls {
  readonly #rules: ToolRules;
  readonly #hands: TurnHands;
  /** How long a tool takes; rejects when the turn is cancelled. */
  readonly #step: () => Promise<void>;
  readonly #signal: AbortSignal;
  #count = 0;

  constructor(rules: ToolRules, hands: TurnHands, step: () => Promise<void>, signal: AbortSignal) {
    this.#rules = rules;
    this.#hands = hands;
    this.#step = step;
    this.#signal = signal;
  }

  get count(): number {
    return this.#count;
  }

  async read(): Promise<void> {
    const call = this.#newCall("List the working folder", "read", { path: this.#rules.cwd });
    await this.#step();
    this.#callUpdate(call, { status: "completed", content: [textContent("The folder is empty.")] });
  }

  /** A write, tried again after each rejection until the agent gives up. */
  async write(nth: number): Promise<void> {
    const path = `${this.#rules.cwd}/millrace-${nth + 1}.txt`;
    for (let tries = 0; ; tries++) {
      const call = this.#newCall(`Write ${path}`, "edit", { path, content: "hello" });
      const verdict = await this.#mayWrite(call);
      if (verdict === "yes") {
        if (this.#rules.acts) writeFileSync(path, "hello");
        else await this.#step();
        this.#callUpdate(call, { status: "completed", content: [textContent("Written.")] });
        return;
      }
      const why = verdict === "mode" ? "Ask mode does not allow changes." : "The user rejected this tool call.";
      this.#callUpdate(call, { status: "failed", content: [textContent(why)] });
      if (verdict === "mode" || tries >= this.#rules.askAgain) return;
    }
  }

  /** Calls of the session's servers, as one answer of the model has them. */
  async callServers(
    calls: readonly { readonly name: string; readonly args: unknown }[],
  ): Promise<{ readonly name: string; readonly text: string }[]> {
    const { mcp, mcpRules } = this.#rules;
    const begun = calls.map(({ name, args }) => {
      const client = mcp.find(({ tools }) => tools.some((tool) => tool.name === name));
      const id = this.#newCall(`${client?.name ?? "mcp"}_${name}`, "other", args as object);
      return { name, args, client, id };
    });
    const one = async ({ name, args, client, id }: (typeof begun)[number]) => {
      const isAllowed = !mcpRules.mcpPermission || (await this.#permitted(id));
      try {
        if (!isAllowed || client === undefined) throw new Error("The call was not made.");
        this.#callUpdate(id, { status: "in_progress" });
        const text = await client.call(name, args, mcpRules.mcpCallMs, this.#signal);
        this.#callUpdate(id, { status: "completed", content: [textContent(text)] });
        return { name, text };
      } catch (error) {
        this.#signal.throwIfAborted();
        const text = error instanceof Error ? error.message : String(error);
        this.#callUpdate(id, { status: "failed", content: [textContent(text)] });
        return { name, text };
      }
    };
    if (mcpRules.mcpCalls === "together") return await Promise.all(begun.map(one));
    const results: { readonly name: string; readonly text: string }[] = [];
    for (const call of begun) results.push(await one(call));
    return results;
  }

  async #permitted(toolCallId: string): Promise<boolean> {
    const outcome = await this.#permission(toolCallId);
    await this.#hands.permissionAnswered(outcome);
    return outcome.startsWith("allow");
  }

  async #mayWrite(toolCallId: string): Promise<"yes" | "no" | "mode"> {
    const { mode, acts } = this.#rules;
    if (acts) return "yes";
    if (mode === "ask" || mode === "plan") return "mode";
    if (mode === "bypass") return "yes";
    const outcome = await this.#permission(toolCallId);
    await this.#hands.permissionAnswered(outcome);
    this.#signal.throwIfAborted();
    return outcome.startsWith("allow") || outcome === "switch_bypass" ? "yes" : "no";
  }

  async #permission(toolCallId: string): Promise<string> {
    try {
      const reply = await orAborted(
        this.#hands.ask("session/request_permission", { toolCall: { toolCallId }, options: permissionOptions }),
        this.#signal,
      );
      const { outcome } = reply as { readonly outcome?: { readonly outcome?: unknown; readonly optionId?: unknown } };
      return outcome?.outcome === "selected" ? String(outcome.optionId) : "cancelled";
    } catch (error) {
      if (this.#signal.aborted) throw error;
      return `error ${error instanceof JsonRpcError ? error.code : internalError}`;
    }
  }

  /** A question of the agent's own to its user. */
  askUser(): void {
    this.#newCall("Ask the user", "other", { question: "Which of these do you want?" });
  }

  async askForDiagnostics(): Promise<void> {
    const asked = this.#hands.ask("_cognition.ai/request_diagnostics", {});
    const answered = await orAborted(asked, this.#signal).then(
      () => true,
      () => false,
    );
    this.#signal.throwIfAborted();
    await this.#hands.diagnosticsAnswered(answered);
  }

  #newCall(title: string, kind: string, rawInput: object): string {
    const toolCallId = `call_${this.#hands.newId().replaceAll("-", "").slice(0, 16)}`;
    this.#count++;
    this.#keepCall(toolCallId, { sessionUpdate: "tool_call", toolCallId, title, kind, status: "pending", rawInput });
    return toolCallId;
  }

  #callUpdate(toolCallId: string, fields: object): void {
    this.#keepCall(toolCallId, { sessionUpdate: "tool_call_update", toolCallId, ...fields });
  }

  #keepCall(message: string, update: object): void {
    this.#hands.keep({ message, role: "tool", kind: "json", body: JSON.stringify(update) });
    this.#hands.update(update);
  }
}

/** The five choices of a permission request. Source: docs/dev/wire/acp.md, "Permissions". */
const permissionOptions = [
  { optionId: "allow_once", name: "Allow once", kind: "allow_once" },
  { optionId: "allow_session", name: "Allow for this session", kind: "allow_always" },
  { optionId: "allow_always", name: "Always allow", kind: "allow_always" },
  { optionId: "switch_bypass", name: "Switch to bypass mode", kind: "allow_always" },
  { optionId: "reject_once", name: "Reject", kind: "reject_once" },
];

function textContent(text: string) {
  return { type: "content", content: { type: "text", text } };
}
