import assert from "node:assert/strict";
import { test } from "node:test";

import { Wayfarer, WayfarerError } from "../src/index.js";

interface Sent {
  url: string;
  method: string;
  headers: Headers;
  body: unknown;
}

type Reply = Response | Error;

/** A client whose server answers so, one reply after the other; what it was sent, and how long the client waited. */
function played(replies: Reply[], options: { attempts?: number; silence?: number } = {}): { client: Wayfarer; sent: Sent[]; waits: number[] } {
  const sent: Sent[] = [];
  const waits: number[] = [];
  let tokens = 0;
  const client = new Wayfarer({
    ...options,
    baseUrl: "http://table.example/",
    token: () => `token-${++tokens}`,
    wait: async (ms) => void waits.push(ms),
    fetch: async (input, init) => {
      sent.push({
        url: String(input),
        method: init?.method ?? "GET",
        headers: new Headers(init?.headers),
        body: typeof init?.body === "string" ? JSON.parse(init.body) : undefined,
      });
      const reply = replies.shift();
      if (!reply) throw new Error("nothing more to answer");
      if (reply instanceof Error) throw reply;
      return reply;
    },
  });
  return { client, sent, waits };
}

function refused(http: number, code: number, ...details: object[]): Response {
  return Response.json({ code, message: "no", details }, { status: http });
}

