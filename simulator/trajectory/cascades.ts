import { create } from "@bufbuild/protobuf";
import { bestEffort } from "../../src/base/async.ts";
import type { CascadeId } from "../../src/base/ids.ts";
import {
  CascadeRunStatus,
  type CortexTrajectorySource,
  type CortexTrajectoryType,
  QueuedMessageSchema,
} from "../../src/proto/windsurf/exa/cortex_pb.ts";
import { rpcError } from "../faults/error-texts.ts";
import type { CascadeReport, Observations } from "../report.ts";
import { Trajectory } from "./trajectory.ts";
import type { TrajectoryFiles } from "./trajectory-files.ts";
import { runTurn, type TurnInput, type TurnServices } from "./turn.ts";

interface Entry {
  readonly trajectory: Trajectory;
  /** Turns that wait for the running one, oldest first, by queue id. */
  readonly waiting: { readonly queueId: string; readonly input: TurnInput }[];
  running: AbortController | undefined;
}

/** Every conversation of the server: starts, runs, queues, cancels, archives and deletes them. */
export class Cascades {
  readonly #entries = new Map<CascadeId, Entry>();
  readonly #files: TrajectoryFiles;
  readonly #services: TurnServices;
  readonly #observations: Observations;
  readonly #workspaceUri: string;

  constructor(parts: {
    readonly files: TrajectoryFiles;
    readonly services: Omit<TurnServices, "saved">;
    readonly observations: Observations;
    readonly workspaceUri: string;
  }) {
    this.#files = parts.files;
    this.#observations = parts.observations;
    this.#workspaceUri = parts.workspaceUri;
    this.#services = { ...parts.services, saved: (trajectory) => this.#changed(trajectory) };
  }

  /** Loads the conversations that an earlier process left on disk; turns that ran then are over. */
  async load(): Promise<void> {
    for (const trajectory of await this.#files.load()) {
      this.#entries.set(trajectory.cascadeId, { trajectory, waiting: [], running: undefined });
    }
  }

  async start(source: CortexTrajectorySource, type: CortexTrajectoryType): Promise<Trajectory> {
    const trajectory = new Trajectory({
      cascadeId: this.#services.newId() as CascadeId, // a fresh UUID is one
      trajectoryId: this.#services.newId(),
      createdAtMs: this.#services.clock.now(),
      source,
      type,
      workspaceUri: this.#workspaceUri,
    });
    this.#entries.set(trajectory.cascadeId, { trajectory, waiting: [], running: undefined });
    this.#observations.figures.startedCascades++;
    this.#observations.changed();
    await this.#files.save(trajectory);
    return trajectory;
  }

  /** @throws ConnectError not_found for an id that this server does not know. */
  get(cascadeId: string): Trajectory {
    return this.#entry(cascadeId).trajectory;
  }

  /** Runs a turn now, or after the ones before it. Gives the queue id if it has to wait. */
  send(cascadeId: string, input: TurnInput): string | undefined {
    const entry = this.#entry(cascadeId);
    if (entry.running === undefined) {
      void this.#run(entry, input);
      return undefined;
    }
    const queueId = this.#services.newId();
    entry.waiting.push({ queueId, input });
    entry.trajectory.queue.push(create(QueuedMessageSchema, { queueId }));
    entry.trajectory.status = CascadeRunStatus.BUSY;
    this.#observations.changed();
    return queueId;
  }

  cancel(cascadeId: string): void {
    const entry = this.#entry(cascadeId);
    this.#observations.figures.cancels.push(entry.trajectory.cascadeId);
    if (entry.running !== undefined) {
      entry.trajectory.status = CascadeRunStatus.CANCELING;
      entry.running.abort(new Error("canceled by the user"));
    }
    this.#observations.changed();
  }

  async archive(cascadeId: string, archived: boolean): Promise<void> {
    const { trajectory } = this.#entry(cascadeId);
    trajectory.archived = archived;
    if (archived) this.#observations.figures.archives.push(trajectory.cascadeId);
    await this.#files.save(trajectory);
    this.#observations.changed();
  }

  async delete(cascadeId: string): Promise<void> {
    const entry = this.#entry(cascadeId);
    entry.running?.abort(new Error("deleted"));
    this.#entries.delete(entry.trajectory.cascadeId);
    this.#observations.figures.deletedCascades.push(entry.trajectory.cascadeId);
    await this.#files.remove(entry.trajectory.cascadeId);
    this.#observations.changed();
  }

  all(): readonly Trajectory[] {
    return [...this.#entries.values()].map((entry) => entry.trajectory);
  }

  report(): CascadeReport[] {
    return this.all().map((trajectory) => ({
      cascadeId: trajectory.cascadeId,
      trajectoryId: trajectory.trajectoryId,
      status: statusNames[trajectory.status] ?? "idle",
      steps: trajectory.steps.length,
      messages: trajectory.steps.filter((step) => step.step.case === "userInput").length,
      turnsEnded: trajectory.executorMetadatas.length,
      archived: trajectory.archived,
      writing: this.#files.isWriting(trajectory.cascadeId),
    }));
  }

  #entry(cascadeId: string): Entry {
    const entry = this.#entries.get(cascadeId as CascadeId); // an unknown one is not in the map
    if (entry === undefined) throw rpcError("not_found", cascadeId);
    return entry;
  }

  /** Runs a turn and then the ones that came while it ran; the turn itself never fails. */
  async #run(entry: Entry, first: TurnInput): Promise<void> {
    const { trajectory } = entry;
    for (let input: TurnInput | undefined = first; input !== undefined; input = entry.waiting.shift()?.input) {
      const running = new AbortController();
      entry.running = running;
      trajectory.archived = false;
      const prompt = { ...input.prompt, history: historyOf(trajectory) };
      await runTurn(trajectory, { ...input, prompt }, this.#services, running.signal);
      trajectory.queue.shift();
    }
    entry.running = undefined;
    this.#observations.changed();
  }

  #changed(trajectory: Trajectory): void {
    if (!this.#entries.has(trajectory.cascadeId)) return this.#observations.changed();
    const saved = this.#files.save(trajectory);
    this.#observations.changed();
    void bestEffort(saved.finally(() => this.#observations.changed())); // a full disk ends no turn
  }
}

const statusNames: Readonly<Record<number, CascadeReport["status"]>> = {
  [CascadeRunStatus.IDLE]: "idle",
  [CascadeRunStatus.RUNNING]: "running",
  [CascadeRunStatus.CANCELING]: "canceling",
  [CascadeRunStatus.BUSY]: "busy",
};

function historyOf(trajectory: Trajectory): { role: "user" | "assistant"; text: string }[] {
  const history: { role: "user" | "assistant"; text: string }[] = [];
  for (const { step } of trajectory.steps) {
    if (step.case === "userInput") history.push({ role: "user", text: step.value.userResponse });
    else if (step.case === "plannerResponse" && step.value.response !== "") {
      history.push({ role: "assistant", text: step.value.response });
    }
  }
  return history;
}
