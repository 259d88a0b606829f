// Uses the pages as people do, in a real browser, with the server that WAYFARER_URL names. CHROMIUM is the browser's path;
// SHOTS, if it is set, a folder for pictures.
import assert from "node:assert/strict";
import { once } from "node:events";
import { createRequire } from "node:module";
import { connect, createServer } from "node:net";
import { after, afterEach, before, beforeEach, test } from "node:test";
import { readFileSync } from "node:fs";

import { chromium } from "playwright-core";

const base = process.env.WAYFARER_URL;
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const shots = process.env.SHOTS;

const evil = `<img src=x onerror=pwned=1><script>pwned=2</script>"'&amp;`;
const campaign = `web-${crypto.randomUUID().slice(0, 8)}`;
const within = (rest) => `campaigns/${campaign}/${rest}`;

const tokens = {};
async function token(user) {
  if (!tokens[user]) {
    const res = await fetch(`${base}/dev/token`, { method: "POST", body: new URLSearchParams({ grant_type: "password", username: user, password: "wayfarer" }) });
    tokens[user] = (await res.json()).access_token;
  }
  return tokens[user];
}

async function call(user, path, body) {
  const res = await fetch(`${base}/v1/${path}`, {
    method: body ? "POST" : "GET",
    headers: { Authorization: `Bearer ${await token(user)}`, "Content-Type": "application/json", "Idempotency-Key": crypto.randomUUID() },
    ...(body && { body: JSON.stringify(body) }),
  });
  const answer = await res.json();
  assert.ok(res.ok, `${path}: ${JSON.stringify(answer)}`);
  return answer;
}

/** Something on the way to the server that can cut connections. */
const sockets = new Set();
const cutter = createServer((near) => {
  const far = connect(Number(new URL(base).port), "127.0.0.1");
  for (const [a, b] of [[near, far], [far, near]]) {
    sockets.add(a);
    a.pipe(b);
    a.on("error", () => b.destroy());
    a.on("close", () => { sockets.delete(a); b.destroy(); });
  }
});
const cut = () => { for (const s of sockets) s.resetAndDestroy(); };

let browser, site, context, page;
const complaints = [];

before(async () => {
  cutter.listen(0, "127.0.0.1");
  await once(cutter, "listening");
  site = `http://127.0.0.1:${cutter.address().port}`;
  browser = await chromium.launch({
    executablePath: process.env.CHROMIUM,
    timeout: 240_000, // a busy machine is slow, and not broken
    args: ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"],
  });
  await call("gm", "campaigns", { campaignId: campaign, title: `Marked ${evil}`, members: ["ada", "bram"].map((subject) => ({ subject, role: "ROLE_PLAYER" })) });
  for (const user of ["ada", "bram"]) {
    await call(user, `${within("characters")}`, { characterId: user, title: user === "ada" ? `Ada ${evil}` : "Bram" });
    await call(user, `${within(`characters/${user}`)}:setAbilities`, { abilities: { brute: 5, agility: 4, wits: 4, combat: 4 } });
  }
  const card = (n, kind, ability, condition) => ({ id: `c-${n}`, kind, ability, level: 1, title: `Card ${n} ${evil}`, text: `Text ${evil}`, conditions: [condition] });
  await call("gm", within("dungeons:import"), {
    dungeon: {
      id: "well", number: 7, name: `The Well ${evil}`, type: "ruin",
      cards: [card(1, "entry", "brute", "overzealous"), card(2, "normal", "agility", "tire"), card(3, "normal", "wits", "stupify"), card(4, "climax", "combat", "wound"), card(5, "final", "brute", "overzealous")],
    },
  });
});

after(async () => {
  await browser?.close();
  cut();
  cutter.close();
});

