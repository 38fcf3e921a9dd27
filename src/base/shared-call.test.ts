import { describe, expect, it } from "vitest";
import { SharedCall } from "./shared-call.ts";

const never = new AbortController().signal;

describe("a shared call", () => {
  it("runs once for all who join while it runs, and again for who comes later", async () => {
    const call = new SharedCall<number>();
    let runs = 0;
    const work = async () => ++runs;
    expect(await Promise.all([call.join(work, never), call.join(work, never)])).toEqual([1, 1]);
    expect(await call.join(work, never)).toBe(2);
  });

  it("fails for all of them, and is then tried afresh", async () => {
    const call = new SharedCall<number>();
    const broken = async () => {
      throw new Error("broken");
    };
    const both = await Promise.allSettled([call.join(broken, never), call.join(broken, never)]);
    expect(both.map((result) => result.status)).toEqual(["rejected", "rejected"]);
    expect(await call.join(async () => 7, never)).toBe(7);
  });

  it("continues for the others when one leaves", async () => {
    const call = new SharedCall<string>();
    const gate = Promise.withResolvers<string>();
    const quitter = new AbortController();
    let stopped = false;
    const work = (signal: AbortSignal) => {
      signal.addEventListener("abort", () => {
        stopped = true;
      });
      return gate.promise;
    };
    const first = call.join(work, quitter.signal);
    const second = call.join(work, never);
    quitter.abort(new Error("enough"));
    await expect(first).rejects.toThrow("enough");
    expect(stopped).toBe(false);
    gate.resolve("answer");
    expect(await second).toBe("answer");
  });

  it("is stopped when the last one leaves; who comes then gets a new one", async () => {
    const call = new SharedCall<string>();
    const quitter = new AbortController();
    const stopped = Promise.withResolvers<unknown>();
    const work = (signal: AbortSignal) =>
      new Promise<string>((_, reject) => {
        signal.addEventListener("abort", () => {
          stopped.resolve(signal.reason);
          reject(new Error("stopped"));
        });
      });
    const only = call.join(work, quitter.signal);
    quitter.abort(new Error("enough"));
    await expect(only).rejects.toThrow("enough");
    expect(await stopped.promise).toBe(quitter.signal.reason);
    expect(await call.join(async () => "afresh", never)).toBe("afresh");
  });

  it("is left at once when starting it aborts the caller's own signal", async () => {
    const call = new SharedCall<string>();
    const quitter = new AbortController();
    const work = (signal: AbortSignal) =>
      new Promise<string>((_, reject) => {
        signal.addEventListener("abort", () => reject(new Error("stopped")));
        quitter.abort(new Error("enough"));
      });
    await expect(call.join(work, quitter.signal)).rejects.toThrow("enough");
  });

  it("does not start for a signal that has aborted", async () => {
    const call = new SharedCall<number>();
    let runs = 0;
    await expect(call.join(async () => ++runs, AbortSignal.abort(new Error("enough")))).rejects.toThrow("enough");
    expect(runs).toBe(0);
  });
});
