// Checks dice by docs/dice.md alone, without Wayfarer: node verify.mjs FILE
// FILE holds the test vectors, a revealed stream with its draws, or an export of journals. Needs Node 18 or later, nothing else.
import { createHash, createHmac } from "node:crypto";
import { readFileSync } from "node:fs";

const commitment = (seed) => createHash("sha256").update(seed).digest();
const hmac = (key, message) => createHmac("sha256", key).update(message).digest();
const uint = (n, bytes) => Buffer.from(BigInt(n).toString(16).padStart(2 * bytes, "0"), "hex");
const keyOf = (seed, client, i) => hmac(seed, Buffer.concat([Buffer.from(client ?? ""), uint(0, 1), uint(i, 8)]));

function* wordsOf(key) {
  for (let j = 0; ; j++) for (let at = 0, block = hmac(key, uint(j, 4)); at < 32; at += 8) yield block.readBigUInt64BE(at);
}
function faceOf(words, n) {
  if (n < 1n) throw new Error(`a die of ${n} sides`);
  for (const limit = n * (2n ** 64n / n); ; ) {
    const w = words.next().value;
    if (w < limit) return Number(1n + (w % n));
  }
}
function equal(where, got, want) {
  if (String(got) !== String(want)) throw new Error(`${where}: it says ${got}, right is ${want}`);
}
let faces = 0;
function check(where, seed, client, i, dice) {
  const words = wordsOf(keyOf(seed, client, i));
  for (const { sides, face } of dice.filter((d) => !d.reported)) {
    equal(`${where}, d${sides}`, face, faceOf(words, BigInt(sides)));
    faces++;
  }
}

const text = readFileSync(process.argv[2], "utf8"), streams = {};
if (text.startsWith('{"wayfarer_journal"')) {
  for (const r of text.trimEnd().split("\n").map((line) => JSON.parse(line)).filter((r) => r.stream)) {
    for (const e of r.kind === "stream" ? r.events : []) {
      if (e.begun) streams[r.stream] = { seed: Buffer.from(e.begun.seed, "base64") };
      if (e.clientSeedSet) streams[r.stream].client = e.clientSeedSet.clientSeed;
    }
    const from = streams[r.dice_stream];
    if (from) check(`record ${r.seq} of ${r.stream}`, from.seed, from.client, r.seq, r.dice);
    else if (r.dice?.some((d) => !d.reported)) throw new Error(`record ${r.seq} of ${r.stream}: no stream`);
  }
} else for (const v of [JSON.parse(text)].flat()) {
  const encoding = v.sides ? "hex" : "base64", seed = Buffer.from(v.seed, encoding);
  if (v.commitment) equal("commitment", v.commitment, commitment(seed).toString(encoding));
  if (v.sides) check(`vector ${v.index}`, seed, v.client_seed, v.index, v.sides.map((sides, i) => ({ sides, face: v.faces[i] })));
  else for (const d of v.draws) check(`roll ${d.index}`, seed, v.clientSeed ?? v.client_seed, d.index, d.dice);
}
if (!faces) throw new Error("there are no dice to check");
console.log(`${faces} faces are right`);