beforeEach(async () => {
  complaints.length = 0;
  context = await browser.newContext({ viewport: { width: 1280, height: 800 } });
  page = await context.newPage();
  page.setDefaultTimeout(90_000);
  page.on("pageerror", (err) => complaints.push(err.message));
  // What the policy forbids is told there, too; an answer that is not 200 is no fault of the page.
  page.on("console", (m) => { if (m.type() === "error" && !/Failed to load resource/.test(m.text())) complaints.push(m.text()); });
});

afterEach(async () => {
  await context.close();
  assert.deepEqual(complaints, []);
});

const line = () => page.getByLabel("Command", { exact: true });
const log = () => page.getByRole("log", { name: "Commands" });
const events = () => page.getByRole("log", { name: "Events" });

async function shot(name) {
  if (shots) await page.screenshot({ path: `${shots}/${name}.png` });
}

async function signIn(user, place = `#${campaign}/${user}`) {
  await page.goto(`${site}/console${place}`);
  await page.getByLabel("User").fill(user);
  await page.getByLabel("Password").fill("wayfarer");
  await page.keyboard.press("Enter");
  await page.getByText(`Signed in as ${user}`).waitFor();
  await page.getByRole("status").getByText("Live").waitFor();
}

/** Gives a line by the keyboard, and returns the answer to it. */
async function say(text) {
  const before = await log().locator(".asked").count();
  await line().fill(text);
  await line().press("Enter");
  const asked = log().locator(".asked").nth(before);
  await asked.waitFor();
  await page.waitForFunction(() => document.getElementById("say").ariaBusy === "false");
  return log().locator("pre").last().innerText();
}

/** What the engine for accessibility has against the page. */
async function faults() {
  const { violations } = await page.evaluate(`${axe};axe.run(document, { runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"] })`);
  return violations.map((v) => `${v.id}: ${v.nodes.map((n) => n.html.slice(0, 120)).join(" | ")}`);
}

async function clean(what) {
  for (const colorScheme of ["light", "dark"]) {
    await page.emulateMedia({ colorScheme });
    assert.deepEqual(await faults(), [], `${what}, ${colorScheme}`);
  }
  await page.emulateMedia({ colorScheme: "light" });
}

test("somebody signs in by the keyboard alone", async () => {
  await page.goto(`${site}/`);
  await clean("the first page");
  await page.getByText(`curl -s ${site}/v1/campaigns`).waitFor(); // the examples are for this server
  await page.getByRole("link", { name: "the console" }).click();
  await page.getByLabel("User").waitFor();
  await shot("sign-in");
  await clean("the form");
  await page.keyboard.type("ada"); // the field has the focus
  await page.keyboard.press("Tab");
  await page.keyboard.type("wrong");
  await page.keyboard.press("Enter");
  await page.getByRole("alert").getByText("unknown user or wrong password").waitFor();
  await page.keyboard.press("Shift+Tab");
  await page.keyboard.press("Tab");
  await page.keyboard.type("wayfarer"); // Tab selects what was there
  await page.keyboard.press("Enter");
  await page.getByText("Signed in as ada").waitFor();
  assert.equal(new URL(page.url()).search, "", "nothing of the form is in the address");
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByLabel("User").waitFor();
  assert.equal(await page.evaluate(() => sessionStorage.length), 0);
  assert.ok(!(await page.content()).includes("Marked"), "nothing of what was seen is left in the page");
});

// has waits until a field has a value: lists are filled after the page says who is there.
async function has(field, value) {
  for (const until = Date.now() + 90_000; (await field.inputValue()) !== value && Date.now() < until; ) await field.page().waitForTimeout(20);
  assert.equal(await field.inputValue(), value);
}

test("a token is taken as well, and one that is worth nothing is told", async () => {
  await page.goto(`${site}/console#${campaign}/ada`);
  const field = page.getByLabel("A bearer token of your issuer");
  await field.fill("not.a.token");
  await field.press("Enter");
  await page.getByRole("alert").getByText("does not take this token").waitFor();
  await field.fill(await token("ada"));
  await field.press("Enter");
  await page.getByText("Signed in as ada").waitFor();
  await page.reload();
  await page.getByText("Signed in as ada").waitFor(); // the tab keeps it
  await has(page.getByLabel("Character"), within("characters/ada")); // the address leads back
});

