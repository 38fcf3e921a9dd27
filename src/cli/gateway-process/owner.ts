import { hostname } from "node:os";

/** Names this process among those that share a store: machine, pid, and what tells two lives of one pid apart. */
export function ownerName(instance: string): string {
  return `${hostname()}/${process.pid}/${instance}`;
}

/** The machine that an owner's process runs on. */
export function machineOf(owner: string): string | undefined {
  return owner.split("/")[0];
}

/**
 * Whether the process that an owner names is known to be gone: it ran on this machine, and its pid is free or ours. One
 * that cannot be told (another machine, a pid that somebody else has now) is left to its lease.
 */
export function ownerIsGone(owner: string, self: string): boolean {
  const [host, pid] = owner.split("/");
  if (host !== hostname() || owner === self) return false;
  if (Number(pid) === process.pid) return true;
  try {
    process.kill(Number(pid), 0);
    return false;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "ESRCH"; // Node's own code for it
  }
}
