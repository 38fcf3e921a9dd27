import { mkdtempSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { modeOf } from "../../../test/support/file-mode.ts";
import { ownProcess, spellOwner } from "../../base/node/process-owner.ts";
import { describeRecordStore, sampleRecord } from "../records/record-store.conformance.ts";
import { openFileRecordStore } from "./file-record-store.ts";

const key = "0b0e1b22-27a5-4b0e-8a51-1d3f6f0a5c01";
const newFolder = () => mkdtempSync(join(tmpdir(), "millrace-records-"));

describeRecordStore("file", () => {
  const folder = newFolder();
  return {
    open: () => openFileRecordStore({ folder }),
    reopen: () => openFileRecordStore({ folder }),
    atRest: {
      read: (streamKey) => Promise.resolve(readFileSync(join(folder, `${streamKey}.stream`))),
      write: (streamKey, bytes) => Promise.resolve(writeFileSync(join(folder, `${streamKey}.stream`), bytes)),
      keptAside: (streamKey, bytes) =>
        Promise.resolve(
          readdirSync(folder)
            .filter((name) => name.startsWith(streamKey) && name.endsWith(".aside"))
            .some((name) => readFileSync(join(folder, name)).equals(bytes)),
        ),
    },
  };
});

describe("records in files", () => {
  test("can be read by their user alone, and hold nothing in the clear", async () => {
    const folder = join(newFolder(), "made", "here");
    const store = await openFileRecordStore({ folder });
    await (await store.take(key))?.save({ ...sampleRecord(key), label: "canary-label" });
    expect(modeOf(folder, 0o700)).toBe(0o700);
    for (const name of readdirSync(folder)) {
      expect(modeOf(join(folder, name), 0o600)).toBe(0o600);
      expect(readFileSync(join(folder, name)).toString("latin1")).not.toMatch(/canary-label|aGVsbG8|AAAAAAAA/);
    }
  });

  test("belong to the next process when their owner died", async () => {
    const folder = newFolder();
    const owned = await (await openFileRecordStore({ folder })).take(key);
    await owned?.save(sampleRecord(key));
    const ownerFile = join(folder, `${key}.1.owner`);
    writeFileSync(ownerFile, spellOwner({ ...ownProcess(), pid: 2 ** 30 })); // no system has such a pid
    const next = await (await openFileRecordStore({ folder })).take(key);
    expect(await next?.read()).toEqual(sampleRecord(key));
    await expect(owned?.save(sampleRecord(key))).rejects.toMatchObject({ details: { reason: "record_taken" } });
  });

  test("belong to the next process when another one has their owner's pid now", async () => {
    const folder = newFolder();
    await (await openFileRecordStore({ folder })).take(key);
    const ownerFile = join(folder, `${key}.1.owner`);
    if (ownProcess().started === "") return; // the system does not say when a process started
    writeFileSync(ownerFile, spellOwner({ ...ownProcess(), started: "1" }));
    expect(await (await openFileRecordStore({ folder })).take(key)).toBeDefined();
  });

  test("stay with another process that lives", async () => {
    const folder = newFolder();
    await (await openFileRecordStore({ folder })).take(key);
    const ownerFile = join(folder, `${key}.1.owner`);
    writeFileSync(ownerFile, spellOwner({ ...ownProcess(), pid: process.ppid, started: "" }));
    expect(await (await openFileRecordStore({ folder })).take(key)).toBeUndefined();
  });

  test("survive a death between the record and its mark, and leave nothing behind in the end", async () => {
    const folder = newFolder();
    const store = await openFileRecordStore({ folder });
    const owned = await store.take(key);
    await owned?.save(sampleRecord(key));
    const [mark] = readdirSync(folder).filter((name) => name.endsWith(".mark"));
    const before = readFileSync(join(folder, `${key}.stream`));
    await owned?.save({ ...sampleRecord(key), nextSeqno: 9 });
    expect(before).not.toEqual(readFileSync(join(folder, `${key}.stream`)));
    // As it would be if the process had died before it moved the mark on.
    const [moved] = readdirSync(folder).filter((name) => name.endsWith(".mark"));
    const { renameSync } = await import("node:fs");
    renameSync(join(folder, moved ?? ""), join(folder, mark ?? ""));
    expect(await owned?.read()).toMatchObject({ nextSeqno: 9 });
    await owned?.save(sampleRecord(key));
    await owned?.remove();
    await owned?.release();
    expect(readdirSync(folder)).toEqual(["records.key"]);
  });

  test("refuse names that lead elsewhere", async () => {
    const store = await openFileRecordStore({ folder: newFolder() });
    await expect(store.take("../../etc/passwd")).rejects.toMatchObject({ code: "invalid_request" });
  });

  test("say what is wrong with a folder that cannot be used", async () => {
    const file = join(newFolder(), "file");
    writeFileSync(file, "");
    await expect(openFileRecordStore({ folder: join(file, "sub") })).rejects.toMatchObject({ code: "degraded" });
  });

  test("report a damaged key, and do not ask to make the folder writable", async () => {
    const folder = newFolder();
    writeFileSync(join(folder, "records.key"), "short");
    await expect(openFileRecordStore({ folder })).rejects.toMatchObject({
      code: "degraded",
      message: expect.stringContaining("records.key"),
      hint: expect.stringContaining("Restore the file"),
    });
    const key = new Uint8Array(16);
    await expect(openFileRecordStore({ folder, key })).rejects.toMatchObject({ code: "invalid_request", param: "key" });
  });
});
