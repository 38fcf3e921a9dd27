import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { onTestFinished } from "vitest";

/** A client in a process of its own, which can be frozen and killed: the kernel keeps its connection as it keeps any other one. */
export interface ClientProcess {
  /** Resolves once it has sent its request, and once it has read the first bytes of the answer. */
  readonly sent: Promise<void>;
  readonly reading: Promise<void>;
  /** Stops it between two instructions: it reads nothing more, and its connection stays open. */
  freeze(): void;
  kill(): Promise<void>;
}

const program = `
const { request } = require("node:http");
const { url, key, path, body, headers } = JSON.parse(process.argv[1]);
const asked = request(url + path, {
  method: "POST",
  headers: { authorization: "Bearer " + key, "content-type": "application/json", ...headers },
});
asked.on("response", (answer) => answer.on("data", () => process.stdout.write("reading\\n")));
asked.on("finish", () => process.stdout.write("sent\\n"));
asked.end(JSON.stringify(body));
`;

export interface ClientRequest {
  readonly url: string;
  readonly key: string;
  readonly path: string;
  readonly body: object;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Starts a client that sends one request. */
export function clientProcess({ url, key, path, body, headers }: ClientRequest): ClientProcess {
  const asked = JSON.stringify({ url, key, path, body, headers });
  const child = spawn(process.execPath, ["-e", program, asked], { stdio: ["ignore", "pipe", "inherit"] });
  onTestFinished(() => end(child));
  let said = "";
  child.stdout.on("data", (chunk: Buffer) => {
    said += chunk.toString();
    child.emit("said");
  });
  const until = async (word: string) => {
    while (!said.includes(word)) await once(child, "said");
  };
  return {
    sent: until("sent"),
    reading: until("reading"),
    freeze: () => void child.kill("SIGSTOP"),
    kill: () => end(child),
  };
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, "exit");
  child.kill("SIGKILL");
  await exited;
}
