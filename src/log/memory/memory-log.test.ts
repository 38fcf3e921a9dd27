import { describeLogStore } from "../store.conformance.ts";
import { openMemoryLog } from "./open-memory-log.ts";

describeLogStore("memory", { survivesRestart: false, sharedBetweenProcesses: false }, async () => ({
  open: async (clock) => openMemoryLog({ clock }),
  dispose: async () => {},
}));
