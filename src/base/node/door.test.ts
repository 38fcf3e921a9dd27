import { once } from "node:events";
import { existsSync, readdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { connect, createServer, type Server, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { modeOf } from "../../../test/support/file-mode.ts";
import { temporaryFolder } from "../../../test/support/temporary.ts";
import { doorKinds } from "./door.fake.ts";
import { type Doors, dial, openDoor } from "./door.ts";

function newFile(): string {
  const folder = temporaryFolder();
  return join(folder, "a.agent");
}

/** A door whose listener says `welcome` to each dialler and keeps what it says. */
async function opened(doors: Doors, file = newFile()) {
  const heard: string[] = [];
  const door = openDoor(file, doors, (socket) => {
    const at = heard.push("") - 1;
    socket.on("data", (chunk: Buffer) => (heard[at] += chunk.toString()));
    socket.write("welcome");
  });
  onTestFinished(() => door.close());
  await door.opened;
  return { file, door, heard };
}

async function dialled(file: string): Promise<Socket> {
  const socket = await dial(file);
  onTestFinished(() => void socket.destroy());
  return socket;
}

/** All that a connection says until it ends. */
async function allOf(socket: Socket): Promise<Buffer> {
  const parts: Buffer[] = [];
  socket.on("data", (chunk: Buffer) => parts.push(chunk));
  socket.on("error", () => {}); // it may be reset: `close` follows
  await new Promise((resolve) => socket.on("close", resolve));
  return Buffer.concat(parts);
}

describe.each(doorKinds)("a door over $kind", ({ doors }) => {
  test("what both sides say first arrives whole", async () => {
    const { file, heard } = await opened(doors);
    const socket = await dialled(file);
    const said = "x".repeat(200_000);
    socket.write(said);
    await expect.poll(() => heard).toEqual([said]);
    expect(String(((await once(socket, "data")) as [Buffer])[0])).toBe("welcome");
  });

  test("without its file nobody is there, and behind a file that was left nobody is there any more", async () => {
    const { file, door } = await opened(doors);
    renameSync(file, `${file}.kept`);
    await expect(dial(file)).rejects.toMatchObject({ code: "ENOENT" });
    door.close();
    await once(door.server, "close");
    renameSync(`${file}.kept`, file);
    await expect(dial(file)).rejects.toMatchObject({ code: "ECONNREFUSED" });
  });

  test("the file goes with the listener, and connections stay", async () => {
    const { file, door, heard } = await opened(doors);
    const socket = await dialled(file);
    await once(socket, "data");
    door.close();
    expect(existsSync(file)).toBe(false);
    socket.write("still here");
    await expect.poll(() => heard).toEqual(["still here"]);
  });
});

const kinds = doorKinds.filter(({ doors }) => doors.pipes !== undefined);

describe.each(kinds)("a door over $kind, which anybody can reach,", ({ doors }) => {
  const pipeOf = (file: string) => JSON.parse(readFileSync(file, "utf8")) as { name: string; secret: string };

  /** A program that listens under the name of a door and knows no secret. Answers what it heard. */
  async function impostor(answer: (socket: Socket, nonce: Buffer) => void, secret = "of the user") {
    const file = newFile();
    const pipe = { name: `${doors.pipes}millrace-${crypto.randomUUID()}`, secret };
    writeFileSync(file, JSON.stringify(pipe));
    const heard: Promise<Buffer>[] = [];
    const server = createServer((socket) => {
      heard.push(allOf(socket));
      socket.once("data", (nonce: Buffer) => answer(socket, nonce));
    });
    await listening(server, pipe.name);
    return { file, heard };
  }

  async function listening(server: Server, name: string): Promise<void> {
    onTestFinished(() => void server.close());
    await once(server.listen(name), "listening");
  }

  /** Dials without the file, and says these bytes; later ones answer the listener's. */
  async function stranger(name: string, first: Buffer, then: (answer: Buffer) => Buffer): Promise<Buffer> {
    const socket = connect(name);
    socket.write(first);
    socket.once("data", (answer: Buffer) => socket.write(then(answer)));
    return await allOf(socket);
  }

  /** The bytes of both sides of a dialler's connection, as one who stands between them sees them. */
  async function overheard() {
    const { file, heard } = await opened(doors);
    const { name, secret } = pipeOf(file);
    const sides: [Buffer[], Buffer[]] = [[], []];
    const between = `${doors.pipes}millrace-${crypto.randomUUID()}`;
    const server = createServer((socket) => {
      const onward = connect(name);
      socket.on("data", (chunk: Buffer) => sides[0].push(chunk));
      onward.on("data", (chunk: Buffer) => sides[1].push(chunk));
      socket.pipe(onward).pipe(socket);
    });
    await listening(server, between);
    const onto = newFile();
    writeFileSync(onto, JSON.stringify({ name: between, secret }));
    await once(await dialled(onto), "data");
    return { name, secret, heard, dialler: Buffer.concat(sides[0]), listener: Buffer.concat(sides[1]) };
  }

  test("has a name and a secret of its own each time, in a file that only its user may read", async () => {
    const first = await opened(doors);
    const before = pipeOf(first.file);
    const again = await opened(doors, first.file);
    const after = pipeOf(again.file);
    expect([after.name === before.name, after.secret === before.secret, after.secret.length]).toEqual([
      false,
      false,
      43,
    ]);
    await once(await dialled(first.file), "data");
    expect(readdirSync(join(first.file, ".."))).toEqual(["a.agent"]);
    expect(modeOf(first.file, 0o600)).toBe(0o600);
  });

  test("tells a listener without its secret nothing but a nonce, and holds it for gone", async () => {
    const { listener, secret } = await overheard();
    const answers: readonly ((socket: Socket, nonce: Buffer) => void)[] = [
      (socket) => socket.write(Buffer.alloc(64)),
      (socket, nonce) => socket.write(Buffer.concat([nonce, nonce])),
      (socket) => socket.write(listener.subarray(0, 64)), // of another connection
      (socket) => socket.write(Buffer.alloc(1_000_000)),
    ];
    for (const answer of answers) {
      const { file, heard } = await impostor(answer, secret);
      await expect(dial(file)).rejects.toMatchObject({ code: "ECONNREFUSED" });
      expect((await Promise.all(heard)).map(({ length }) => length)).toEqual([32]);
    }
  });

  test("does not hold a listener for gone that ends the connection without a proof, or says nothing", async () => {
    const doorsOf = await Promise.all([impostor((socket) => socket.end("x")), impostor(() => {})]);
    const dials = await Promise.allSettled(doorsOf.map(({ file }) => dial(file)));
    const reasons = dials.map((dialled) => dialled.status === "rejected" && (dialled.reason as NodeJS.ErrnoException));
    expect(reasons).toMatchObject([{ message: "the connection ended before its proof" }, { name: "TimeoutError" }]);
    expect(JSON.stringify(reasons)).not.toMatch(/ECONN|EPIPE|ENOENT/);
  });

  test("hands over no dialler without its secret: not for words, for the listener's own proof, or for one of another connection", async () => {
    const { name, heard, dialler } = await overheard();
    expect(heard).toHaveLength(1);
    const nonce = dialler.subarray(0, 32);
    const hello = Buffer.from(`${JSON.stringify({ type: "look" })}\n`.repeat(10));
    const said = await Promise.all([
      stranger(name, hello, () => hello),
      stranger(name, nonce, (answer) => answer.subarray(32)),
      stranger(name, nonce, (answer) => answer.subarray(0, 32)),
      stranger(name, nonce, () => dialler.subarray(32, 64)),
    ]);
    expect(Math.max(...said.map(({ length }) => length))).toBe(64); // the listener's nonce and proof
    expect(heard).toHaveLength(1);
  });

  test("is gone where its file is empty, as a loss of power may leave it, and where the system knows no pipe of its name", async () => {
    const pipe = (name: string) => JSON.stringify({ name, secret: "of the user" });
    const texts = ["", pipe(`${doors.pipes}millrace-none`), pipe(join(tmpdir(), "millrace-none"))]; // ENOENT, as on Windows
    for (const text of texts) {
      const file = newFile();
      writeFileSync(file, text);
      await expect(dial(file)).rejects.toMatchObject({ code: "ECONNREFUSED" });
    }
  });
});
