import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import process from "node:process";

/** A tool that a server of the session offers. */
export interface McpTool {
  readonly name: string;
  readonly inputSchema: Readonly<Record<string, unknown>>;
}

type Message = Readonly<Record<string, unknown>>;

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
  readonly #waiting = new Map<number, (message: Message) => void>();
  /** Restarts the time limit of a call, by its progress token. */
  readonly #alive = new Map<unknown, () => void>();
  #lastId = 0;
  tools: readonly McpTool[] = [];

  private constructor({ name, command, args, env }: StdioServer) {
    this.name = name;
    const added = Object.fromEntries(env.map((each) => [each.name, each.value]));
    this.#child = spawn(command, [...args], { env: { ...process.env, ...added } });
    this.#child.stdin.on("error", () => {}); // it ended
    this.#child.on("error", () => this.#ended());
    this.#child.on("exit", () => this.#ended());
    let half = "";
    this.#child.stdout.setEncoding("utf8").on("data", (chunk: string) => {
      const lines = (half + chunk).split("\n");
      half = lines.pop() ?? "";
      for (const line of lines) this.#receive(JSON.parse(line) as Message); // a server of the client's
    });
  }

  /** Starts a server and reads its tools; undefined for an entry that is no stdio server, or one that does not start. */
  static async open(entry: unknown): Promise<McpClient | undefined> {
    const { command } = entry as Partial<StdioServer>;
    if (command === undefined) return undefined;
    const client = new McpClient(entry as StdioServer); // what ACP says that an entry is
    try {
      const clientInfo = { name: "affogato", version: "1" };
      await client.#request("initialize", { protocolVersion: "2025-11-25", capabilities: {}, clientInfo });
      client.#send({ method: "notifications/initialized" });
      await client.#list();
      return client;
    } catch {
      return undefined;
    }
  }

  /**
   * The text of a tool's result. Throws where the server has said nothing for `limitMs` (0: no limit): it is told that the call was
   * cancelled then, as it is when the signal aborts.
   */
  async call(name: string, args: unknown, limitMs: number, signal: AbortSignal): Promise<string> {
    const id = ++this.#lastId;
    const over = Promise.withResolvers<never>();
    const giveUp = () => over.reject(new Error("MCP error -32001: Request timed out"));
    let timer = limitMs === 0 ? undefined : setTimeout(giveUp, limitMs);
    this.#alive.set(id, () => timer?.refresh());
    const aborted = () => over.reject(signal.reason);
    signal.addEventListener("abort", aborted, { once: true });
    try {
      const params = { name, arguments: args, _meta: { progressToken: id } };
      const result = await Promise.race([this.#ask(id, "tools/call", params), over.promise]);
      const content = (result["content"] ?? []) as readonly { readonly text?: string }[];
      return content.map(({ text }) => text ?? "").join("\n");
    } catch (error) {
      this.#send({ method: "notifications/cancelled", params: { requestId: id } });
      throw error;
    } finally {
      clearTimeout(timer);
      timer = undefined;
      this.#alive.delete(id);
      signal.removeEventListener("abort", aborted);
    }
  }

  close(): void {
    this.#child.stdin.end();
    this.#child.kill();
  }

  async #list(): Promise<void> {
    const { tools } = await this.#request("tools/list", {});
    this.tools = tools as readonly McpTool[];
  }

  #receive({ id, method, params, ...rest }: Message): void {
    if (method === "notifications/progress") this.#alive.get((params as Message)["progressToken"])?.();
    if (method === "notifications/tools/list_changed") void this.#list();
    if (typeof id !== "number" || method !== undefined) return;
    this.#waiting.get(id)?.(rest);
    this.#waiting.delete(id);
  }

  async #request(method: string, params: object): Promise<Message> {
    return await this.#ask(++this.#lastId, method, params);
  }

  #ask(id: number, method: string, params: object): Promise<Message> {
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, ({ result, error }) => {
        if (result === undefined) reject(new Error(JSON.stringify(error)));
        else resolve(result as Message);
      });
      this.#send({ id, method, params });
    });
  }

  #send(message: object): void {
    this.#child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
  }

  #ended(): void {
    for (const answer of this.#waiting.values()) answer({ error: "the server ended" });
    this.#waiting.clear();
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
    args: JSON.parse(body) as unknown,
  }));
  return { text: answer.replaceAll(block, "").trim(), calls };
}

/** The results of calls as the stand-in model reads them. */
export function writtenResults(results: readonly { readonly name: string; readonly text: string }[]): string {
  return results.map(({ name, text }) => `<tool_result name="${name}">\n${text}\n</tool_result>`).join("\n");
}
