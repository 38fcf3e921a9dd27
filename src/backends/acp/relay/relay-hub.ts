import { randomBytes } from "node:crypto";
import { mkdirSync } from "node:fs";
import type { Socket } from "node:net";
import { basename, join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { bestEffort } from "../../../base/async.ts";
import { writeJson } from "../../../base/json.ts";
import { type Door, type Doors, defaultDoors, openDoor, removeDeadDoors } from "../../../base/node/door.ts";
import { removeIfThere } from "../../../base/node/move-file.ts";
import { replaceFile } from "../../../base/node/replace-file.ts";
import { socketAddress } from "../../../base/node/socket-address.ts";
import { JsonLines, longestContent } from "../wire/lines.ts";
import type { FromRelay, RelayAddress, ToRelay } from "./relay-wire.ts";

/** The program beside this module: sources start sources, the bundle starts the bundle. */
const program = fileURLToPath(
  new URL(import.meta.url.endsWith(".ts") ? "./relay-program.ts" : "./tool-relay.js", import.meta.url),
);

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
  readonly #open = new Set<RelayDoor>();

  /** @param folder of the agent, which only its user may read. */
  constructor(folder: string, doors: Doors = defaultDoors) {
    this.#folder = folder;
    this.#doors = doors;
  }

  /** A door for a session that is about to be opened, and its entry in `mcpServers`, but for the name. Throws where no door can be made. */
  async open() {
    const address = { socket: this.#newPath(), secret: randomBytes(24).toString("base64url") };
    await replaceFile(secretFile(address.socket), address.secret); // first: where it cannot be written, no door is opened
    const door = this.#add(address);
    await door.listening;
    const env = [
      { name: relayVariables.socket, value: address.socket },
      { name: relayVariables.secret, value: secretFile(address.socket) },
    ];
    return { door, server: { command: process.execPath, args: [program], env } };
  }

  /** The door of a session that another gateway opened. Its relay comes back by itself, to the door that it knows. */
  restore({ socket, secret }: RelayAddress): RelayDoor {
    const door = this.#add({ socket, secret });
    void bestEffort(door.listening); // without it the relay does not come back, and its calls are given up
    void bestEffort(replaceFile(secretFile(socket), secret));
    return door;
  }

  /** Relays whose agent lives on wait for the next gateway. */
  close(): void {
    for (const door of this.#open) door.leave();
  }

  #add(address: RelayAddress): RelayDoor {
    removeIfThere(address.socket); // of the gateway before
    const door = new RelayDoor(address, this.#doors, () => this.#open.delete(door));
    this.#open.add(door);
    return door;
  }

  #newPath(): string {
    mkdirSync(this.#folder, { recursive: true, mode: 0o700 });
    const path = join(this.#folder, `${doorMark}${randomBytes(6).toString("hex")}.sock`);
    return this.#doors.pipes === undefined ? socketAddress(path) : path;
  }

  /** Removes the doors that killed gateways left. A session that is taken up later gets its door again. Never rejects. */
  async sweep(): Promise<void> {
    const own = new Set([...this.#open].map(({ address }) => basename(address.socket)));
    const isDoor = (name: string) => name.startsWith(doorMark) && name.endsWith(".sock") && !own.has(name);
    await removeDeadDoors(this.#folder, isDoor, secretEnd);
  }
}

function tooLong({ callId }: ToRelay & { readonly type: "answer" }): ToRelay {
  const text = `The tool's result has more than ${Math.floor(longestContent / 2 ** 20)} million characters as JSON, so it cannot be passed on. Ask for less at once.`;
  return { type: "answer", callId, content: [{ type: "text", text }], isError: true };
}

const doorMark = "relay-";

/** The door of one session, and the relay that dialled it last. */
export class RelayDoor {
  readonly address: RelayAddress;
  /** Resolves once a relay can dial. Rejects as the system does. */
  readonly listening: Promise<void>;
  readonly #door: Door;
  readonly #onClose: () => void;
  #relay: Socket | undefined;
  #isClosed = false;
  /** Called with each message of the relay; `hello` is the first one of a connection. */
  onMessage: (message: FromRelay) => void = () => {};
  /** Called when the relay's connection is gone. */
  onLost: () => void = () => {};

  constructor(address: RelayAddress, doors: Doors, onClose: () => void) {
    this.address = address;
    this.#onClose = onClose;
    this.#door = openDoor(address.socket, doors, (socket) => this.#serve(socket));
    this.#door.server.unref();
    this.listening = this.#door.opened;
  }

  get isConnected(): boolean {
    return this.#relay !== undefined;
  }

  /** A result that no hop could carry becomes an error that says so. */
  tell(message: ToRelay): void {
    const line = writeJson(message);
    this.#relay?.write(
      `${message.type === "answer" && line.length > longestContent ? writeJson(tooLong(message)) : line}\n`,
    );
  }

  /** Leaves the relay to the next gateway. */
  leave(): void {
    if (!this.#close()) return;
    this.#relay?.destroy();
    this.#relay = undefined;
  }

  /** The session is over: the relay hears what was told before. */
  close(): void {
    if (this.#close()) this.#relay?.end();
  }

  #close(): boolean {
    if (this.#isClosed) return false;
    this.#isClosed = true;
    this.#onClose();
    this.#door.close();
    removeIfThere(secretFile(this.address.socket));
    return true;
  }

  #serve(socket: Socket): void {
    const lines = new JsonLines();
    let isKnown = false;
    socket.unref();
    socket.setEncoding("utf8");
    socket.on("close", () => {
      if (this.#relay !== socket) return;
      this.#relay = undefined;
      this.onLost();
    });
    socket.on("data", (chunk: string) => {
      try {
        for (const line of lines.feed(chunk)) {
          const message = line as unknown as FromRelay; // our own program's, once the secret was right
          if (!isKnown && (message.type !== "hello" || message.secret !== this.address.secret))
            throw new TypeError("not our relay");
          isKnown = true;
          if (message.type === "hello") this.#relay = socket;
          this.onMessage(message);
        }
      } catch {
        socket.destroy();
      }
    });
  }
}
