import { randomBytes } from "node:crypto";
import { mkdirSync } from "node:fs";
import type { Socket } from "node:net";
import { basename, join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { bestEffort } from "../../../base/async.ts";
import { removeIfThere, replaceFile } from "../../../base/node/replace-file.ts";
import type { ToolSpec } from "../../backend.ts";
import { type Doors, defaultDoors, openDoor, removeDeadDoors } from "../wire/door.ts";
import { socketAddress } from "../wire/socket-address.ts";
import { JsonLines } from "../wire/lines.ts";
import { type FromRelay, type KeptTools, type RelayAddress, SessionTools, serverName } from "../session/session-tools.ts";

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

/** Tools for an agent, and how a session with them is prepared. Throws where no door can be made. */
export interface NativeTools {
  readonly offered: readonly ToolSpec[];
  readonly open: () => Promise<NativeSession>;
}

/** Names of the variables in the relay's environment, which an agent may put into its own command line: they hold paths alone. */
const relayVariables = { socket: "MILLRACE_RELAY_SOCKET", secret: "MILLRACE_RELAY_SECRET_FILE" } as const;
/** The file that only its user may read, from which a relay takes its session's secret. */
const secretEnd = ".secret";
const secretFile = (socket: string) => `${socket}${secretEnd}`;

/**
 * The gateway's end of the relays. Each session has a door of its own, because it goes from gateway to gateway with its agent. A
 * connection belongs to the session once it has said that session's secret, and is closed otherwise.
 */
export class RelayHub {
  readonly #folder: string;
  readonly #doors: Doors;
  readonly #sessions = new Set<SessionTools>();

  /** @param folder of the agent, which only its user may read. */
  constructor(folder: string, doors: Doors = defaultDoors) {
    this.#folder = folder;
    this.#doors = doors;
  }

  /** These tools, for a session of their own. */
  offering(offered: readonly ToolSpec[]): NativeTools {
    return { offered, open: () => this.#open(offered) };
  }

  async #open(offered: readonly ToolSpec[]): Promise<NativeSession> {
    const address = { socket: this.#newPath(), secret: randomBytes(24).toString("base64url") };
    await replaceFile(secretFile(address.socket), address.secret); // first: where it cannot be written, no door is opened
    const { tools, listening } = this.#add(address);
    await listening;
    tools.offer(offered);
    const env = [
      { name: relayVariables.socket, value: address.socket },
      { name: relayVariables.secret, value: secretFile(address.socket) },
    ];
    return { tools, server: { name: serverName, command: process.execPath, args: [program], env } };
  }

  /** The tools of a session that another gateway opened. Its relay comes back by itself, to the door that it knows. */
  restore(kept: KeptTools): SessionTools {
    const { tools, listening } = this.#add(kept, kept);
    void bestEffort(listening); // without it the relay does not come back, and its calls are given up
    void bestEffort(replaceFile(secretFile(kept.socket), kept.secret));
    return tools;
  }

  /** Relays whose agent lives on wait for the next gateway. */
  close(): void {
    for (const tools of this.#sessions) tools.leave();
  }

  #add(address: RelayAddress, kept?: KeptTools): { readonly tools: SessionTools; readonly listening: Promise<void> } {
    removeIfThere(address.socket); // of the gateway before
    const door = openDoor(address.socket, this.#doors, (socket) => serve(socket, tools));
    door.server.unref();
    const onClose = () => {
      this.#sessions.delete(tools);
      door.close();
      removeIfThere(secretFile(address.socket));
    };
    const tools = new SessionTools({ socket: address.socket, secret: address.secret }, onClose, kept);
    this.#sessions.add(tools);
    return { tools, listening: door.opened };
  }

  #newPath(): string {
    mkdirSync(this.#folder, { recursive: true, mode: 0o700 });
    const path = join(this.#folder, `${doorMark}${randomBytes(6).toString("hex")}.sock`);
    return this.#doors.pipes === undefined ? socketAddress(path) : path;
  }

  /** Removes the doors that killed gateways left. A session that is taken up later gets its door again. Never rejects. */
  async sweep(): Promise<void> {
    const own = new Set([...this.#sessions].map(({ address }) => basename(address.socket)));
    const isDoor = (name: string) => name.startsWith(doorMark) && name.endsWith(".sock") && !own.has(name);
    await removeDeadDoors(this.#folder, isDoor, secretEnd);
  }
}

const doorMark = "relay-";

function serve(socket: Socket, tools: SessionTools): void {
  const lines = new JsonLines();
  let isKnown = false;
  socket.unref();
  socket.setEncoding("utf8");
  socket.on("close", () => tools.disconnected(socket));
  socket.on("data", (chunk: string) => {
    try {
      for (const line of lines.feed(chunk)) {
        const message = line as unknown as FromRelay; // our own program's, once the secret was right
        if (isKnown) tools.receive(message);
        else if (message.type !== "hello" || !tools.isSecret(message.secret)) throw new TypeError("not our relay");
        isKnown = true;
        if (message.type === "hello") tools.connected(socket, message);
      }
    } catch {
      socket.destroy();
    }
  });
}
