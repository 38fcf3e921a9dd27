import { randomBytes } from "node:crypto";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { connect, createServer, type Server, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import type { ToolSpec } from "../../backend.ts";
import { JsonLines } from "../process/json-lines.ts";
import { serverName } from "./own-tool.ts";
import { type FromRelay, relayVariables } from "./relay-protocol.ts";
import { type KeptTools, SessionTools } from "./session-tools.ts";

/** The program beside this module: sources start sources, the bundle starts the bundle. */
const program = fileURLToPath(
  new URL(import.meta.url.endsWith(".ts") ? "./relay-program.ts" : "./tool-relay.js", import.meta.url),
);

/** An entry of `mcpServers` in `session/new`: a program that the agent starts and speaks MCP with over its standard streams. */
export interface StdioServer {
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly env: readonly { readonly name: string; readonly value: string }[];
}

/** The tools of a session that is about to be opened, and the server to open it with. */
interface NativeSession {
  readonly tools: SessionTools;
  readonly server: StdioServer;
}

/** Tools for an agent, and how a session with them is prepared. Throws where no socket can be made. */
export interface NativeTools {
  readonly offered: readonly ToolSpec[];
  readonly open: () => Promise<NativeSession>;
}

/** Longer paths are cut off or refused for sockets (104 bytes on macOS, 108 on Linux). */
const longestPath = 100;

/**
 * The gateway's end of the relays: one socket for all sessions of an agent. A connection belongs to a session once it has said that
 * session's secret, and is closed otherwise. It listens from the first session with tools on.
 */
export class RelayHub {
  readonly #folder: string;
  readonly #sessions = new Map<string, SessionTools>();
  #listening: Promise<{ readonly server: Server; readonly path: string }> | undefined;

  /** @param folder of the agent, which only its user may read. */
  constructor(folder: string) {
    this.#folder = folder;
  }

  /** These tools, for a session of their own. */
  offering(offered: readonly ToolSpec[]): NativeTools {
    return { offered, open: () => this.#open(offered) };
  }

  async #open(offered: readonly ToolSpec[]): Promise<NativeSession> {
    this.#listening ??= this.#listen();
    const { path } = await this.#listening;
    const secret = randomBytes(24).toString("base64url");
    const tools = this.#add(secret);
    tools.offer(offered);
    const env = [
      { name: relayVariables.socket, value: path },
      { name: relayVariables.secret, value: secret },
    ];
    return { tools, server: { name: serverName, command: process.execPath, args: [program], env } };
  }

  /** The tools of a session that an earlier gateway opened. Its relay comes back by itself. */
  restore(kept: KeptTools): SessionTools {
    this.#listening ??= this.#listen();
    this.#listening.catch(() => {}); // the relay does not come back, and its calls are given up
    return this.#add(kept.secret, kept);
  }

  #add(secret: string, kept?: KeptTools): SessionTools {
    const tools = new SessionTools(secret, () => this.#sessions.delete(secret), kept);
    this.#sessions.set(secret, tools);
    return tools;
  }

  /** Relays whose agent lives on wait for the next gateway. */
  async close(): Promise<void> {
    for (const tools of this.#sessions.values()) tools.leave();
    const listening = await this.#listening?.catch(() => undefined);
    listening?.server.close();
  }

  async #listen(): Promise<{ readonly server: Server; readonly path: string }> {
    const server = createServer((socket) => this.#serve(socket));
    const path = await this.#path();
    await new Promise<void>((resolve, reject) => {
      server.once("error", reject);
      server.listen(path, resolve);
    });
    server.unref();
    return { server, path };
  }

  /** The same path after a restart, so that relays find the next gateway. Another gateway of this user may have it. */
  async #path(): Promise<string> {
    if (process.platform === "win32") return `\\\\.\\pipe\\millrace-${randomBytes(16).toString("hex")}`;
    mkdirSync(this.#folder, { recursive: true, mode: 0o700 });
    const path = join(this.#folder, "relay.sock");
    if (Buffer.byteLength(path) > longestPath) return join(mkdtempSync(join(tmpdir(), "millrace-")), "relay.sock");
    if (await isServed(path)) return join(this.#folder, `relay-${process.pid}.sock`);
    rmSync(path, { force: true });
    return path;
  }

  #serve(socket: Socket): void {
    const lines = new JsonLines(() => {});
    let tools: SessionTools | undefined;
    socket.unref();
    socket.setEncoding("utf8");
    socket.on("error", () => {}); // `close` follows
    socket.on("close", () => tools?.disconnected(socket));
    socket.on("data", (chunk: string) => {
      try {
        for (const line of lines.feed(chunk)) {
          const message = line as unknown as FromRelay; // our own program's, once the secret was right
          if (tools !== undefined) tools.receive(message);
          else if (message.type === "hello") tools = this.#sessions.get(message.secret);
          if (tools === undefined) throw new TypeError("not a relay of this gateway");
          if (message.type === "hello") tools.connected(socket, message);
        }
      } catch {
        socket.destroy();
      }
    });
  }
}

function isServed(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = connect(path);
    probe.once("connect", () => {
      probe.destroy();
      resolve(true);
    });
    probe.once("error", () => resolve(false));
  });
}
