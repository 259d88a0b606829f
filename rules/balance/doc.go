// Package balance is the laboratory: it plays dungeons many times with the engine that real runs use and tells how they
// come out. A run's dice are a function of the plan's seed and the run's number alone, so the same plan gives the same
// report on any number of cores.
package balance
