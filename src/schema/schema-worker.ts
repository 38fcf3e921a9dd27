import { readFileSync } from "node:fs";
import { parentPort, workerData } from "node:worker_threads";
import { toBinary } from "@bufbuild/protobuf";
import { FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";
import { toMillraceError } from "../base/errors.ts";
import type { WorkerAnswer } from "./read-in-worker.ts";
import { readDescriptors } from "./read-schema.ts";

// Runs in a separate thread: reads the bundle at the given path, answers once, and ends.
parentPort?.postMessage(answer(String(workerData)), []);

function answer(path: string): WorkerAnswer {
  try {
    const { set, problems } = readDescriptors(readFileSync(path, "utf8"));
    return { set: toBinary(FileDescriptorSetSchema, set), problems };
  } catch (error) {
    return { error: toMillraceError(error).toRecord() };
  }
}
