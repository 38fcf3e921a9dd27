import { describe, expect, onTestFinished, test } from "vitest";
import { FakeClock } from "../../base/clock.fake.ts";
import { WriteWatch } from "./write-watch.ts";

const never = new AbortController().signal;

/** A watch that looks every 50 ms, over a version that the test sets. */
function begin() {
  const clock = new FakeClock();
  const file: { version: number | Error } = { version: 1 };
  const dataVersion = () => {
    if (file.version instanceof Error) throw file.version;
    return file.version;
  };
  const watch = new WriteWatch({ clock, dataVersion, everyMs: 50 });
  onTestFinished(() => watch.close());
  const woken: string[] = [];
  const wait = (name: string) =>
    void watch.wait(name, never).then(
      () => woken.push(name),
      () => {},
    );
  return { clock, file, watch, woken, wait };
}

describe("callers that wait for a change", () => {
  test("wake at once after a write of this process to what they wait for, and to nothing else", async () => {
    const { clock, watch, woken, wait } = begin();
    for (const name of ["a", "b"]) wait(name);
    watch.wake("a");
    await clock.advance(0);
    expect(woken).toEqual(["a"]);
    watch.wakeAll();
    await clock.advance(0);
    expect(woken).toEqual(["a", "b"]);
  });

  test("wake at the next look after another process has written anything, and keep no timer afterwards", async () => {
    const { clock, file, woken, wait } = begin();
    for (const name of ["a", "b"]) wait(name);
    await clock.advance(500);
    expect(woken).toEqual([]);
    file.version = 2;
    await clock.advance(50);
    expect(woken).toEqual(["a", "b"]);
    await clock.advance(50);
    expect(clock.sleeping).toBe(0);
  });

  test("sleep on while the file cannot be read, and wake once it can", async () => {
    const { clock, file, woken, wait } = begin();
    file.version = new Error("the file is gone");
    wait("a");
    await clock.advance(500);
    expect(woken).toEqual([]);
    file.version = 1;
    await clock.advance(50);
    expect(woken).toEqual(["a"]);
  });

  test("are let go with the reason of their signal, or when the log is closed", async () => {
    const { watch } = begin();
    const leaving = new AbortController();
    const left = watch.wait("a", leaving.signal);
    leaving.abort(new Error("left"));
    await expect(left).rejects.toThrow("left");
    const [closed] = await Promise.allSettled([watch.wait("a", never), watch.close()]);
    expect(closed).toMatchObject({ status: "rejected", reason: { message: "the log was closed" } });
  });
});
