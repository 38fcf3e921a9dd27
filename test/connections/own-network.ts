import { spawnSync } from "node:child_process";

/** A network of its own, with nothing in it but its loopback: before a command, it runs there. */
export const ownNetwork = [
  "unshare",
  "--user",
  "--map-root-user",
  "--net",
  "sh",
  "-c",
  'ip link set lo up && exec "$@"',
  "sh",
];

/** Whether this machine allows such a network. */
export const hasNetworks =
  process.platform === "linux" && spawnSync("unshare", [...ownNetwork.slice(1), "true"]).status === 0;

/** Before a command: writes every address that it and its children dial to a file for each thread. */
export function tracing(record: string, ...more: readonly string[]): readonly string[] {
  const calls = "trace=connect,sendto,sendmsg,sendmmsg";
  return ["strace", ...more, "-ff", "--seccomp-bpf", "-s", "256", "-e", calls, "-o", record];
}
