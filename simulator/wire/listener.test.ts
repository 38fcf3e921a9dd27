import { once } from "node:events";
import { connect } from "node:http2";
import { expect, onTestFinished, test } from "vitest";
import { listenForRpc } from "./listener.ts";

test("a call is answered while a large answer waits on its connection", async () => {
  const listener = await listenForRpc((request, response) => {
    response.end(Buffer.alloc(request.url === "/large" ? 20_000_000 : 1));
  });
  onTestFinished(() => listener.close());
  const session = connect(`http://127.0.0.1:${listener.port}`);
  onTestFinished(() => session.destroy());
  const large = session.request({ ":path": "/large" }); // never read
  await once(large, "response");
  for (let call = 0; call < 3; call++) {
    const small = session.request({ ":path": "/small" });
    const [headers] = (await once(small, "response")) as unknown[];
    expect(headers).toMatchObject({ ":status": 200 });
    small.resume();
    await once(small, "close");
  }
});
