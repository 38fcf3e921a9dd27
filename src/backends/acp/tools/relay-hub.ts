import { randomBytes } from "node:crypto";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { connect, createServer, type Server, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { bestEffort } from "../../../base/async.ts";
import type { ToolSpec } from "../../backend.ts";
import { JsonLines } from "../process/lines.ts";
import { type FromRelay, type KeptTools, type RelayAddress, SessionTools, serverName } from "./session-tools.ts";

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

/** Names of the variables in the relay's environment. */
const relayVariables = { socket: "MILLRACE_RELAY_SOCKET", secret: "MILLRACE_RELAY_SECRET" } as const;

/** Longer paths are cut off or refused for sockets (104 bytes on macOS, 108 on Linux). */
const longestPath = 100;

/**
 * The gateway's end of the relays: one socket for all sessions of an agent that this gateway opened, and those of the gateways whose
 * sessions it took over. A connection belongs to a session once it has said that session's secret, and is closed otherwise.
 */
export class RelayHub {
  readonly #folder: string;
  readonly #sessions = new Map<string, SessionTools>();
  readonly #servers = new Map<string, Promise<Server>>();
  #path: Promise<string> | undefined;

  /** @param folder of the agent, which only its user may read. */
  constructor(folder: string) {
    this.#folder = folder;
  }

  /** These tools, for a session of their own. */
  offering(offered: readonly ToolSpec[]): NativeTools {
    return { offered, open: () => this.#open(offered) };
  }

  async #open(offered: readonly ToolSpec[]): Promise<NativeSession> {
    this.#path ??= this.#freePath();
    const socket = await this.#path;
    await this.#listen(socket);
    const secret = randomBytes(24).toString("base64url");
    const tools = this.#add({ secret, socket });
    tools.offer(offered);
    const env = [
      { name: relayVariables.socket, value: socket },
      { name: relayVariables.secret, value: secret },
    ];
    return { tools, server: { name: serverName, command: process.execPath, args: [program], env } };
  }

  /** The tools of a session that another gateway opened. Its relay comes back by itself, to the socket that it knows. */
  restore(kept: KeptTools): SessionTools {
    void bestEffort(this.#listen(kept.socket)); // without it the relay does not come back, and its calls are given up
    return this.#add(kept, kept);
  }

  #add(relay: RelayAddress, kept?: KeptTools): SessionTools {
    const tools = new SessionTools(relay, () => this.#sessions.delete(relay.secret), kept);
    this.#sessions.set(relay.secret, tools);
    return tools;
  }

  /** Relays whose agent lives on wait for the next gateway. */
  async close(): Promise<void> {
    for (const tools of this.#sessions.values()) tools.leave();
    const servers = await Promise.allSettled(this.#servers.values());
    for (const each of servers) if (each.status === "fulfilled") each.value.close();
  }

  #listen(path: string): Promise<Server> {
    const known = this.#servers.get(path);
    if (known !== undefined) return known;
    const listening = this.#newServer(path);
    this.#servers.set(path, listening);
    listening.catch(() => this.#servers.delete(path));
    return listening;
  }

  async #newServer(path: string): Promise<Server> {
    const server = createServer((socket) => this.#serve(socket));
    if (process.platform !== "win32" && !(await isServed(path))) rmSync(path, { force: true });
    await new Promise<void>((resolve, reject) => {
      server.once("error", reject);
      server.listen(path, resolve);
    });
    server.unref();
    return server;
  }

  /** The same path after a restart. Another gateway of this user may have it. */
  async #freePath(): Promise<string> {
    if (process.platform === "win32") return `\\\\.\\pipe\\millrace-${randomBytes(16).toString("hex")}`;
    mkdirSync(this.#folder, { recursive: true, mode: 0o700 });
    const path = join(this.#folder, "relay.sock");
    if (Buffer.byteLength(path) > longestPath) return join(mkdtempSync(join(tmpdir(), "millrace-")), "relay.sock");
    const isOthers = !this.#servers.has(path) && (await isServed(path));
    return isOthers ? join(this.#folder, `relay-${process.pid}.sock`) : path;
  }

  #serve(socket: Socket): void {
    const lines = new JsonLines();
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
