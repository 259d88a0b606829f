// The console: sign in, choose a campaign, give + commands, see what they answer and what happens meanwhile.
//
// Whatever the server sends is shown as text, never as markup.
import { Api, Refusal, claims, hasIssuer, login, requestId } from "/api.js";
import * as format from "/format.js";

const $ = (id) => document.getElementById(id);
const el = (name, attrs = {}, ...children) => {
  const e = document.createElement(name);
  Object.assign(e, attrs);
  e.append(...children);
  return e;
};
const option = (value, text) => el("option", { value, textContent: text });

const session = {
  get token() { return sessionStorage.getItem("wayfarer-token") ?? ""; },
  set token(t) { if (t) sessionStorage.setItem("wayfarer-token", t); else sessionStorage.removeItem("wayfarer-token"); },
};

let api;
/** What is on the screen: names of campaign and character, what is under way there, and what is followed. */
let table = { campaign: "", character: "", characters: [], found: [], followed: "", chosen: false, state: null };
/** Ends the stream that is followed. */
let following = new AbortController();
/** A line that got no answer, and the id under which it may be sent again. */
let unanswered = null;
const history = { lines: [], at: 0, draft: "" };

// --- Signing in ---

async function showSignIn(problem = "") {
  following.abort();
  session.token = "";
  // What one user saw is not for the next.
  table = { campaign: "", character: "", characters: [], found: [], followed: "", chosen: false, state: null };
  for (const box of ["log", "events", "state", "sheet-title", "sheet-rows", "campaign", "character", "follow"]) $(box).replaceChildren();
  Object.assign(history, { lines: [], at: 0, draft: "" });
  unanswered = null;
  $("play").hidden = $("who").hidden = true;
  $("live").textContent = "";
  $("signin").hidden = false;
  $("signin-problem").textContent = problem;
  $("password-form").hidden = !(await hasIssuer());
  ($("password-form").hidden ? $("token") : $("user")).focus();
}

$("password-form").addEventListener("submit", async (e) => {
  e.preventDefault();
  try {
    await begin(await login($("user").value.trim(), $("password").value));
  } catch (err) {
    $("signin-problem").textContent = err.message;
  }
});

$("token-form").addEventListener("submit", async (e) => {
  e.preventDefault();
  await begin($("token").value.trim().replace(/^Bearer\s+/i, ""));
});

$("signout").addEventListener("click", () => showSignIn());

/** Takes a token, and shows the table if it is worth anything. */
async function begin(token) {
  let valid = true;
  api = new Api(token, {
    expired: () => {
      if (valid) showSignIn("The server does not take this token, or no longer. Sign in again.");
      valid = false;
    },
  });
  let campaigns;
  try {
    campaigns = await all("campaigns");
  } catch (err) {
    if (valid) $("signin-problem").textContent = err.message;
    if (valid && $("signin").hidden) showSignIn(err.message);
    return;
  }
  session.token = token;
  $("password").value = $("token").value = "";
  $("subject").textContent = `Signed in as ${claims(token).sub ?? "somebody"}`;
  $("signin").hidden = true;
  $("play").hidden = $("who").hidden = false;
  $("log").replaceChildren();
  if (!campaigns.length) note("You have a role in no campaign yet. Whoever owns one can give you a role.");
  $("campaign").replaceChildren(...campaigns.map((c) => option(c.name, c.title || format.short(c.name))));
  const [wanted] = place();
  if (campaigns.some((c) => c.name === wanted)) $("campaign").value = wanted;
  await enter();
  $("line").focus();
}

/** All of a list, page by page. */
async function all(path) {
  const items = [];
  for (let page = ""; ; ) {
    const answer = await api.get(`${path}?page_size=500${page && `&page_token=${encodeURIComponent(page)}`}`);
    items.push(...Object.values(answer).find(Array.isArray));
    page = answer.nextPageToken;
    if (!page) return items;
  }
}

// --- Campaign and character: they are in the address, so that a bookmark leads back ---

function place() {
  const [campaign = "", character = ""] = decodeURIComponent(location.hash.slice(1)).split("/");
  return [`campaigns/${campaign}`, character && `campaigns/${campaign}/characters/${character}`];
}

async function enter() {
  const campaign = $("campaign").value;
  following.abort();
  table = { campaign, character: "", characters: [], found: [], followed: "", chosen: false, state: null };
  $("events").replaceChildren();
  if (!campaign) return;
  const subject = claims(api.token).sub;
  try {
    const [about, characters] = await Promise.all([api.get(campaign), all(`${campaign}/characters`)]);
    if (table.campaign !== campaign) return;
    const me = (about.members ?? []).find((m) => m.subject === subject) ?? {};
    const gm = me.role === "ROLE_OWNER" || me.role === "ROLE_GM";
    table.characters = characters.filter((c) => gm || c.owner === subject || (me.characters ?? []).includes(c.name)).reverse();
    $("gm").hidden = !gm;
    $("character").replaceChildren(option("", gm ? "none: the game master" : "none"), ...table.characters.map((c) => option(c.name, c.title || format.short(c.name))));
    const [, wanted] = place();
    if (table.characters.some((c) => c.name === wanted)) $("character").value = wanted;
    else if (!gm && table.characters.length) $("character").value = table.characters[0].name;
    note(`${about.title || format.short(campaign)}, chapter ${about.chapter}.`);
    await act();
  } catch (err) {
    problem(err);
  }
}

