import assert from "node:assert/strict";
import { test } from "node:test";

import { parseEvents, type ServerEvent } from "../src/index.js";

async function parse(chunks: string[]): Promise<ServerEvent[]> {
  async function* body(): AsyncGenerator<Uint8Array> {
    for (const c of chunks) yield new TextEncoder().encode(c);
  }
  const events: ServerEvent[] = [];
  for await (const e of parseEvents(body())) events.push(e);
  return events;
}

const cases: Record<string, { chunks: string[]; want: ServerEvent[] }> = {
  "an event has an id and data": {
    chunks: ['id: 4\ndata: {"a":1}\n\n'],
    want: [{ event: "message", id: "4", data: '{"a":1}' }],
  },
  "an id holds until the next": {
    chunks: ["id: 4\ndata: a\n\ndata: b\n\nid\ndata: c\n\n"],
    want: [
      { event: "message", id: "4", data: "a" },
      { event: "message", id: "4", data: "b" },
      { event: "message", id: "", data: "c" },
    ],
  },
  "comments and empty events say nothing": { chunks: [": \n\n", ": there\nevent: x\n\n", "data: a\n\n"], want: [{ event: "message", id: "", data: "a" }] },
  "a name is that of one event": {
    chunks: ["event: error\ndata: a\n\ndata: b\n\n"],
    want: [
      { event: "error", id: "", data: "a" },
      { event: "message", id: "", data: "b" },
    ],
  },
  "data has several lines, and one blank at the begin is none of it": { chunks: ["data:  a\ndata:b\ndata\n\n"], want: [{ event: "message", id: "", data: " a\nb\n" }] },
  "chunks end anywhere": { chunks: ["i", "d: 7\r", "\ndat", "a: x\r\n\r", "\n"], want: [{ event: "message", id: "7", data: "x" }] },
  "lines may end in a carriage return alone": { chunks: ["id: 7\rdata: x\r\r", "data: y\r\r: \n"], want: [{ event: "message", id: "7", data: "x" }, { event: "message", id: "7", data: "y" }] },
  "half an event at the end is dropped": { chunks: ["data: a\n\ndata: b\n"], want: [{ event: "message", id: "", data: "a" }] },
};

for (const [name, { chunks, want }] of Object.entries(cases)) {
  test(name, async () => assert.deepEqual(await parse(chunks), want));
}

test("letters of several bytes may be split", async () => {
  const bytes = new TextEncoder().encode("data: fünf €\n\n");
  async function* body(): AsyncGenerator<Uint8Array> {
    for (const b of bytes) yield Uint8Array.of(b);
  }
  const events: ServerEvent[] = [];
  for await (const e of parseEvents(body())) events.push(e);
  assert.equal(events[0]?.data, "fünf €");
});
