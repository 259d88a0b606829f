// Package expedition is a party's single thread of time: the ExpeditionService, and the Temporal workflow behind it.
//
// It owns the order of an expedition's commands, the phases that say which may be given, and the expedition's log, which
// holds every record of the journey and of the runs, whole and in order. Rules stay in the services that own these: a
// command is a request of theirs, given on over gRPC for the user who gave it, and their refusals come back unchanged.
//
// The log is the only truth. The workflow holds nothing that the log does not, so that it may be lost, terminated or
// begun anew at any time; what it gives is the order: one command after the other, each seen through by an activity that
// may be repeated. A command's request_id is looked up in the log before Temporal is asked and again when its turn has
// come, and the id under which the owning service is called is derived from it, so nothing happens twice.
//
// What the edge loses: who is told that a command failed with UNAVAILABLE or DEADLINE_EXCEEDED cannot know whether it was
// carried out, and repeats it with the same request_id.
package expedition
