import { parentPort, workerData } from "node:worker_threads";
import { toMillraceError } from "../base/errors.ts";
import type { UsageHistory } from "./history/history.ts";
import { openHistory } from "./history/sqlite-history.ts";
import type { ReportAnswer, ReportQuestion } from "./report-thread.ts";
import { makeReport } from "./reports.ts";

// Runs in a separate thread, over a connection of its own to the file at the given path.
let history: UsageHistory | undefined;

parentPort?.on("message", ({ id, name, asked }: ReportQuestion) => {
  parentPort?.postMessage(answer(id, name, asked), []);
});

function answer(id: number, name: ReportQuestion["name"], asked: readonly unknown[]): ReportAnswer {
  try {
    history ??= openHistory({ file: String(workerData), readOnly: true });
    return { id, report: makeReport(history, name, asked) };
  } catch (error) {
    return { id, error: toMillraceError(error).toRecord() };
  }
}
