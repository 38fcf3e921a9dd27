import { openMemoryRecordStore } from "./memory-record-store.ts";
import { describeRecordStore } from "./record-store.conformance.ts";

describeRecordStore("memory", () => {
  const store = openMemoryRecordStore();
  return { open: () => Promise.resolve(store) };
});
