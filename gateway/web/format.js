// Says in words what the API says in JSON. Pure: texts come out, which whoever shows them shows as texts.

/** The last part of a resource name; anything else as it is. */
export const short = (name) => (/^campaigns\/[^\s]+$/.test(name) ? name.split("/").pop() : String(name));

/** "roundCompleted" and "PHASE_AT_LOCATION" in words. */
export function words(name) {
  const enumeration = /^[A-Z]+(_[A-Z0-9]+)+$/.exec(name);
  if (enumeration) return name.split("_").slice(1).join(" ").toLowerCase();
  return name.replace(/([a-z0-9])([A-Z])/g, "$1 $2").toLowerCase();
}

const hex = (h) => `${h.q},${h.r}`;
const isHex = (v) => typeof v === "object" && Object.keys(v).sort().join() === "q,r";

function value(v, depth) {
  switch (typeof v) {
    case "boolean": return v ? "yes" : "";
    case "number": return v === 0 && depth > 1 ? "" : String(v); // the noughts of a list say little
    case "string": return /^[A-Z]+(_[A-Z0-9]+)+$/.test(v) ? words(v) : short(v);
  }
  if (v === null || v === undefined) return "";
  if (isHex(v)) return hex(v);
  if (Array.isArray(v)) {
    if (v.every((x) => typeof x !== "object")) return v.map((x) => value(x, depth)).join(", ");
    return depth > 1 || v.length > 8 ? `${v.length} of them` : v.map((x) => value(x, depth + 1)).join("; ");
  }
  return depth > 1 ? "…" : pairs(v, depth + 1);
}

function pairs(o, depth) {
  const entries = Object.entries(o).filter(([k]) => k !== "@type");
  if (entries.length > 16) return "…"; // a document, such as a ruleset
  return entries.map(([k, v]) => [words(k), value(v, depth)]).filter(([, v]) => v !== "").map(([k, v]) => (v === "yes" ? k : `${k} ${v}`)).join(", ");
}

/** One event in words: its name, and what it says. */
export function event(e) {
  const [[kind, body] = ["", {}]] = Object.entries(e);
  return { title: words(kind), text: pairs(body ?? {}, 0) };
}

/** The dice of a record in words; empty without any. */
export function dice(record) {
  return (record?.dice ?? []).map((d) => `d${d.sides} ${d.face}${d.purpose ? ` (${d.purpose.split(/\s+/).map(short).join(" ")})` : ""}${d.reported ? ", by hand" : ""}`).join("; ");
}

/** A refused line with a mark under the place that is wrong. */
export function refusal(line, err) {
  const column = Number(err.metadata?.column);
  const mark = column >= 1 && column <= line.length + 1 ? `${line}\n${" ".repeat(column - 1)}^\n` : "";
  return `${mark}${err.message}${err.reason && !mark ? ` (${err.reason})` : ""}`;
}

/** The line with each suggestion in the place of what is wrong. */
export function suggestions(line, err) {
  const column = Number(err.metadata?.column);
  const found = (err.metadata?.suggestions ?? "").split("; ").filter(Boolean);
  if (!(column >= 1)) return [];
  return found.map((s) => {
    if (err.reason !== "UNKNOWN_COMMAND") return line.slice(0, column - 1) + s;
    const rest = line.indexOf(" ", column - 1);
    return (s.startsWith("+") ? s : `+${s}`) + (rest < 0 ? "" : line.slice(rest));
  });
}

const kept = (rows) => rows.filter(([, v]) => v !== "" && v !== undefined && v !== null);
const list = (items, each) => (items ?? []).map(each).join("\n");
const vitals = (v) => (v ? `${v.hp}/${v.hpMax} HP, ${v.str}/${v.strMax} STR` : "");

/** Kinds of what may be under way, the widest first; over tells its last phases. */
export const kinds = {
  expeditions: { title: "Expedition", over: ["CONCLUDED"] },
  runs: { title: "Run", over: ["WON", "RETREATED", "EXHAUSTED", "UNDONE", "ABANDONED"] },
  delves: { title: "Delve", over: ["LEFT"] },
  journeys: { title: "Journey", over: ["ENDED", "ABANDONED", "UNDONE"] },
  scenes: { title: "Scene", over: ["ENDED", "UNDONE"] },
};

/** The kind of a resource by its name, such as "runs". */
export const kindOf = (name) => name.split("/")[2] ?? "";

