import { createServer, type IncomingMessage } from "node:http";
import { listening } from "../support/temporary.ts";

interface Published {
  readonly versions: Readonly<Record<string, object>>;
  readonly _attachments: Readonly<Record<string, { readonly data: string }>>;
}

/** A registry for one package, as far as `npm publish`, `npm install` and `npx` use it. `latest` is the version that they get. */
export async function openRegistry() {
  const versions: Record<string, object> = {};
  const tarballs: Record<string, Buffer> = {};
  const tags = { latest: "" };
  const take = async (request: IncomingMessage) => {
    let text = "";
    for await (const part of request.setEncoding("utf8")) text += part;
    const body = JSON.parse(text) as Published; // npm writes it
    Object.assign(versions, body.versions);
    for (const [name, { data }] of Object.entries(body._attachments)) tarballs[name] = Buffer.from(data, "base64");
  };
  const server = createServer((request, response) => {
    const { method, url = "" } = request;
    const tarball = tarballs[url.replace(/^.*\//, "")];
    if (method === "PUT") {
      void take(request).then(() => response.writeHead(201).end("{}"));
    } else if (tarball !== undefined) response.end(tarball);
    else if (url === "/millrace") response.end(JSON.stringify({ name: "millrace", "dist-tags": tags, versions }));
    else response.writeHead(404).end("{}");
  });
  return { url: `http://127.0.0.1:${await listening(server)}/`, tags };
}
