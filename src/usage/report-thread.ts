import type { Worker } from "node:worker_threads";
import { type ErrorRecord, MillraceError } from "../base/errors.ts";
import { startThread } from "../base/node/thread.ts";
import type { AskReport, ReportName } from "./reports.ts";

export interface ReportQuestion {
  readonly id: number;
  readonly name: ReportName;
  readonly asked: readonly unknown[];
}

export type ReportAnswer = { readonly id: number } & ({ readonly report: unknown } | { readonly error: ErrorRecord });

/** Once nobody has asked for this long, the thread ends and its memory is free; ms. */
const idleMs = 60_000;
/** A page of 1,000 turns and the rows behind it need a small part of this. */
const resourceLimits = { maxYoungGenerationSizeMb: 8, maxOldGenerationSizeMb: 96 };

/**
 * Makes reports of the history in `file` in a separate thread: however long they read, answers stream on meanwhile. The thread starts
 * with the first question.
 */
export function openReportThread(file: string): { readonly ask: AskReport; close(): Promise<void> } {
  const waiting = new Map<number, PromiseWithResolvers<unknown>>();
  let worker: Worker | undefined;
  let idle: NodeJS.Timeout | undefined;
  let asked = 0;

  function start(): Worker {
    const started = startThread("report-worker", import.meta.url, { data: file, resourceLimits });
    started.unref();
    started.on("message", (answer: ReportAnswer) => {
      const asker = waiting.get(answer.id);
      waiting.delete(answer.id);
      if ("error" in answer) asker?.reject(MillraceError.fromRecord(answer.error));
      else asker?.resolve(answer.report);
      if (waiting.size === 0) idle = setTimeout(() => void end(), idleMs).unref();
    });
    let cause: unknown;
    started.on("error", (error) => {
      cause = error;
    });
    started.on("exit", () => {
      if (worker === started) worker = undefined;
      if (worker !== undefined) return;
      const lost = new MillraceError("internal", "The thread that reads the usage history ended.", { cause });
      for (const asker of waiting.values()) asker.reject(lost);
      waiting.clear();
    });
    return started;
  }

  async function end(): Promise<void> {
    clearTimeout(idle);
    const ending = worker;
    worker = undefined;
    await ending?.terminate();
  }

  const ask = (name: ReportName, ...question: readonly unknown[]): Promise<unknown> => {
    clearTimeout(idle);
    const asker = Promise.withResolvers<unknown>();
    waiting.set(++asked, asker);
    worker ??= start();
    worker.postMessage({ id: asked, name, asked: question } satisfies ReportQuestion, []);
    return asker.promise;
  };
  return { ask: ask as AskReport, close: end }; // the worker answers as `makeReport` does
}
