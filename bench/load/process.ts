import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";

/** Starts a process of this folder, tells it its order, and answers what it reports once it has ended. */
export async function asked<Report>(file: string, order: unknown): Promise<Report> {
  const child = fork(join(import.meta.dirname, file));
  const report = await told<Report>(child, order);
  if (child.exitCode === null) await once(child, "exit");
  return report;
}

/** Tells a process something, and answers what it says next. */
export async function told<Report>(child: ChildProcess, message: unknown): Promise<Report> {
  const heard = new AbortController();
  const died = once(child, "exit", heard).then(([code]): never => {
    throw new Error(`a process of the benchmark ended with ${code}`);
  });
  died.catch(() => {}); // no longer waited for once it has answered
  const answer = once(child, "message");
  child.send(message as object); // plain data
  const [report] = (await Promise.race([answer, died])) as [Report]; // its own wire
  heard.abort();
  return report;
}
