// Shows the OpenAPI document of this server: calls by service, their parameters, bodies and answers.
"use strict";

const el = (name, attrs = {}, ...children) => {
  const e = document.createElement(name);
  Object.assign(e, attrs);
  e.append(...children.filter((c) => c !== null && c !== undefined));
  return e;
};

let doc;
const resolve = (s) => (s && s.$ref ? s.$ref.split("/").slice(1).reduce((at, key) => at[key], doc) : s || {});
const nameOf = (s) => (s && s.$ref ? s.$ref.split("/").pop() : "");

function typeOf(s) {
  if (!s) return "";
  if (s.$ref) return nameOf(s).split(".").pop();
  if (s.allOf && s.allOf.length === 1) return typeOf(s.allOf[0]);
  if (s.type === "array") return typeOf(s.items) + "[]";
  if (s.enum) return s.enum.join(" | ");
  return [s.type].flat().filter(Boolean).join(" | ") + (s.format ? ` (${s.format})` : "");
}

// bounds says what else a value has to be.
function bounds(s) {
  const inner = s.type === "array" && s.items ? bounds(s.items) : [];
  const say = [["minLength", "at least %s long"], ["maxLength", "at most %s long"], ["minimum", "from %s"], ["exclusiveMinimum", "above %s"],
    ["maximum", "to %s"], ["exclusiveMaximum", "below %s"], ["minItems", "at least %s items"], ["maxItems", "at most %s items"], ["pattern", "like %s"]];
  return say.filter(([key]) => s[key] !== undefined).map(([key, text]) => text.replace("%s", s[key])).concat(inner);
}

// fields lists the properties of a schema; those of messages open on demand, so that recursion costs nothing.
function fields(schema) {
  const s = resolve(schema.allOf && schema.allOf.length === 1 ? schema.allOf[0] : schema);
  const box = el("div", { className: "ind" });
  const props = Object.entries(s.properties || {});
  for (const branch of s.oneOf || s.anyOf || []) {
    for (const p of Object.entries(resolve(branch).properties || {})) props.push(p);
  }
  for (const [name, p] of props) {
    const required = (s.required || []).includes(name) ? " required" : "";
    const limits = bounds(p).map((b) => `, ${b}`).join("");
    const line = el("span", {}, el("code", { textContent: name }), " ", el("span", { className: "soft", textContent: typeOf(p) + required + limits }));
    const inner = p.type === "array" ? p.items : p;
    const target = resolve(inner.allOf && inner.allOf.length === 1 ? inner.allOf[0] : inner);
    // What the values of an enumeration mean stands at the enumeration.
    const text = [p.description, target.enum && inner !== target ? target.description : ""].filter(Boolean).join("\n");
    if (target.properties || target.oneOf) {
      const d = el("details", {}, el("summary", {}, line), el("p", { className: "tag", textContent: text }));
      d.addEventListener("toggle", () => { if (d.open && d.childElementCount === 2) d.append(fields(inner)); });
      box.append(d);
    } else {
      box.append(el("p", {}, line, el("br"), el("span", { className: "tag", textContent: text })));
    }
  }
  return box;
}

function body(title, content) {
  const media = content && Object.values(content)[0];
  if (!media || !media.schema) return null;
  return el("div", {}, el("h3", { textContent: `${title}: ${typeOf(media.schema)}` }), fields(media.schema));
}

function call(path, verb, op) {
  const d = el("details", {}, el("summary", {}, el("span", { className: "verb", textContent: verb.toUpperCase() }), el("code", { textContent: path })));
  const sent = resolve(Object.values(resolve(op.requestBody).content || {})[0]?.schema).properties || {};
  const names = [...Object.keys(sent), ...(op.parameters || []).map((p) => resolve(p).name)];
  d.dataset.text = `${verb} ${path} ${op.operationId} ${op.summary || ""} ${op.description || ""} ${names.join(" ")}`.toLowerCase();
  d.addEventListener("toggle", () => {
    if (!d.open || d.childElementCount > 1) return;
    d.append(el("p", { className: "tag", textContent: op.description || op.summary || "" }));
    for (const p of (op.parameters || []).map(resolve)) {
      d.append(el("p", {}, el("code", { textContent: p.name }), " ", el("span", { className: "soft", textContent: `${p.in} ${typeOf(p.schema)}` }), " ", p.description || ""));
    }
    if (op.requestBody) d.append(body("Body", resolve(op.requestBody).content) || "");
    const ok = resolve((op.responses || {})["200"]);
    d.append(body("Answer", ok.content) || "");
  });
  return d;
}

async function main() {
  const res = await fetch("/openapi.json");
  if (!res.ok) throw new Error(`the document: ${res.status}`);
  doc = await res.json();
  document.getElementById("about").textContent = doc.info.description;
  const byTag = new Map((doc.tags || []).map((t) => [t.name, { text: t.description || "", calls: [] }]));
  for (const [path, item] of Object.entries(doc.paths)) {
    for (const [verb, op] of Object.entries(item)) {
      const tag = (op.tags || ["Other"])[0];
      if (!byTag.has(tag)) byTag.set(tag, { text: "", calls: [] });
      byTag.get(tag).calls.push(call(path, verb, op));
    }
  }
  const calls = document.getElementById("calls");
  for (const [tag, { text, calls: list }] of byTag) {
    if (list.length) calls.append(el("section", {}, el("h2", { textContent: tag }), el("p", { className: "soft tag", textContent: text }), ...list));
  }
  document.getElementById("find").addEventListener("input", (e) => {
    const words = e.target.value.toLowerCase().split(/\s+/);
    for (const d of calls.querySelectorAll("section > details")) d.hidden = !words.every((w) => d.dataset.text.includes(w));
    for (const s of calls.querySelectorAll("section")) s.hidden = !s.querySelector(":scope > details:not([hidden])");
  });
}

main().catch((err) => { document.getElementById("about").textContent = String(err); });