/** Tells whether something is still under way. */
export const open = (r) => !kinds[kindOf(r.name)]?.over.includes((r.phase ?? "").replace(/^PHASE_/, ""));

/** Tells whether a character takes part. */
export const within = (r, character) => [...(r.members ?? []), ...(r.players ?? [])].some((m) => m.character === character);

/** What people call it. */
export const titled = (r) => `${kinds[kindOf(r.name)]?.title ?? ""} ${r.title || short(r.name)}`.trim();

const rowsOf = {
  characters: (c) => {
    const form = (c.forms ?? []).find((f) => f.id === c.currentForm) ?? {};
    const tools = form.statblock?.tools ?? [];
    return [
      ["Vitals", vitals(c.vitals)],
      ["Form", form.title || form.id],
      ["Abilities", Object.entries(form.statblock?.abilities ?? {}).map(([k, v]) => `${k} ${v}`).join(", ")],
      ["Belt", `${tools.filter((t) => t.loaded).length} of ${c.beltSlots}`],
      ["Tools", list(tools, (t) => `${t.loaded ? "*" : ""}#${t.number} ${t.title}, ${t.rating} ${t.ability} (${t.uses} uses)`)],
      ["Lent to", list(c.leases, (l) => `${short(l.holder ?? "")}: ${words(l.facet ?? "")}`)],
    ];
  },
  runs: (r) => [
    ["Phase", words(r.phase)],
    ["Explored", `${r.exploration} of 100, round ${r.round}`],
    ["Challenge", r.challenge && `${r.challenge.title}: ${r.challenge.ability}, level ${r.challenge.level}, target ${r.challenge.tn}${r.challenge.modifier ? `, ${r.challenge.modifier > 0 ? "+" : ""}${r.challenge.modifier}` : ""}\n${r.challenge.text}`],
    ["Waits for", (r.challenge?.waiting ?? []).map(short).join(", ") || (r.challenge ? `${short(r.challenge.drawer)} to complete` : r.phase === "PHASE_DRAW" ? "somebody to draw" : "")],
    ["Conditions", list(r.conditions, (c) => `${c.name} (${c.remaining})`)],
    ["Effects", list(r.effects, (e) => `${e.name} (${e.remaining})`)],
    ["Party", list(r.members, (m) => `${m.title || short(m.character)}${m.character === r.leader ? " (leads)" : ""}: exhaustion ${m.exhaustion}`)],
  ],
  delves: (d) => [
    ["Phase", words(d.phase)],
    ["Area", d.area?.title || d.area?.id],
    ["Pool", `${d.pool} of ${d.poolLimit} dice`],
    ["Time", `${d.elapsedMinutes} minutes`],
    ["Combat", d.inCombat ? "yes" : ""],
    ["Lights", d.darkness ? "none: darkness" : list(d.lights, (l) => `${l.source}${l.active ? ` burns, ${l.remaining} minutes left` : " (out)"}`)],
    ["Members", (d.members ?? []).map((m) => m.name).join(", ")],
  ],
  journeys: (j) => [
    ["Phase", words(j.phase)],
    ["Where", [j.hex && `hex ${hex(j.hex)}`, j.inside && `inside ${j.inside}`, j.room && `room ${j.room}`].filter(Boolean).join(", ")],
    ["Food", (j.food ?? []).map((d) => `d${d}`).join(", ") || "none"],
    ["Gold", j.gold],
    ["Round", `${j.round}, turn ${j.turn}`],
    ["Light", j.dark ? "dark" : j.light && `${j.light.kind} d${j.light.sides}`],
    ["Encounter", j.encounter && pairs(j.encounter, 1)],
    ["Company", list(j.members, (m) => `${m.name}: ${m.dead ? "dead" : vitals(m)}`)],
  ],
  scenes: (s) => [
    ["Phase", words(s.phase)],
    ["Present", list(s.players, (p) => `${p.title}${p.harm ? `: ${p.harm}` : ""}`)],
    ["Challenges", list(s.challenges, (c) => `${c.name}: difficulty ${c.difficulty}, ${words(c.status)}`)],
  ],
  expeditions: (e) => [
    ["Phase", words(e.phase)],
    ["Session", e.session ? `open, ${e.session.minutes} minutes` : ""],
    ["Turn", e.turn && pairs(e.turn, 1)],
  ],
};

/** Label and text of what there is to know about a resource. */
export const rows = (r) => kept((rowsOf[kindOf(r.name)] ?? (() => []))(r));
