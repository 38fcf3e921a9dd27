/** An address that a process dialled. */
export interface Dial {
  /** `name`: a name was looked up, whichever way. */
  readonly kind: "tcp" | "udp" | "unix" | "name";
  /** `127.0.0.1:42100`, a path or a name. */
  readonly what: string;
}

/**
 * All addresses in what `strace` wrote of `connect`, `sendto` and `sendmsg`, also of calls that failed: an attempt counts.
 * TCP and UDP are one kind here. Addresses inside the kernel (netlink) are none.
 */
export function dialsOfTrace(text: string): readonly Dial[] {
  const dials: Dial[] = [];
  for (const line of text.split("\n")) {
    if (!/\b(?:connect|sendto|sendmsg|sendmmsg)\(/.test(line)) continue;
    const [, family] = /sa_family=(AF_\w+)/.exec(line) ?? [];
    if (family === undefined || family === "AF_NETLINK" || family === "AF_UNSPEC") continue;
    const port = /sin6?_port=htons\((\d+)\)/.exec(line)?.[1];
    const address = /inet_addr\("([^"]+)"\)|inet_pton\(AF_INET6, "([^"]+)"/.exec(line);
    const path = /sun_path=@?"([^"]*)"/.exec(line)?.[1];
    if (path !== undefined) dials.push({ kind: "unix", what: path });
    else if (port !== undefined && address !== null)
      dials.push({ kind: "tcp", what: `${address[1] ?? address[2]}:${port}` });
    else throw new Error(`an address that this cannot read: ${line}`);
  }
  return dials;
}

/** The lines of `record-dials.ts`. */
export function dialsOfRecord(text: string): readonly Dial[] {
  return text
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as Dial);
}

/**
 * The dials that lead elsewhere than to these loopback ports, or to any without them. `localhost` may be looked up: that is read from a file. The system's
 * cache of names is a socket of this machine which every such look-up tries. Agents' hosts and relays listen on sockets in the gateway's own folder.
 */
export function foreign(dials: readonly Dial[], ports?: ReadonlySet<number>): readonly Dial[] {
  return dials.filter(({ kind, what }) => {
    if (kind === "name") return what !== "localhost" && what !== "127.0.0.1" && what !== "::1";
    if (kind === "unix")
      return (
        what !== "/var/run/nscd/socket" &&
        !/\/\.millrace\/(?:agents\/[\w.-]+|acp\/[\w.-]+\/relay-[\w-]+\.sock)$/.test(what)
      );
    const [, host = "", port = ""] = /^(.*):(\d+)$/.exec(what) ?? [];
    return !["127.0.0.1", "::1", "localhost"].includes(host) || ports?.has(Number(port)) === false;
  });
}
