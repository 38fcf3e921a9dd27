import { createReadStream, existsSync, statSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import process from "node:process";

// A web server for the files of a folder. It says its port on stdout.
const [folder = ""] = process.argv.slice(2);
const server = createServer(({ url = "" }, response) => {
  const file = join(folder, new URL(url, "http://localhost").pathname);
  if (!existsSync(file)) return void response.writeHead(404).end();
  response.writeHead(200, { "content-length": statSync(file).size });
  createReadStream(file).pipe(response);
});
server.listen(0, "127.0.0.1", () => process.stdout.write(`${server.address().port}\n`));
