import { readFileSync } from "node:fs";
import { connect } from "node:net";
import { expect, test } from "vitest";
import { requestBytes, sendRaw } from "../attacks/raw-socket.ts";
import { type Target, targets } from "../attacks/route-rows.ts";
import { sharedWorld } from "../support/world.ts";

const world = sharedWorld(["--retention", "1m"]);

const portOf = () => Number(new URL(world().served.url).port);
const all = targets();

function honest({ text }: Target) {
  return {
    host: "127.0.0.1",
    authorization: `Bearer ${world().served.key}`,
    "content-type": "application/json",
    "content-length": String(Buffer.byteLength(text)),
  };
}

/** Whether an honest client on a connection of its own is answered. */
async function lives(): Promise<number | undefined> {
  const { statuses } = await sendRaw(portOf(), requestBytes("GET", "/api/hello", { host: "127.0.0.1" }));
  return statuses[0];
}

test("ends a connection that asks 2,000 times and reads nothing, and keeps little of it", async () => {
  const before = residentMb();
  const asking = all
    .filter(({ route }) => route.method === "GET")
    .map((target) => {
      const socket = connect(portOf(), "127.0.0.1");
      socket.on("error", () => {}); // it is reset
      socket.pause();
      socket.write(requestBytes("GET", target.target, honest(target)).repeat(2_000));
      return socket;
    });
  for (let i = 0; i < 20; i++) expect(await lives()).toBe(200);
  expect(residentMb() - before).toBeLessThan(250);
  for (const socket of asking) {
    let text = "";
    socket.on("data", (piece) => (text += piece.toString("latin1")));
    socket.resume();
    if (!socket.closed) await new Promise((resolve) => void socket.once("close", resolve));
    expect(text.split("HTTP/1.1 ").length - 1).toBeLessThanOrEqual(64);
  }
  expect(await lives()).toBe(200);
});

/** Memory of the gateway; 0 where the system does not say it. */
function residentMb(): number {
  if (process.platform !== "linux") return 0;
  const status = readFileSync(`/proc/${world().served.pid}/status`, "utf8");
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]) / 1024;
}
