// Package config reads a program's configuration from the environment, once, into one typed struct.
//
// A program declares a struct whose fields carry the tags of caarlos0/env (`env:"NAME"`, `envDefault:"value"`) and gives
// the blocks of this package a field each, so that the same thing has the same variable in every program:
//
//	type settings struct {
//		Server    config.Server
//		Auth      config.Auth
//		PartyAddr string `env:"WAYFARER_PARTY_ADDR" envDefault:"127.0.0.1:9092"`
//	}
//	s, err := config.Load[settings](os.Getenv)
//
// It owns the reading and the checking. What the edge loses: an empty variable is the same as one that is not set, and
// no error shows a [Secret].
package config
