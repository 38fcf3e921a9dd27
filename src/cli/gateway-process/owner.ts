import { hostname } from "node:os";

/** Names this process among those that share a store: machine, pid, and a value that differs if the pid is used again. */
export function ownerName(instance: string): string {
  return `${hostname()}/${process.pid}/${instance}`;
}

/** The machine that an owner's process runs on. */
export function machineOf(owner: string): string | undefined {
  return owner.split("/")[0];
}

/**
 * Whether the owner's process has certainly ended: it ran on this machine, and its pid is free or is this process's. If that is
 * unclear (another machine, a pid that another process has now), only the end of its lease counts.
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