test("commands are given, refused, mended and brought back", async () => {
  await signIn("ada");
  assert.ok((await say("+help")).startsWith("Commands by topic"));
  const text = await say("+dungen/list");
  assert.match(text, /^\+dungen\/list\n \^\n/, "a mark stands under what is wrong");
  await page.getByRole("button", { name: "+dungeon/list" }).last().click();
  assert.equal(await line().inputValue(), "+dungeon/list");
  await line().press("Enter");
  await log().getByText("The Well").waitFor();
  await line().fill("+half");
  await line().press("ArrowUp");
  assert.equal(await line().inputValue(), "+dungeon/list");
  await line().press("ArrowUp");
  assert.equal(await line().inputValue(), "+dungen/list");
  await line().press("ArrowDown");
  await line().press("ArrowDown");
  assert.equal(await line().inputValue(), "+half", "what was being written comes back");
});

test("a line whose answer is lost is played once", async () => {
  await signIn("ada");
  let first = true;
  await page.route("**/console:execute", async (route) => {
    if (!first) return route.continue();
    first = false;
    await route.fetch(); // the server plays it
    await route.abort("connectionreset"); // and the answer is lost
  });
  const text = await say("+roll 1d1000 # once");
  const { entries } = await call("ada", within("rollLogs/me/rolls"));
  const found = entries.flatMap((e) => e.event?.rolled?.rolls ?? []).filter((r) => r.purpose === "once");
  assert.equal(found.length, 1);
  assert.ok(text.includes(String(found[0].total)), text);
});

test("a run is played by two, and the stream tells it to both; what the table wrote stays text", async () => {
  await signIn("ada");
  await call("ada", within("parties"), { partyId: "wicks", character: within("characters/ada") });
  await call("bram", within("parties/wicks:join"), { character: within("characters/bram") });
  await call("ada", within("runs"), { runId: "r", party: within("parties/wicks"), dungeon: within("dungeons/well"), character: within("characters/ada") });

  // Nothing was given here: the stream of the character says that a run began.
  await page.getByRole("heading", { name: "Run The Well" }).waitFor();
  await page.getByText("Card 1", { exact: false }).first().waitFor();
  await has(page.getByLabel("Follow"), within("runs/r"));
  await say("+act brute");
  await events().getByText("bram, ada", { exact: false }).or(events().getByText("acted")).first().waitFor();

  // While the connection is down bram acts; the record comes once.
  const seqs = () => events().locator("article > p").allInnerTexts();
  cut();
  await call("bram", `${within("runs/r")}:act`, { character: within("characters/bram"), action: { basic: "brute" } });
  await events().getByText("4 · bram").waitFor();
  await page.getByRole("status").getByText("Live").waitFor();
  assert.deepEqual((await seqs()).map((t) => t.split(" ")[0]), ["1", "2", "3", "4"]);
  await page.getByText("ada to complete").waitFor();
  await shot("run-desktop");
  await clean("a run");
  assert.match(await say("+act/complete"), /Round 1 is (passed|failed)/);
  await events().getByText("Dice: d10").waitFor();
  await events().getByText("as JSON").last().click();
  await events().getByText('"roundCompleted"').waitFor();

  // Titles with markup were shown in every place by now.
  for (const place of [page.getByLabel("Campaign").locator("option:checked"), page.getByLabel("Character").locator("option:checked"), page.locator("#sheet-title"), page.locator("#state h3").first()]) {
    assert.ok((await place.innerText()).includes(evil), await place.innerText());
  }
  assert.ok((await log().innerText()).includes("<script>"));
  assert.equal(await page.evaluate(() => window.pwned), undefined);
  assert.equal(await page.locator("main img, main script").count(), 0);
});

