import { createHmac, randomBytes, timingSafeEqual } from "node:crypto";
import { once } from "node:events";
import { readFileSync, statSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { createConnection, createServer, type Server, type Socket } from "node:net";
import { join } from "node:path";
import process from "node:process";
import { bestEffort, orAborted, timeLimit } from "../async.ts";
import { parseJson, writeJson } from "../json.ts";
import { remove, removeIfThere } from "./move-file.ts";
import { replaceFileSync } from "./replace-file.ts";
import { socketAddress } from "./socket-address.ts";

/*
 * A door is a file in a private folder, by which two programs of one user find each other. It is a Unix socket, and its folder's mode
 * keeps other users out. Node has no such sockets on Windows, and no folder protects a pipe: anybody may list the names of pipes, connect
 * to one, and listen under the name of one that is gone. There the file holds a pipe's name and a secret, and both sides prove that they
 * know the secret before they say anything else. Source: docs/dev/wire/processes.md, "The handshake".
 */

/** How this system's doors are made. */
export interface Doors {
  /** How the names of its pipes begin; undefined where doors are Unix sockets. */
  readonly pipes?: string | undefined;
}

export const defaultDoors: Doors = { pipes: process.platform === "win32" ? "\\\\.\\pipe\\" : undefined };

/** A door that this process listens at. */
export interface Door {
  readonly server: Server;
  /** Resolves once others can dial. Rejects as the system does. */
  readonly opened: Promise<void>;
  /** Takes the file away where that can be done. Connections stay. */
  readonly close: () => void;
}

/** What the file of a door says that is no socket. */
interface Pipe {
  readonly name: string;
  readonly secret: string;
}

const nonceBytes = 32;
const proofBytes = 32;
const dialMs = 5_000;
/** Longer than a dialler waits, here and then for its first answer. So none takes a listener for gone that only found it slow. */
const admitMs = 20_000;

/** Makes a door in a folder that is there. `onDialled` gets each connection of a program that may read the file. */
export function openDoor(file: string, { pipes }: Doors, onDialled: (socket: Socket) => void): Door {
  const pipe = pipes === undefined ? undefined : newPipe(pipes);
  const server = createServer((socket) => {
    socket.on("error", () => {}); // `close` follows
    if (pipe === undefined) return onDialled(socket);
    const admitted = orAborted(admit(socket, pipe.secret), timeLimit(admitMs));
    return void admitted.then(
      () => onDialled(socket),
      () => socket.destroy(),
    );
  });
  const close = () => {
    server.close();
    removeIfThere(file);
  };
  return { server, opened: listen(server, file, pipe), close };
}

/** The file comes last: who reads it finds a listener. */
async function listen(server: Server, file: string, pipe: Pipe | undefined): Promise<void> {
  server.listen(pipe?.name ?? socketAddress(file));
  await once(server, "listening");
  if (pipe !== undefined) replaceFileSync(file, writeJson(pipe));
}

function newPipe(root: string): Pipe {
  const name = `${root}millrace-${randomBytes(16).toString("hex")}`;
  return { name, secret: randomBytes(32).toString("base64url") };
}

/**
 * Connects to the listener of a door.
 *
 * @throws as the system does: `ENOENT` without the file, `ECONNREFUSED` where its listener is gone, also if another program listens in its
 * place. Another error where the listener does not prove itself in 5 s, or ends the connection: it may be busy, or about to end.
 */
export async function dial(file: string): Promise<Socket> {
  const pipe = statSync(file).isSocket() ? undefined : readPipe(file);
  const socket = createConnection(pipe?.name ?? socketAddress(file));
  socket.on("error", () => {}); // `close` follows
  try {
    await orAborted(reach(socket, pipe), timeLimit(dialMs));
    return socket;
  } catch (error) {
    socket.destroy();
    throw error;
  }
}

/** Removes the doors of a folder at which nobody listens: their programs were killed; `beside` ends the name of a file that goes with its door. Takes the files whose names are chosen; never rejects. */
export async function removeDeadDoors(
  folder: string,
  isDoor: (name: string) => boolean,
  beside?: string,
): Promise<void> {
  const names = await readdir(folder).catch(() => []);
  const look = async (name: string) => {
    try {
      (await dial(join(folder, name))).destroy();
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ECONNREFUSED") return;
      await bestEffort(remove(join(folder, name)));
      if (beside !== undefined) await bestEffort(remove(join(folder, `${name}${beside}`)));
    }
  };
  await Promise.all(names.filter(isDoor).map(look));
}

function readPipe(file: string): Pipe {
  const text = readFileSync(file, "utf8");
  try {
    return parseJson(text) as Pipe; // `listen` wrote it
  } catch {
    throw gone(); // a loss of power may empty a file
  }
}

async function reach(socket: Socket, pipe: Pipe | undefined): Promise<void> {
  try {
    await once(socket, "connect");
  } catch (error) {
    throw (error as NodeJS.ErrnoException).code === "ENOENT" ? gone() : error; // so Windows says that no pipe has this name
  }
  if (pipe !== undefined) await meet(socket, pipe.secret);
}

function gone(): Error {
  return Object.assign(new Error("the listener of the door is gone"), { code: "ECONNREFUSED" });
}

/* The handshake: the dialler's nonce; the listener's nonce and proof; the dialler's proof. */

async function meet(socket: Socket, secret: string): Promise<void> {
  const nonce = randomBytes(nonceBytes);
  socket.write(nonce);
  const answer = await take(socket, nonceBytes + proofBytes);
  const nonces = Buffer.concat([nonce, answer.subarray(0, nonceBytes)]);
  if (!timingSafeEqual(answer.subarray(nonceBytes), proof(secret, "listener", nonces))) throw gone();
  socket.write(proof(secret, "dialler", nonces));
}

async function admit(socket: Socket, secret: string): Promise<void> {
  const nonce = randomBytes(nonceBytes);
  const nonces = Buffer.concat([await take(socket, nonceBytes), nonce]);
  socket.write(Buffer.concat([nonce, proof(secret, "listener", nonces)]));
  if (!timingSafeEqual(await take(socket, proofBytes), proof(secret, "dialler", nonces)))
    throw new Error("the dialler does not know the secret");
}

function proof(secret: string, side: "listener" | "dialler", nonces: Buffer): Buffer {
  return createHmac("sha256", secret).update(side).update(nonces).digest();
}

/** Exactly so many bytes. Those after them stay in the socket, which holds no more than one read of the system. */
function take(socket: Socket, count: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const look = () => {
      const taken = socket.read(count) as Buffer | null; // it has no encoding yet
      if (taken?.length !== count) return; // the last bytes of a connection may be fewer: `close` follows
      socket.off("readable", look).off("close", end);
      resolve(taken);
    };
    const end = () => reject(new Error("the connection ended before its proof"));
    socket.on("readable", look).on("close", end);
  });
}