/** Takes on the chosen character. */
async function act() {
  table.character = $("character").value;
  table.chosen = false;
  location.replace(`#${[table.campaign, table.character].filter(Boolean).map(format.short).map(encodeURIComponent).join("/")}`);
  await look();
}

$("campaign").addEventListener("change", enter);
$("character").addEventListener("change", () => act().catch(problem));
$("place").addEventListener("submit", (e) => e.preventDefault());

// --- What is under way, and its stream ---

/** Looks what is under way, shows the character, and follows what matters most. */
async function look() {
  const { campaign, character } = table;
  const lists = await Promise.all(Object.keys(format.kinds).map((kind) => api.get(`${campaign}/${kind}?page_size=50`).catch((err) => {
    if (err instanceof Refusal && (err.http === 404 || err.code === 12)) return {}; // a server without expeditions
    throw err;
  })));
  const found = lists.flatMap((l) => Object.values(l).find(Array.isArray) ?? []).filter(format.open);
  if (table.campaign !== campaign || table.character !== character) return;
  const mine = (r) => !character || format.within(r, character);
  const names = new Set(found.filter(mine).map((r) => r.name));
  table.found = found.filter((r) => names.has(r.name) || (format.kindOf(r.name) === "expeditions" && ([r.journey, r.run, r.delve].some((n) => names.has(n)) || !r.journey)));
  const rest = character || campaign;
  $("follow").replaceChildren(...table.found.map((r) => option(r.name, format.titled(r))), option(rest, character ? "the character alone" : "the campaign alone"));
  const kept = table.chosen && [...table.found.map((r) => r.name), rest].includes(table.followed);
  const best = (table.found.find((r) => format.kindOf(r.name) !== "expeditions" || r.journey) ?? table.found[0])?.name ?? rest;
  $("follow").value = kept ? table.followed : best;
  await Promise.all([showSheet(), follow($("follow").value)]);
}

$("follow").addEventListener("change", () => {
  table.chosen = true;
  follow($("follow").value).catch(problem);
});

async function showSheet() {
  const { character } = table;
  $("sheet").hidden = !character;
  if (!character) return;
  const c = await api.get(character);
  if (table.character !== character) return;
  $("sheet-title").textContent = c.title || format.short(c.name);
  $("sheet-rows").replaceChildren(...definitions(c));
}

const definitions = (r) => format.rows(r).flatMap(([label, text]) => [el("dt", { textContent: label }), el("dd", { textContent: text })]);

/** Follows a resource from its last records on, unless it is followed already. */
async function follow(name) {
  if (name === table.followed && !following.signal.aborted) return showState();
  following.abort();
  following = new AbortController();
  const { signal } = following;
  table.followed = name;
  const state = await showState().catch((err) => {
    following.abort(); // so that the next look tries again
    throw err;
  });
  if (signal.aborted) return;
  $("events").replaceChildren();
  const reading = api.watch(name, Math.max(0, (state?.seq ?? 0) - 10), {
    signal,
    live: (on) => { $("live").textContent = on ? "Live" : "The connection is lost; trying again…"; },
    on: (update) => {
      showUpdate(update);
      refresh();
    },
  });
  reading.then(
    () => {
      if (signal.aborted) return;
      following.abort();
      $("live").textContent = "";
      table.chosen = false;
      look().catch(problem); // what was followed is over
    },
    (err) => {
      if (signal.aborted) return;
      following.abort();
      $("live").textContent = "";
      problem(err);
    },
  );
}

/** Shows what is followed; of an expedition also what is open in it. */
async function showState() {
  const name = table.followed;
  const state = await api.get(name);
  const inner = await Promise.all([state.run, state.delve, state.journey].filter((n) => n && format.kindOf(name) === "expeditions").map((n) => api.get(n)));
  if (table.followed !== name) return state;
  table.state = state;
  const shown = format.kindOf(name) === "characters" || name === table.campaign ? [] : [state, ...inner.filter(format.open)];
  $("state").replaceChildren(...(shown.length
    ? shown.flatMap((r) => [el("h3", { textContent: format.titled(r) }), el("dl", {}, ...definitions(r))])
    : [el("p", { className: "soft", textContent: "No run, delve, journey or scene." })]));
  return state;
}

/** Reads again what is shown, once for many records at a time. */
let due = 0;
function refresh() {
  clearTimeout(due);
  due = setTimeout(() => {
    // A record of a character or campaign may be that something was begun.
    const around = table.followed === table.character || table.followed === table.campaign;
    (around ? look() : Promise.all([showState(), showSheet()])).catch(problem);
  }, 150);
}

