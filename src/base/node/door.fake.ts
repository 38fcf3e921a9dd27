import process from "node:process";
import { type Doors, defaultDoors } from "./door.ts";

/** Abstract sockets are as open as the pipes of Windows: they have names that anybody may connect to, and listen under once they are free. */
const abstract: Doors = { pipes: "\0" };

/** The kinds of doors that this system can have. */
export const doorKinds: readonly { readonly kind: string; readonly doors: Doors }[] =
  process.platform === "win32"
    ? [{ kind: "named pipes", doors: defaultDoors }]
    : [
        { kind: "Unix sockets", doors: defaultDoors },
        ...(process.platform === "linux" ? [{ kind: "abstract sockets", doors: abstract }] : []),
      ];
