import { Buffer } from "node:buffer";
import { mkdir, readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { deflateRawSync, inflateRawSync } from "node:zlib";
import { fromBinary, toBinary } from "@bufbuild/protobuf";
import { timestampMs } from "@bufbuild/protobuf/wkt";
import type { CascadeId } from "../../src/base/ids.ts";
import { remove } from "../../src/base/node/move-file.ts";
import { replaceFile } from "../../src/base/node/replace-file.ts";
import { CascadeTrajectorySummarySchema, CortexTrajectorySchema } from "../../src/proto/windsurf/exa/cortex_pb.ts";
import { Trajectory } from "./trajectory.ts";

/** Bytes of filler: at a conversation's start, for each step, after it was archived. */
const fillerBytes = { start: 4096, perStep: 2048, archived: 256 };

/**
 * One opaque `.pb` file per conversation: grows with every step, shrinks when archived, goes when deleted. Behind the
 * compressed trajectory stands filler, as the real one holds a snapshot of the workspace.
 * Source: docs/dev/wire/cascade.md, "Conversation files".
 */
export class TrajectoryFiles {
  readonly #folder: string;
  readonly #random: (bytes: number) => Uint8Array;
  /** Work on one file follows one another; of many saves that wait, one is enough. */
  readonly #work = new Map<CascadeId, { last: Promise<void>; waiting: Promise<void> | undefined }>();

  constructor(folder: string, random: (bytes: number) => Uint8Array) {
    this.#folder = folder;
    this.#random = random;
  }

  /** Writes the conversation as it is when its turn to be written comes; resolves when the file is on disk. */
  save(trajectory: Trajectory): Promise<void> {
    const { cascadeId } = trajectory;
    const waiting = this.#work.get(cascadeId)?.waiting;
    if (waiting !== undefined) return waiting;
    const write = this.#queue(cascadeId, () => {
      const work = this.#work.get(cascadeId);
      if (work !== undefined) work.waiting = undefined;
      return replaceFile(this.#path(cascadeId), this.#encode(trajectory), { mode: 0o644 });
    });
    const work = this.#work.get(cascadeId);
    if (work !== undefined) work.waiting = write;
    return write;
  }

  remove(cascadeId: CascadeId): Promise<void> {
    return this.#queue(cascadeId, () => remove(this.#path(cascadeId)));
  }

  /** Every conversation that an earlier process left; unreadable files are skipped, as the server does. */
  async load(): Promise<Trajectory[]> {
    await mkdir(this.#folder, { recursive: true });
    const loaded: Trajectory[] = [];
    for (const name of await readdir(this.#folder)) {
      if (!name.endsWith(".pb")) continue;
      const trajectory = decode(await readFile(join(this.#folder, name)));
      if (trajectory !== undefined) loaded.push(trajectory);
    }
    return loaded;
  }

  /** Whether the conversation's file is being written or about to be. */
  isWriting(cascadeId: CascadeId): boolean {
    return this.#work.has(cascadeId);
  }

  /** Resolves when nothing is being written. */
  async settled(): Promise<void> {
    await Promise.allSettled([...this.#work.values()].map((work) => work.last));
  }

  #path(cascadeId: CascadeId): string {
    return join(this.#folder, `${cascadeId}.pb`);
  }

  #queue(cascadeId: CascadeId, job: () => Promise<void>): Promise<void> {
    const last = this.#work.get(cascadeId)?.last ?? Promise.resolve();
    const next = last.then(job, job);
    this.#work.set(cascadeId, { last: next, waiting: undefined });
    const forget = () => {
      if (this.#work.get(cascadeId)?.last === next) this.#work.delete(cascadeId);
    };
    next.then(forget, forget);
    return next;
  }

  #encode(trajectory: Trajectory): Buffer {
    const parts = [
      toBinary(CascadeTrajectorySummarySchema, trajectory.toSummary()),
      toBinary(CortexTrajectorySchema, trajectory.toMessage()),
    ].map((part) => deflateRawSync(part));
    const lengths = Buffer.alloc(8);
    parts.forEach((part, i) => {
      lengths.writeUInt32BE(part.length, i * 4);
    });
    const filler = trajectory.archived
      ? fillerBytes.archived
      : fillerBytes.start + trajectory.steps.length * fillerBytes.perStep;
    return Buffer.concat([lengths, ...parts, this.#random(filler)]);
  }
}

function decode(content: Buffer): Trajectory | undefined {
  try {
    const first = content.readUInt32BE(0);
    const second = content.readUInt32BE(4);
    const summary = fromBinary(CascadeTrajectorySummarySchema, inflateRawSync(content.subarray(8, 8 + first)));
    const message = fromBinary(CortexTrajectorySchema, inflateRawSync(content.subarray(8 + first, 8 + first + second)));
    const trajectory = new Trajectory({
      cascadeId: message.cascadeId as CascadeId, // written from one
      trajectoryId: message.trajectoryId,
      createdAtMs: summary.createdTime === undefined ? 0 : timestampMs(summary.createdTime),
      source: message.source,
      type: message.trajectoryType,
      workspaceUri: message.metadata?.workspaces[0]?.workspaceFolderAbsoluteUri ?? "",
    });
    if (summary.lastModifiedTime !== undefined) trajectory.modifiedAtMs = timestampMs(summary.lastModifiedTime);
    if (summary.lastUserInputTime !== undefined) trajectory.lastInputAtMs = timestampMs(summary.lastUserInputTime);
    trajectory.steps = message.steps;
    trajectory.generatorMetadata = message.generatorMetadata;
    trajectory.executorMetadatas = message.executorMetadatas;
    trajectory.archived = summary.isArchived;
    trajectory.title = summary.summary;
    trajectory.lastModelUid = summary.lastGeneratorModelUid ?? "";
    return trajectory;
  } catch {
    return undefined; // a file that was cut while it was written, or is none of ours
  }
}
