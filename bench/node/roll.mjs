// Tells how much time of a core rpg-dice-roller takes to parse and roll each notation of the command line, as JSON in
// nanoseconds: the medians of seven slices, after a warm-up.
import { DiceRoll } from '@dice-roller/rpg-dice-roller';

const slice = 100e6; // nanoseconds
let sink = 0;

function run(text, n) {
  const begin = process.cpuUsage();
  for (let i = 0; i < n; i++) sink += new DiceRoll(text).total;
  const took = process.cpuUsage(begin);
  return 1000 * (took.user + took.system);
}

const times = {};
for (const text of process.argv.slice(2)) {
  let n = 1;
  while (run(text, n) < slice) n *= 2; // warms up, too
  const took = Array.from({ length: 7 }, () => run(text, n) / n).sort((a, b) => a - b);
  times[text] = took[3];
}
if (!(sink > 0)) throw new Error('nothing was rolled');
console.log(JSON.stringify(times));