const away = () => refused(503, 14, { "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay: "2.5s" });

/** A stream of events that ends, or breaks off, after these. */
function stream(events: string, breaks = false): Response {
  const body = new ReadableStream<Uint8Array>({
    start(c) {
      c.enqueue(new TextEncoder().encode(events));
      if (!breaks) c.close();
    },
    pull(c) {
      c.error(new TypeError("terminated"));
    },
  });
  return new Response(body, { headers: { "Content-Type": "text/event-stream" } });
}

const record = (seq: number): string => `id: ${seq}\ndata: {"record":{"seq":${seq}}}\n\n`;

async function seqs(client: Wayfarer, fromSeq?: number, signal?: AbortSignal): Promise<number[]> {
  const got: number[] = [];
  for await (const u of client.watch("/v1/campaigns/{campaign}:watch", {
    path: { campaign: "c" },
    ...(fromSeq !== undefined && { fromSeq }),
    ...(signal && { signal }),
  })) {
    got.push(u.record?.seq ?? -1);
  }
  return got;
}

test("ids and parameters are written as a URL has them", async () => {
  const { client, sent } = played([Response.json({ rolls: [] })]);
  await client.get("/v1/campaigns/{campaign}/rollLogs/{rollLog}/rolls", { path: { campaign: "a/b", rollLog: "x" }, query: { pageSize: 2, pageToken: "a b&c" } });
  assert.equal(sent[0]?.url, "http://table.example/v1/campaigns/a%2Fb/rollLogs/x/rolls?pageSize=2&pageToken=a+b%26c");
  assert.equal(sent[0]?.method, "GET");
  assert.equal(sent[0]?.headers.get("Authorization"), "Bearer token-1");
  assert.equal(sent[0]?.headers.get("Idempotency-Key"), null);
});

test("an id that is missing is told before anything is sent", async () => {
  const { client, sent } = played([]);
  // @ts-expect-error the ids of a path are required
  await assert.rejects(client.get("/v1/campaigns/{campaign}", {}), /needs an id for campaign/);
  assert.equal(sent.length, 0);
});

test("a change is repeated under its own id while the server is away, each time with a fresh token", async () => {
  const { client, sent, waits } = played([new TypeError("fetch failed"), away(), Response.json({ name: "campaigns/c" })]);
  const got = await client.post("/v1/campaigns", { body: { campaignId: "c", title: "C" } });
  assert.equal(got.name, "campaigns/c");
  assert.equal(sent.length, 3);
  const ids = sent.map((s) => s.headers.get("Idempotency-Key"));
  assert.match(ids[0] ?? "", /^[!-~]{1,128}$/);
  assert.deepEqual(ids, [ids[0], ids[0], ids[0]]);
  assert.deepEqual(sent.map((s) => s.headers.get("Authorization")), ["Bearer token-1", "Bearer token-2", "Bearer token-3"]);
  assert.ok(waits[0]! >= 50 && waits[0]! <= 100, "waits a little after a lost connection");
  assert.equal(waits[1], 2500, "waits as long as the server says");
});

test("a request id of the caller is used, in the body or beside it", async () => {
  const { client, sent } = played([Response.json({}), Response.json({})]);
  await client.post("/v1/campaigns", { body: { title: "C" }, requestId: "mine" });
  await client.post("/v1/campaigns", { body: { title: "C", requestId: "inside" } });
  assert.equal(sent[0]?.headers.get("Idempotency-Key"), "mine");
  assert.equal(sent[1]?.headers.get("Idempotency-Key"), null);
  assert.equal((sent[1]?.body as { requestId: string }).requestId, "inside");
});

test("a refusal is an error with what programs decide by, and is not repeated", async () => {
  const { client, sent } = played([
    refused(
      400,
      3,
      { "@type": "type.googleapis.com/google.rpc.ErrorInfo", reason: "OVER_SPENT", domain: "wayfarer", metadata: { free: "3" } },
      { "@type": "type.googleapis.com/google.rpc.BadRequest", fieldViolations: [{ field: "abilities", description: "too much" }] },
    ),
  ]);
  await assert.rejects(client.post("/v1/campaigns", { body: { title: "C" }, requestId: "r" }), (err) => {
    assert.ok(err instanceof WayfarerError);
    assert.deepEqual(
      { http: err.http, code: err.code, reason: err.reason, field: err.field, message: err.message, metadata: err.metadata, violations: err.violations, retryAfter: err.retryAfter, requestId: err.requestId },
      {
        http: 400, code: "INVALID_ARGUMENT", reason: "OVER_SPENT", field: "abilities", message: "no", metadata: { free: "3" },
        violations: [{ field: "abilities", description: "too much", reason: "" }], retryAfter: undefined, requestId: "r",
      },
    );
    return true;
  });
  assert.equal(sent.length, 1);
});

test("the last failure is told when the server stays away", async () => {
  const { client, sent } = played([away(), away()], { attempts: 2 });
  await assert.rejects(client.get("/v1/campaigns"), (err) => err instanceof WayfarerError && err.code === "UNAVAILABLE" && err.retryAfter === 2500);
  assert.equal(sent.length, 2);
});

test("a proxy that does not reach the server is a server that is away", async () => {
  const { client } = played([new Response("<h1>Bad Gateway</h1>", { status: 502 }), Response.json({ campaigns: [] })]);
  assert.deepEqual(await client.get("/v1/campaigns"), { campaigns: [] });
});

test("an aborted call is not repeated", async () => {
  const { client, sent } = played([new TypeError("fetch failed"), Response.json({})]);
  const gone = AbortSignal.abort(new Error("enough"));
  await assert.rejects(client.get("/v1/campaigns", { signal: gone }));
  assert.equal(sent.length, 1);
});

test("a stream that breaks off resumes after the last record", async () => {
  const { client, sent } = played([stream(record(3) + ": \n\n" + record(4) + "id: 5\nda", true), new TypeError("fetch failed"), stream(record(5))]);
  assert.deepEqual(await seqs(client, 2), [3, 4, 5]);
  assert.deepEqual(sent.map((s) => s.headers.get("Last-Event-ID")), ["2", "4", "4"]);
  assert.deepEqual(sent.map((s) => s.headers.get("Accept")), ["text/event-stream", "text/event-stream", "text/event-stream"]);
});

test("a stream that the server stops resumes where the server says that it helps", async () => {
  const error = (code: number): string => `event: error\ndata: {"error":{"code":${code},"message":"stopping","details":[]}}\n\n`;
  const away = played([stream(record(1) + error(14)), stream(record(2))]);
  assert.deepEqual(await seqs(away.client), [1, 2]);
  assert.deepEqual(away.waits, [1000]);

  const removed = played([stream(record(1) + error(7))]);
  await assert.rejects(seqs(removed.client), (err) => err instanceof WayfarerError && err.code === "PERMISSION_DENIED" && err.http === 0);
});

test("a watch in which nothing happens outlives any number of lost connections", async () => {
  const error = 'event: error\ndata: {"error":{"code":14,"message":"stopping","details":[]}}\n\n';
  const lost = Array.from({ length: 20 }, (_, i) => (i % 2 ? stream(": \n\n", true) : stream(": \n\n" + error)));
  const { client, sent } = played([...lost, stream(record(1))], { attempts: 3 });
  assert.deepEqual(await seqs(client), [1]);
  assert.equal(sent.length, 21);
});

test("a watch gives up only after failures in a row", async () => {
  const cut = () => new TypeError("fetch failed");
  const { client, sent } = played([cut(), stream(record(1), true), cut(), stream(record(2), true), cut(), cut()], { attempts: 3 });
  await assert.rejects(seqs(client), /fetch failed|terminated/);
  assert.equal(sent.length, 6);
});

test("a silent stream is taken for lost", async () => {
  const silent = new Response(new ReadableStream<Uint8Array>({ start: (c) => c.enqueue(new TextEncoder().encode(record(1))) }));
  const sent: (string | null)[] = [];
  const client = new Wayfarer({
    baseUrl: "http://table.example",
    silence: 20,
    wait: async () => undefined,
    fetch: async (_, init) => {
      sent.push(new Headers(init?.headers).get("Last-Event-ID"));
      if (sent.length > 1) return stream(record(2));
      // As fetch does: the end of the request breaks its body off.
      const body = silent.body!.getReader();
      return new Response(
        new ReadableStream<Uint8Array>({
          start: (c) => init?.signal?.addEventListener("abort", () => c.error(init.signal?.reason)),
          pull: async (c) => c.enqueue((await body.read()).value!),
        }),
      );
    },
  });
  assert.deepEqual(await seqs(client), [1, 2]);
  assert.deepEqual(sent, ["0", "1"]);
});

test("who is not listening any more ends the stream", async () => {
  let ended = false;
  const client = new Wayfarer({
    baseUrl: "http://table.example",
    fetch: async (_, init) => {
      init?.signal?.addEventListener("abort", () => (ended = true));
      return stream(record(1) + record(2) + record(3));
    },
  });
  for await (const u of client.watch("/v1/campaigns/{campaign}:watch", { path: { campaign: "c" } })) {
    if (u.record?.seq === 2) break;
  }
  assert.ok(ended);
});
