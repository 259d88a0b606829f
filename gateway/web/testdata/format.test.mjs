// What the console says in words.
import assert from "node:assert/strict";
import { test } from "node:test";

import { readEvents } from "../api.js";
import * as format from "../format.js";

test("names of the contract in words", () => {
  for (const [name, want] of [["roundCompleted", "round completed"], ["PHASE_AT_LOCATION", "at location"], ["strMax", "str max"], ["GM", "gm"]]) {
    assert.equal(format.words(name), want);
  }
  assert.equal(format.short("campaigns/c/characters/ada"), "ada");
  assert.equal(format.short("ada of campaigns/c"), "ada of campaigns/c", "a text is no name");
});

const events = {
  "an event without anything": [{ settled: {} }, { title: "settled", text: "" }],
  "names are short, hexes are read, what is false or empty says nothing": [
    { moved: { to: { q: 0, r: -1 }, via: "road", by: "campaigns/c/characters/ada", blocked: false, note: "", ways: [] } },
    { title: "moved", text: "to 0,-1, via road, by ada" },
  ],
  "truth is named, noughts count at the top only": [
    { roundCompleted: { passed: true, score: 0, results: [{ character: "campaigns/c/characters/ada", acted: true, riskRoll: 0, total: 7 }] } },
    { title: "round completed", text: "passed, score 0, results character ada, acted, total 7" },
  ],
  "enumerations are words": [{ left: { reason: "END_REASON_GIVEN_UP" } }, { title: "left", text: "reason reason given up" }],
  "a document is not told": [{ began: { ruleset: Object.fromEntries(Array.from({ length: 40 }, (_, i) => [`k${i}`, i + 1])) } }, { title: "began", text: "ruleset …" }],
  "a long list is counted": [{ dealt: { cards: Array.from({ length: 9 }, () => ({ id: "x" })) } }, { title: "dealt", text: "cards 9 of them" }],
  "what has no kind is nothing": [{}, { title: "", text: "" }],
};
for (const [name, [e, want]] of Object.entries(events)) test(name, () => assert.deepEqual(format.event(e), want));

test("dice tell what they were for", () => {
  assert.equal(format.dice({ dice: [{ purpose: "act campaigns/c/characters/ada", sides: 10, face: 4, reported: true }, { sides: 6, face: 1 }] }), "d10 4 (act ada), by hand; d6 1");
  assert.equal(format.dice(undefined), "");
});

test("a refusal has a mark under what is wrong, and the lines that would do", () => {
  const err = { message: "no such tool", reason: "UNKNOWN_NAME", metadata: { column: "6", suggestions: "Hemp Rope; Rope" } };
  assert.equal(format.refusal("+act hmep", err), "+act hmep\n     ^\nno such tool");
  assert.deepEqual(format.suggestions("+act hmep", err), ["+act Hemp Rope", "+act Rope"]);
  assert.deepEqual(format.suggestions("+dungen/enter now", { reason: "UNKNOWN_COMMAND", metadata: { column: "2", suggestions: "+dungeon/enter" } }), ["+dungeon/enter now"]);
  assert.equal(format.refusal("+act", { message: "not now", reason: "NO_RUN", metadata: {} }), "not now (NO_RUN)");
  assert.deepEqual(format.suggestions("+act", { metadata: { suggestions: "a" } }), []);
});

test("what is over is not under way", () => {
  for (const [name, phase, want] of [["runs", "PHASE_ACT", true], ["runs", "PHASE_WON", false], ["delves", "PHASE_LEFT", false], ["journeys", "PHASE_ENDING", true], ["expeditions", "PHASE_CONCLUDED", false], ["scenes", "PHASE_PLAYING", true]]) {
    assert.equal(format.open({ name: `campaigns/c/${name}/x`, phase }), want, `${name} ${phase}`);
  }
  assert.ok(format.within({ members: [{ character: "a" }] }, "a"));
  assert.ok(format.within({ players: [{ character: "a" }] }, "a"));
  assert.ok(!format.within({ members: [{ character: "b" }] }, "a"));
});

test("a journey is told by what matters", () => {
  const journey = {
    name: "campaigns/c/journeys/j", phase: "PHASE_TRAVELING", hex: { q: 1, r: 0 }, inside: "", food: [8, 4], gold: 0, round: 2, turn: 1, dark: true,
    members: [{ name: "Ada", hp: 3, hpMax: 4, str: 9, strMax: 10 }, { name: "Tom", dead: true }],
  };
  assert.deepEqual(format.rows(journey), [
    ["Phase", "traveling"], ["Where", "hex 1,0"], ["Food", "d8, d4"], ["Gold", 0], ["Round", "2, turn 1"], ["Light", "dark"], ["Company", "Ada: 3/4 HP, 9/10 STR\nTom: dead"],
  ]);
});

test("events of a stream are read, however they are cut", async () => {
  const bytes = new TextEncoder().encode(": \n\nid: 3\ndata: {\"a\":\"€\"}\n\nevent: error\r\ndata: x\r\ndata: y\r\n\r\nid: 4\ndata: lost");
  for (const size of [1, 2, 7, 100]) {
    let at = 0;
    const reader = { read: async () => (at >= bytes.length ? { done: true } : { done: false, value: bytes.slice(at, (at += size)) }) };
    const got = [];
    for await (const e of readEvents(reader)) got.push(e);
    assert.deepEqual(got, [{ id: "3", event: "", data: '{"a":"€"}' }, { id: "3", event: "error", data: "x\ny" }], `in pieces of ${size}`);
  }
});
