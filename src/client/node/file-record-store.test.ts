import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { describe, expect, onTestFinished, test } from "vitest";
import { modeOf } from "../../../test/support/file-mode.ts";
import { temporaryFolder } from "../../../test/support/temporary.ts";
import { describeRecordStore, sampleRecord } from "../records/record-store.conformance.ts";
import { openFileRecordStore } from "./file-record-store.ts";

const key = "0b0e1b22-27a5-4b0e-8a51-1d3f6f0a5c01";
const newFolder = () => temporaryFolder();

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
    for (const name of readdirSync(folder).filter((each) => !each.endsWith(".door"))) {
      expect(modeOf(join(folder, name), 0o600)).toBe(0o600);
      expect(readFileSync(join(folder, name)).toString("latin1")).not.toMatch(/canary-label|aGVsbG8|AAAAAAAA/);
    }
  });

  test("are there as they were saved last, also where the next one could not be written", async () => {
    const folder = newFolder();
    const owned = await (await openFileRecordStore({ folder })).take(key);
    await owned?.save({ ...sampleRecord(key), label: "first" });
    const file = join(folder, `${key}.stream`);
    renameSync(file, `${file}.away`);
    mkdirSync(file); // nothing can be put in its place
    await expect(owned?.save({ ...sampleRecord(key), label: "second" })).rejects.toMatchObject({ code: "degraded" });
    rmSync(file, { recursive: true });
    renameSync(`${file}.away`, file);
    expect(await owned?.read()).toMatchObject({ label: "first" });
    await owned?.save({ ...sampleRecord(key), label: "third" });
    expect(await owned?.read()).toMatchObject({ label: "third" });
    await owned?.release();
  });

  test("stay with a process that lives, and belong to the next one once it was killed", async () => {
    const folder = newFolder();
    const module = JSON.stringify(pathToFileURL(join(import.meta.dirname, "file-record-store.ts")).href);
    const program = `
      const { openFileRecordStore } = await import(${module});
      const owned = await (await openFileRecordStore({ folder: ${JSON.stringify(folder)} })).take(${JSON.stringify(key)});
      await owned.save(${JSON.stringify(sampleRecord(key))});
      console.log("owned");
      setInterval(() => {}, 1e6);
    `;
    const words = ["--experimental-strip-types", "--no-warnings", "--input-type=module", "-e", program];
    const owner = spawn(process.execPath, words, { stdio: ["ignore", "pipe", "inherit"] });
    onTestFinished(() => void owner.kill("SIGKILL"));
    await once(owner.stdout, "data");
    const store = await openFileRecordStore({ folder });
    expect(await store.take(key)).toBeUndefined();
    const ended = once(owner, "exit");
    owner.kill("SIGKILL");
    await ended;
    const next = await store.take(key);
    expect(await next?.read()).toEqual(sampleRecord(key));
    expect(readdirSync(folder).filter((name) => name.endsWith(".door"))).toHaveLength(1);
  });

  test("belong to the next process when their owner file is of an earlier build, and the one before writes no more", async () => {
    const folder = newFolder();
    const store = await openFileRecordStore({ folder });
    const owned = await store.take(key);
    writeFileSync(join(folder, `${key}.1.owner`), `machine.boot.space.1/${process.ppid}`);
    expect(await store.take(key)).toBeDefined();
    await expect(owned?.save(sampleRecord(key))).rejects.toMatchObject({ details: { reason: "record_taken" } });
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

  test("are saved again after a mark that could not be moved", async () => {
    const folder = newFolder();
    const store = await openFileRecordStore({ folder });
    const owned = await store.take(key);
    await owned?.save(sampleRecord(key));
    const inTheWay = join(folder, `${key}.2.mark`);
    mkdirSync(join(inTheWay, "full"), { recursive: true });
    await expect(owned?.save({ ...sampleRecord(key), nextSeqno: 8 })).rejects.toMatchObject({ code: "degraded" });
    rmSync(inTheWay, { recursive: true });
    await owned?.save({ ...sampleRecord(key), nextSeqno: 9 });
    expect(await owned?.read()).toMatchObject({ nextSeqno: 9 });
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
