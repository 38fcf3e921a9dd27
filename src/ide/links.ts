import type { LanguageServer } from "../language-server/language-server.ts";
import type { Ide } from "./ide.ts";

/** Open clients, one for each server, endpoint and account; turns that still run keep theirs as long as the server lives. */
export interface Links {
  /** The client that is open for this IDE, if there is one. */
  find(ide: Ide): LanguageServer | undefined;
  open(ide: Ide): LanguageServer;
  /** Closes the clients of servers whose process ended and that are not in this list. */
  keepOnly(ides: readonly Ide[]): void;
  close(): void;
}

interface Link {
  readonly ide: Ide;
  readonly server: LanguageServer;
}

export function openLinks(connect: (ide: Ide) => LanguageServer, isAlive: (pid: number) => boolean): Links {
  let links: readonly Link[] = [];

  const find = (ide: Ide) => links.find((link) => same(link.ide, ide))?.server;

  return {
    find,

    open(ide) {
      const there = find(ide);
      if (there !== undefined) return there;
      const server = connect(ide);
      links = [...links, { ide, server }];
      return server;
    },

    keepOnly(ides) {
      const gone = links.filter(
        ({ ide }) => !ides.some((other) => other.id === ide.id) && (ide.pid === undefined || !isAlive(ide.pid)),
      );
      links = links.filter((link) => !gone.includes(link));
      for (const { server } of gone) server.close();
    },

    close() {
      for (const { server } of links) server.close();
      links = [];
    },
  };
}

function same(a: Ide, b: Ide): boolean {
  return (
    a.id === b.id &&
    a.endpoint.host === b.endpoint.host &&
    a.endpoint.port === b.endpoint.port &&
    a.endpoint.tls === b.endpoint.tls &&
    a.endpoint.protocol === b.endpoint.protocol &&
    a.endpoint.csrfToken.equals(b.endpoint.csrfToken) &&
    a.identity.apiKey.equals(b.identity.apiKey)
  );
}
