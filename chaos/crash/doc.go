// Package crash plays expeditions on all programs in one process and lets the programs die at named points: before and after
// each insert, lease step, activity and answer. A seed chooses the commands, the dice, the points and what happens there; the
// same seed is the same run. Afterwards the audit judges what is left.
//
// The services, the workflow, its activities and the edge are the real ones, on stores in memory that outlive them. In place
// of the network stands a call from one to the other, in place of Temporal its test environment, which keeps what Temporal
// keeps: that a command has its turn, and that an activity without an outcome is begun again. What no point can show, such as
// two that do something at the same moment, is left to the separate programs of the chaos command.
package crash
