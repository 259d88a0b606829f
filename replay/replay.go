// Package replay plays transcript files of the four rule systems, on the rules packages or through the public API of a
// running server. Both ways it tells what each step led to in the words of the file.
//
// On a server it makes a campaign for each transcript and plays as its game master: the sheets, packs and dungeons of the
// file are staged, the dice of the file are reported. What is to be read is read from the server's answers alone; the
// rules packages are asked for nothing but the format and the names in it.
package replay

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/wayfarer-rpg/wayfarer/rules/dangerpool"
	"github.com/wayfarer-rpg/wayfarer/rules/dangerworld"
	"github.com/wayfarer-rpg/wayfarer/rules/diedrop"
	"github.com/wayfarer-rpg/wayfarer/rules/digger"
	"github.com/wayfarer-rpg/wayfarer/rules/play/transcript"
)

// Open reads a file that a transcript file names, such as its map. It fails with fs.ErrNotExist for one that is not there.
type Open func(name string) ([]byte, error)

// system is one rule system.
type system struct {
	local  func(document []byte, open Open) ([]transcript.Played, error)
	server func(ctx context.Context, s *session, document []byte, open Open) ([]transcript.Played, error)
}

var systems = map[string]system{
	"danger-pool": {
		local:  func(document []byte, _ Open) ([]transcript.Played, error) { return dangerpool.Replay(document) },
		server: playDangerPool,
	},
	"danger-world": {
		local:  func(document []byte, _ Open) ([]transcript.Played, error) { return dangerworld.Replay(nil, document) },
		server: playDangerWorld,
	},
	"die-drop": {
		local:  func(document []byte, open Open) ([]transcript.Played, error) { return diedrop.Replay(document, open) },
		server: playDieDrop,
	},
	"digger": {
		local:  func(document []byte, _ Open) ([]transcript.Played, error) { return digger.Replay(document) },
		server: playDigger,
	},
}

// Systems returns the names of the rule systems, in order of the alphabet.
func Systems() []string { return slices.Sorted(maps.Keys(systems)) }

// Local plays a file on the rules package of a system. It fails when there is no such system and when the file cannot be
// read; what could not be played is told by each transcript.
func Local(name string, document []byte, open Open) ([]transcript.Played, error) {
	s, err := find(name)
	if err != nil {
		return nil, err
	}
	return s.local(document, open)
}

// Server plays a file through the public API of a server. It fails as [Local] does, and when the server cannot be
// reached.
func Server(ctx context.Context, cfg Config, name string, document []byte, open Open) ([]transcript.Played, error) {
	s, err := find(name)
	if err != nil {
		return nil, err
	}
	on, err := newSession(cfg)
	if err != nil {
		return nil, err
	}
	return s.server(ctx, on, document, open)
}

func find(name string) (system, error) {
	s, ok := systems[name]
	if !ok {
		return s, fmt.Errorf("there is no rule system %q, only %v", name, Systems())
	}
	return s, nil
}
