import { spawn } from "node:child_process";
import { appendFileSync } from "node:fs";
import process from "node:process";

/** Runs the agent that the arguments name in its own place, and writes each line of both directions to the file of the first argument. */
const [file = "", program = "", ...args] = process.argv.slice(2);
const child = spawn(program, args, { stdio: ["pipe", "pipe", "inherit"] });

function record(direction: string): (chunk: Buffer) => void {
  let rest = "";
  return (chunk) => {
    const lines = (rest + chunk.toString("latin1")).split("\n");
    rest = lines.pop() ?? "";
    const text = lines.map((line) => `${direction} ${line}\n`).join("");
    if (text !== "") appendFileSync(file, Buffer.from(text, "latin1"));
  };
}

process.stdin.on("data", record(">")).pipe(child.stdin);
child.stdout.on("data", record("<")).pipe(process.stdout);
child.stdin.on("error", () => {}); // the agent ended first
for (const signal of ["SIGTERM", "SIGINT"] as const) process.on(signal, () => child.kill(signal));
child.on("exit", (code, signal) => {
  if (signal !== null) process.kill(process.pid, "SIGKILL");
  process.exitCode = code ?? 1;
  process.stdin.destroy();
});
