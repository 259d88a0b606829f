// Plays with a real server, which WAYFARER_URL names; its development issuer knows the users gm, ada and bram.
import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";
import { after, before, test } from "node:test";

import { developmentToken, type Schemas, Wayfarer, WayfarerError } from "../src/index.js";

const base = process.env.WAYFARER_URL ?? "";
assert.ok(base, "WAYFARER_URL has to name a server, such as that of `make run`");

const campaign = `ts-${crypto.randomUUID().slice(0, 8)}`;
const within = (rest: string): string => `campaigns/${campaign}/${rest}`;
const users = {} as Record<"gm" | "ada" | "bram", Wayfarer>;

before(async () => {
  for (const user of ["gm", "ada", "bram"] as const) {
    users[user] = new Wayfarer({ baseUrl: base, token: await developmentToken(base, user, "wayfarer") });
  }
  await users.gm.post("/v1/campaigns", {
    body: {
      campaignId: campaign,
      title: "Played from TypeScript",
      members: [
        { subject: "ada", role: "ROLE_PLAYER" },
        { subject: "bram", role: "ROLE_PLAYER" },
      ],
    },
  });
});

/** Expects a refusal, and returns it. */
async function refusal(call: Promise<unknown>): Promise<WayfarerError> {
  try {
    await call;
  } catch (err) {
    if (err instanceof WayfarerError) return err;
    throw err;
  }
  throw new assert.AssertionError({ message: "it was not refused" });
}

test("a wrong password gets no token", async () => {
  await assert.rejects(developmentToken(base, "gm", "wrong"), /unknown user or wrong password/);
});

test("without a token nothing is answered", async () => {
  const err = await refusal(new Wayfarer({ baseUrl: base }).get("/v1/campaigns"));
  assert.equal(err.http, 401);
  assert.equal(err.code, "UNAUTHENTICATED");
});

test("a campaign is read as it was made, and listed", async () => {
  const got = await users.ada.get("/v1/campaigns/{campaign}", { path: { campaign } });
  assert.equal(got.title, "Played from TypeScript");
  assert.deepEqual(got.members?.map((m) => [m.subject, m.role]), [["gm", "ROLE_OWNER"], ["ada", "ROLE_PLAYER"], ["bram", "ROLE_PLAYER"]]);
  const { campaigns } = await users.ada.get("/v1/campaigns", { query: { pageSize: 500 } });
  assert.ok(campaigns?.some((c) => c.name === got.name));
});

test("a roll under one request id falls once; another request under it is refused", async () => {
  const roll = (notation: string) => users.ada.post("/v1/campaigns/{campaign}/rolls", { path: { campaign }, body: { notation }, requestId: "one-roll" });
  const first = await roll("3d6");
  assert.ok((first.total ?? 0) >= 3 && (first.total ?? 99) <= 18);
  assert.deepEqual(await roll("3d6"), first);
  const other = await refusal(roll("4d6"));
  assert.equal(other.reason, "REQUEST_ID_REUSED");
  assert.equal(other.requestId, "one-roll");
});

test("a refusal has a reason and the field", async () => {
  const bad = await refusal(users.ada.post("/v1/campaigns/{campaign}/rolls", { path: { campaign }, body: { notation: "2d" } }));
  assert.deepEqual([bad.http, bad.code, bad.reason, bad.field], [400, "INVALID_ARGUMENT", "BAD_NOTATION", "notation"]);
  const role = await refusal(users.ada.post("/v1/campaigns/{campaign}:setChapter", { path: { campaign }, body: { chapter: 2 } }));
  assert.deepEqual([role.http, role.code, role.reason], [403, "PERMISSION_DENIED", "NOT_GM"]);
  const missing = await refusal(users.ada.get("/v1/campaigns/{campaign}", { path: { campaign: `${campaign}-not` } }));
  assert.deepEqual([missing.http, missing.code], [404, "NOT_FOUND"]);
  // @ts-expect-error the compiler knows the fields; the server refuses what slips through
  const unknown = await refusal(users.ada.post("/v1/campaigns/{campaign}/rolls", { path: { campaign }, body: { notation: "1d6", luck: 1 } }));
  assert.equal(unknown.field, "luck");
});

const cards: Schemas["wayfarer.dungeon.v1.Card"][] = [
  { id: "c-1", kind: "entry", ability: "brute", level: 1, title: "The Lid", text: "A slab.", conditions: ["overzealous"] },
  { id: "c-2", kind: "normal", ability: "agility", level: 1, title: "The Rope", text: "It holds.", conditions: ["tire"] },
  { id: "c-3", kind: "normal", ability: "wits", level: 2, title: "The Tally", text: "Notches.", conditions: ["stupify"] },
  { id: "c-4", kind: "climax", ability: "combat", level: 2, title: "What Drinks", text: "It was here.", conditions: ["wound"] },
  { id: "c-5", kind: "final", ability: "brute", level: 3, title: "The Door", text: "Bronze.", conditions: ["overzealous"] },
];

/** Something on the way to the server that can cut connections. */
class Cutter {
  readonly #server: Server;
  readonly #open = new Set<Socket>();
  connections = 0;

