// Package journal keeps the truth of every aggregate: an append-only list of records, one for each accepted command.
//
// It owns the order of the records, the promise that a request id is answered once and always alike, the folding of
// records into a state, the caching of folds, lists of streams, watching, and the index of what is still owed. It
// knows nothing of what the events mean: a service hands it a [Fold] and decides what to record.
//
// One accepted command is one record is one insert. The key of a record is its stream and position, so of two
// writers that want the same position one wins and the other folds what it missed and decides again. Nothing here
// needs a transaction or a compare-and-set, which is why any store with unique keys serves as a [Store]. The
// packages below this one hold three of them: mongo for production, sqlite for one machine, memory for tests; the
// suite in journaltest says what all of them owe.
//
// What the edges lose: a caller that gets an error from [Journal.Commit] which is not a refusal cannot know whether
// the record was stored, and repeats the command with the same request id to learn it. Heads, cached folds and index
// entries of settled obligations may be lost at any time without losing anything. Times are cut to milliseconds, the
// precision that every store keeps.
package journal
