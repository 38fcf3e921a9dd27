import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import process from "node:process";
import { orAborted } from "../../src/base/async.ts";
import { parseJson } from "../../src/base/json.ts";
import { JsonRpc } from "./json-rpc.ts";

/** A tool that a server of the session offers. */
export interface McpTool {
  readonly name: string;
  readonly inputSchema: Readonly<Record<string, unknown>>;
}

interface StdioServer {
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly env: readonly { readonly name: string; readonly value: string }[];
}

/** The agent's side of MCP: one stdio server of a session. */
export class McpClient {
  readonly name: string;
  readonly #child: ChildProcessWithoutNullStreams;
  readonly #rpc: JsonRpc;
  #lastToken = 0;
  readonly #listsAgain: boolean;
  tools: readonly McpTool[] = [];

  private constructor({ name, command, args, env }: StdioServer, listsAgain: boolean) {
    this.name = name;
    this.#listsAgain = listsAgain;
    const added = Object.fromEntries(env.map((each) => [each.name, each.value]));
    this.#child = spawn(command, [...args], { env: { ...process.env, ...added } });
    this.#rpc = new JsonRpc((line) => this.#child.stdin.write(line));
    const ended = () => this.#rpc.end(new Error("the server ended"));
    this.#child.stdin.on("error", () => {}); // it ended
    this.#child.on("error", ended);
    this.#child.on("exit", ended);
    this.#rpc.serve(this.#child.stdout, (method) => this.#told(method), ended);
  }

  /**
   * Starts a server and reads its tools, and reads them again when they have changed if it `listsAgain`; undefined for an entry that is no
   * stdio server, or one that does not start.
   */
  static async open(entry: unknown, listsAgain = true): Promise<McpClient | undefined> {
    const { command } = entry as Partial<StdioServer>;
    if (command === undefined) return undefined;
    const client = new McpClient(entry as StdioServer, listsAgain); // what ACP says that an entry is
    try {
      const clientInfo = { name: "affogato", version: "1" };
      await client.#rpc.begin("initialize", { protocolVersion: "2025-11-25", capabilities: {}, clientInfo }).reply;
      client.#rpc.notify("notifications/initialized", {});
      await client.#list();
      return client;
    } catch {
      return undefined;
    }
  }

  /** The text of a tool's result. The server is told that the call was cancelled when the signal aborts. */
  async call(name: string, args: unknown, signal: AbortSignal): Promise<string> {
    const progressToken = ++this.#lastToken;
    const { id, reply } = this.#rpc.begin("tools/call", { name, arguments: args, _meta: { progressToken } });
    try {
      const result = await orAborted(reply, signal);
      const { content = [] } = result as {
        readonly content?: readonly { readonly text?: string; readonly mimeType?: string }[];
      };
      return content.map(({ text, mimeType }) => text ?? `[${mimeType}]`).join("\n"); // a picture by its type
    } catch (error) {
      this.#rpc.notify("notifications/cancelled", { requestId: id });
      throw error;
    }
  }

  close(): void {
    this.#child.stdin.end();
    this.#child.kill();
  }

  async #list(): Promise<void> {
    const { tools } = (await this.#rpc.begin("tools/list", {}).reply) as { readonly tools: readonly McpTool[] };
    this.tools = tools;
  }

  async #told(method: string) {
    if (method === "notifications/tools/list_changed" && this.#listsAgain) void this.#list();
    return { result: {} };
  }
}

/** The tools of a session as its model is shown them, in the form that the stand-in model reads. */
export function taughtTools(tools: readonly McpTool[], instructions: string): string {
  const rules = [
    ...(/must call (?:at least one of your tools|the one tool)/.test(instructions)
      ? ["- This answer must call at least one tool."]
      : []),
    ...(instructions.includes("Call one tool at a time.") ? ["- At most one call in an answer."] : []),
  ];
  const shown = tools.flatMap(({ name, inputSchema }) => [`## ${name}`, `Schema: ${JSON.stringify(inputSchema)}`]);
  const example = `<tool_call name="${tools[0]?.name}">\n{}\n</tool_call>`;
  return ["# Tools", example, ...rules, ...shown].join("\n");
}

/** The text and the calls of a model's answer in that form. */
export function callsIn(answer: string): {
  readonly text: string;
  readonly calls: readonly { readonly name: string; readonly args: unknown }[];
} {
  const block = /<tool_call name="([^"]*)">\n([\s\S]*?)\n<\/tool_call>/g;
  const calls = [...answer.matchAll(block)].map(([, name = "", body = ""]) => ({
    name,
    args: parseJson(escaped(body)),
  }));
  return { text: answer.replaceAll(block, "").trim(), calls };
}

/** The stand-in model writes ends of lines in a text as they are; an agent's model has them escaped. */
function escaped(json: string): string {
  return json.replaceAll(/"(?:[^"\\]|\\.)*"/gs, (text) =>
    text.replaceAll(/\p{Cc}/gu, (control) => JSON.stringify(control).slice(1, -1)),
  );
}

/** The results of calls as the stand-in model reads them. */
export function writtenResults(results: readonly { readonly name: string; readonly text: string }[]): string {
  return results.map(({ name, text }) => `<tool_result name="${name}">\n${text}\n</tool_result>`).join("\n");
}