  private constructor(server: Server) {
    this.#server = server;
  }

  static async start(): Promise<Cutter> {
    const to = new URL(base);
    const server = createServer();
    const cutter = new Cutter(server);
    server.on("connection", (near) => {
      cutter.connections++;
      const far = connect(Number(to.port), to.hostname);
      for (const [a, b] of [[near, far], [far, near]] as const) {
        cutter.#open.add(a);
        a.pipe(b);
        a.on("error", () => b.destroy());
        a.on("close", () => {
          cutter.#open.delete(a);
          b.destroy();
        });
      }
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    return cutter;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  cut(): void {
    for (const s of this.#open) s.resetAndDestroy();
  }

  async close(): Promise<void> {
    this.cut();
    this.#server.close();
    await once(this.#server, "close");
  }
}

test("a run is played and watched, and the watch survives a lost connection", async (t) => {
  const { gm, ada, bram } = users;
  for (const [user, id] of [[ada, "ada"], [bram, "bram"]] as const) {
    await user.post("/v1/campaigns/{campaign}/characters", { path: { campaign }, body: { characterId: id, title: id } });
    await user.post("/v1/campaigns/{campaign}/characters/{character}:setAbilities", {
      path: { campaign, character: id },
      body: { abilities: { brute: 5, agility: 4, wits: 4, combat: 4 } },
    });
  }
  await gm.post("/v1/campaigns/{campaign}/dungeons:import", {
    path: { campaign },
    body: { dungeon: { id: "well", number: 7, name: "The Well", type: "ruin", cards } },
  });
  await ada.post("/v1/campaigns/{campaign}/parties", { path: { campaign }, body: { partyId: "wicks", character: within("characters/ada") } });
  await bram.post("/v1/campaigns/{campaign}/parties/{party}:join", { path: { campaign, party: "wicks" }, body: { character: within("characters/bram") } });

  const started = await ada.post("/v1/campaigns/{campaign}/runs", {
    path: { campaign },
    body: { runId: "r", party: within("parties/wicks"), dungeon: within("dungeons/well"), character: within("characters/ada") },
  });
  assert.equal(started.run?.phase, "PHASE_ACT");
  assert.equal(started.run.challenge?.card, "c-1");
  const path = { campaign, run: "r" };

  const cutter = await Cutter.start();
  after(() => cutter.close());
  const far = new Wayfarer({ baseUrl: cutter.url, token: await developmentToken(base, "bram", "wayfarer") });
  const seen: { seq: number; kinds: string[] }[] = [];
  const enough = new AbortController();
  t.after(() => enough.abort());
  const watch = far.watch("/v1/campaigns/{campaign}/runs/{run}:watch", { path, signal: enough.signal });
  const next = async (): Promise<void> => {
    const { value, done } = await watch.next();
    assert.ok(!done && value, "the stream ended");
    seen.push({ seq: value.record?.seq ?? 0, kinds: (value.events ?? []).flatMap((e) => Object.keys(e)) });
  };
  await next();
  await next();
  assert.deepEqual(seen.map((u) => u.seq), [1, 2]);

  // The connection breaks, and while it is down the party goes on.
  cutter.cut();
  for (const [user, id] of [[ada, "ada"], [bram, "bram"]] as const) {
    await user.post("/v1/campaigns/{campaign}/runs/{run}:act", { path, body: { character: within(`characters/${id}`), action: { basic: "brute" } } });
  }
  const early = await refusal(bram.post("/v1/campaigns/{campaign}/runs/{run}:complete", { path, body: { character: within("characters/bram") } }));
  assert.deepEqual([early.code, early.reason], ["FAILED_PRECONDITION", "NOT_DRAWER"]);
  const done = await ada.post("/v1/campaigns/{campaign}/runs/{run}:complete", { path, body: { character: within("characters/ada") } });
  assert.deepEqual(done.record?.dice?.map((d) => d.sides), [10, 10]);

  await next();
  await next();
  cutter.cut();
  await next();
  assert.deepEqual(seen.map((u) => u.seq), [1, 2, 3, 4, 5], "nothing is missing and nothing comes twice");
  assert.ok(seen[4]?.kinds.includes("roundCompleted"), `the last are ${seen[4]?.kinds.join()}`);
  assert.ok(cutter.connections >= 2, "the watch connected again");

  // A run that is over ends its streams.
  await ada.post("/v1/campaigns/{campaign}/runs/{run}:abandon", { path, body: { character: within("characters/ada") } });
  let last = 5;
  for await (const update of watch) {
    last++;
    assert.equal(update.record?.seq, last);
  }
  const { seq } = await ada.get("/v1/campaigns/{campaign}/runs/{run}", { path });
  assert.equal(last, seq);
});

// After the run, whose dungeon it plays.
test("a simulation answers part by part", async () => {
  let report: Schemas["wayfarer.dungeon.v1.SimulateResponse"]["report"];
  for await (const part of users.gm.stream("/v1/campaigns/{campaign}/dungeons:simulate", {
    path: { campaign },
    body: { dungeon: within("dungeons/well"), runs: 300, seed: 7 },
  })) {
    report = part.report ?? report;
  }
  assert.equal(report?.runs, 300);
});
