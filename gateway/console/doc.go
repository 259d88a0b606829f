// Package console understands lines such as "+dungeon/draw" or "+travel/move north", as players on a MUSH and in chats
// write them, gives the commands to the services in the caller's own name, and tells in text what came of them.
//
// A line is
//
//	line  = "+" name { "/" name } [ blank { item } ]
//	item  = value | key "=" value          key=value where the command has options
//	value = word | '"' text '"'            \" and \\ inside quotation marks
//
// and the last argument of a command takes the rest of the line, blanks included, when it is a name or a text. Names are
// read in any case, whole or from the beginning of one of their words, as long as one thing fits.
//
// It owns the table of commands, from which the help is made, and the wording. It knows no rule and keeps nothing: what a
// line was taken for is kept by the party service, so that a repetition means the same. What the edge loses: nothing,
// refusals of the services pass as they are.
package console