test("a game master reports dice, and stands in with a reason", async () => {
  const run = await call("ada", within("runs/r"));
  if (run.phase === "PHASE_DRAW") await call("ada", `${within("runs/r")}:draw`, { character: run.nextDraw || within("characters/ada") }).catch(() => call("bram", `${within("runs/r")}:draw`, { character: within("characters/bram") }));
  for (const user of ["ada", "bram"]) {
    const { challenge } = await call(user, within("runs/r"));
    if (!challenge.waiting.includes(within(`characters/${user}`))) continue;
    await call(user, `${within("runs/r")}:act`, { character: within(`characters/${user}`), action: { basic: challenge.ability } });
  }
  const { challenge } = await call("gm", within("runs/r"));
  const drawer = challenge.drawer.split("/").pop();
  await signIn("gm", `#${campaign}/${drawer}`);
  await page.getByRole("heading", { name: "Run The Well" }).waitFor();
  await page.getByText("to complete").waitFor();
  await page.getByText("For game masters").click();
  await page.getByLabel("Dice rolled by hand").fill("9 x");
  assert.match(await sayExpecting("+act/complete", "Dice are whole numbers"), /"9 x"/);
  await page.getByLabel("Dice rolled by hand").fill("9, 8");
  await page.getByLabel("Reason for standing in").fill("they are away");
  assert.match(await say("+act/complete"), /die 9/);
  await events().getByText("d10 9 (act ada), by hand", { exact: false }).waitFor();
  await events().getByText("they are away", { exact: false }).waitFor();
  await has(page.getByLabel("Dice rolled by hand"), ""); // dice are used once
  await shot("gm-desktop");
});

async function sayExpecting(text, problem) {
  await line().fill(text);
  await line().press("Enter");
  const p = log().getByText(problem).last();
  await p.waitFor();
  return p.innerText();
}

test("everything fits on a phone", async () => {
  await page.setViewportSize({ width: 360, height: 740 });
  await page.goto(`${site}/console`);
  await page.getByLabel("User").waitFor();
  await shot("sign-in-phone");
  await signIn("bram");
  await page.getByRole("heading", { name: "Run The Well" }).waitFor();
  await say("+camp");
  await say("+challenge");
  const [width, seen] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
  assert.equal(width, seen, "nothing is wider than the screen");
  const box = await line().boundingBox();
  assert.ok(box.y + box.height < 740, "the command line is on the first screen");
  await clean("a phone");
  await shot("run-phone");
  if (shots) await page.screenshot({ path: `${shots}/run-phone-whole.png`, fullPage: true });
});

test("the reference is searched and opened", async () => {
  await page.goto(`${site}/docs`);
  await page.getByRole("heading", { name: "RunService" }).waitFor();
  await page.getByLabel("Find a call").fill("run act");
  const act = page.locator("summary").filter({ hasText: "/v1/campaigns/{campaign}/runs/{run}:act" });
  await act.waitFor();
  assert.ok(!(await page.locator("summary").filter({ hasText: ":longTermRest" }).isVisible()));
  await act.click();
  await page.getByText("Act contributes a basic action or a tool").waitFor();
  const call = act.locator("..");
  await call.locator("summary").filter({ hasText: /^action Action required$/ }).click();
  await call.getByText("Take the risk bonus and its price").waitFor();
  await call.locator("summary").filter({ hasText: /^run Run/ }).click();
  await call.getByText("- PHASE_DRAW: ").waitFor(); // the values of an enumeration are explained
  await clean("the reference");
  await shot("docs");
  await page.getByLabel("Find a call").fill("falsePlaces");
  await page.locator("summary").filter({ hasText: "/missionBoards/{missionBoard}:roll" }).waitFor(); // by a field
  assert.equal(await page.locator("section > details:visible").count(), 1);
});