function showUpdate({ record = {}, events = [] }) {
  const time = record.time ? new Date(record.time) : null;
  const item = el("article", {}, el("p", { className: "soft" },
    `${record.seq ?? ""} · ${record.actor ?? ""} · `, time ? el("time", { dateTime: record.time, textContent: time.toLocaleTimeString() }) : "",
    record.overrideReason ? ` · ${record.overrideReason}` : ""));
  for (const e of events) {
    const { title, text } = format.event(e);
    item.append(el("div", {}, el("strong", { textContent: title }), text ? `: ${text}` : ""));
  }
  const dice = format.dice(record);
  if (dice) item.append(el("div", { textContent: `Dice: ${dice}` }));
  const whole = el("details", {}, el("summary", { textContent: "as JSON" }));
  whole.addEventListener("toggle", () => {
    if (whole.childElementCount === 1) whole.append(el("pre", { tabIndex: 0, textContent: JSON.stringify({ record, events }, null, 1) }));
  });
  item.append(whole);
  append($("events"), item);
}

// --- The conversation ---

/** Appends, and stays at the end unless the reader has scrolled up. */
function append(box, ...items) {
  const atEnd = box.scrollTop + box.clientHeight > box.scrollHeight - 40;
  box.append(...items);
  while (box.childElementCount > 500) box.firstElementChild.remove();
  if (atEnd) box.scrollTop = box.scrollHeight;
}

const note = (text) => append($("log"), el("p", { className: "soft", textContent: text }));
const problem = (err) => { if (err?.name !== "AbortError") append($("log"), el("p", { className: "bad", textContent: err.message })); };

async function say(line) {
  const { campaign, character } = table;
  if (!campaign) return;
  const who = table.characters.find((c) => c.name === character)?.title ?? (character ? format.short(character) : claims(api.token).sub ?? "");
  const body = { line };
  if (character) body.character = character;
  if (!$("gm").hidden) {
    const faces = $("dice").value.split(/[\s,]+/).filter(Boolean);
    if (faces.some((f) => !/^\d{1,4}$/.test(f))) {
      $("dice").focus();
      throw new Error(`Dice are whole numbers with blanks between them, not "${$("dice").value}".`);
    }
    if (faces.length) Object.assign(body, { reportedDice: faces.map(Number), etag: table.state?.etag ?? "" });
    if ($("reason").value.trim()) body.overrideReason = $("reason").value.trim();
  }
  const request = JSON.stringify([campaign, body]);
  const id = unanswered?.request === request ? unanswered.id : requestId();
  const asked = el("p", { className: "asked", textContent: `${who}> ${line}` });
  append($("log"), asked);
  try {
    const answer = await api.post(`${campaign}/console:execute`, body, id);
    unanswered = null;
    if (table.campaign !== campaign) return; // somebody else is here by now
    append($("log"), el("pre", { textContent: answer.text }));
    $("dice").value = $("reason").value = "";
    if (answer.result && !answer.result["@type"].endsWith(".Help")) await look().catch(problem);
  } catch (err) {
    if (!(err instanceof Refusal)) throw err;
    unanswered = err.away ? { request, id } : null;
    const text = err.away ? `${err.message} Send the same line again: it is done once, even if it has been done already.` : format.refusal(line, err);
    const fixes = format.suggestions(line, err).map((fixed) => {
      const button = el("button", { type: "button", textContent: fixed });
      button.addEventListener("click", () => { $("line").value = fixed; $("line").focus(); });
      return button;
    });
    append($("log"), el("pre", { className: "bad", textContent: text }), ...(fixes.length ? [el("p", { className: "chips" }, ...fixes)] : []));
    if (err.away) $("line").value = line;
  }
}

async function send(line) {
  if (!line || $("say").ariaBusy === "true") return;
  if (history.lines.at(-1) !== line) history.lines.push(line);
  history.at = history.lines.length;
  $("say").ariaBusy = "true";
  $("line").value = "";
  try {
    await say(line);
  } catch (err) {
    problem(err);
  } finally {
    $("say").ariaBusy = "false";
  }
}

$("say").addEventListener("submit", (e) => {
  e.preventDefault();
  send($("line").value.trim());
});
for (const button of document.querySelectorAll("[data-line]")) {
  button.addEventListener("click", () => { send(button.dataset.line); $("line").focus(); });
}

$("line").addEventListener("keydown", (e) => {
  const step = { ArrowUp: -1, ArrowDown: 1 }[e.key];
  if (!step) return;
  const to = history.at + step;
  if (to < 0 || to > history.lines.length) return;
  e.preventDefault();
  if (history.at === history.lines.length) history.draft = $("line").value;
  history.at = to;
  $("line").value = history.lines[to] ?? history.draft;
});

if (session.token) begin(session.token);
else showSignIn();
