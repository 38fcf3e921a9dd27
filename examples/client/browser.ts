/** In a browser, with any bundler. The gateway must allow the page's origin: `millrace serve --allow-origin https://…`. */
import {
  autoResume,
  openIndexedDbRecordStore,
  type ReliableStream,
  startReliableStream,
  webLink,
} from "millrace/client";

export async function open(url: string, key: string, show: (stream: ReliableStream) => void) {
  const options = { gateway: webLink({ url, key }), store: await openIndexedDbRecordStore() };
  const left = await autoResume({ ...options, after: "0" }); // what was left by a page that closed or reloaded, shown from its start
  for (const stream of left.streams) show(stream);
  return async (model: string, text: string) =>
    show(await startReliableStream({ model, messages: [{ role: "user", text }] }, options));
}
