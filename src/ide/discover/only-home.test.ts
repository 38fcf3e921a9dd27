import { expect, test } from "vitest";
import { FakeHost, fakeWindsurf } from "../host/host.fake.ts";
import type { Probe } from "../process/probe-port.ts";
import { discover } from "./discover.ts";
import { noOverrides } from "./overrides.ts";

const answers: Probe = () => Promise.resolve({ ok: true, tls: false, protocol: "grpc" });

test("with a product asked for as well, those of other homes are not even told by their product", async () => {
  const host = new FakeHost();
  const theirs = fakeWindsurf(11, 4011);
  host.add({ ...theirs, environment: { ...theirs.environment, HOME: "/home/me" } });
  const overrides = { ...noOverrides, onlyHome: "/home/stand-in", variant: "windsurf-next" as const };
  const { trace } = await discover(
    { host, probe: answers, overrides, lastGood: new Map() },
    new AbortController().signal,
  );
  expect(trace.entries.filter(({ verdict }) => verdict === "rejected").map(({ rule }) => rule)).toEqual(["home"]);
});

test("with a requested home, IDEs of every other home are recognised and left alone", async () => {
  const host = new FakeHost();
  const mine = fakeWindsurf(10, 4010);
  const theirs = fakeWindsurf(11, 4011);
  host.add({ ...mine, environment: { ...mine.environment, HOME: "/home/stand-in" } });
  host.add({ ...theirs, environment: { ...theirs.environment, HOME: "/home/me" } });
  const probed: number[] = [];
  const probe: Probe = (target, signal) => {
    probed.push(target.port);
    return answers(target, signal);
  };
  const overrides = { ...noOverrides, onlyHome: "/home/stand-in" };
  const { ides, trace } = await discover({ host, probe, overrides, lastGood: new Map() }, new AbortController().signal);
  expect(ides.map(({ pid }) => pid)).toEqual([10]);
  expect(probed).toEqual([4010]);
  expect(trace.entries).toContainEqual(
    expect.objectContaining({ subject: "pid 11", rule: "home", verdict: "rejected" }),
  );
});

test("with a requested home, an IDE in a container or of another user is no obstacle: it belongs to another home", async () => {
  const host = new FakeHost();
  const contained = fakeWindsurf(10, 4010);
  const others = fakeWindsurf(11, 4011);
  host.add({ ...contained, row: { ...contained.row, elsewhere: "runs in a container with its own network" } });
  host.add({ ...others, row: { ...others.row, owner: "other" } });
  const overrides = { ...noOverrides, onlyHome: "/home/stand-in" };
  const { trace } = await discover(
    { host, probe: answers, overrides, lastGood: new Map() },
    new AbortController().signal,
  );
  expect(trace.entries.filter(({ verdict }) => verdict === "rejected").map(({ rule }) => rule)).toEqual([
    "home",
    "home",
  ]);
});
