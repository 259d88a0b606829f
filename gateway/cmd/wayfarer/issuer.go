package main

import (
	"crypto/ed25519"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/wayfarer-rpg/wayfarer/internal/auth/devissuer"
	"github.com/wayfarer-rpg/wayfarer/internal/serve"
)

func issuerCommand() *cobra.Command {
	var (
		listen, url, audience, key, password string
		users, clients                       []string
	)
	c := &cobra.Command{
		Use: "issuer", Short: "Serves the development issuer: tokens for everybody who knows one password", Args: cobra.NoArgs,
		Long: "Serves the development issuer, for a trial of the separate programs. It gives tokens to the named users, who share one\n" +
			"password, and to programs by client credentials. It is no identity provider: never let others reach it.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg := devissuer.Config{Issuer: strings.TrimSuffix(url, "/"), Audience: audience, Users: users, Password: password, Services: map[string]string{}}
			for _, pair := range clients {
				id, secret, ok := strings.Cut(pair, "=")
				if !ok || id == "" || secret == "" {
					return fmt.Errorf("--client: %q is not id=secret", id)
				}
				cfg.Services[id] = secret
			}
			signing, err := signingKey(key)
			if err != nil {
				return fmt.Errorf("--key: %w", err)
			}
			lis, err := net.Listen("tcp", listen)
			if err != nil {
				return fmt.Errorf("--listen: %w", err)
			}
			fmt.Fprintf(cmd.OutOrStdout(), "issuer %s on %s: %d users, %d programs\n", cfg.Issuer, lis.Addr(), len(users), len(cfg.Services))
			return serve.HTTP(cmd.Context(), lis, devissuer.New(cfg, signing).Handler(), time.Second)
		},
	}
	f := c.Flags()
	f.StringVar(&listen, "listen", ":8090", "address to listen on")
	f.StringVar(&url, "url", "http://127.0.0.1:8090", "URL under which it is reached; it stands in every token")
	f.StringVar(&audience, "audience", "wayfarer", "stands in every token")
	f.StringVar(&key, "key", "", "file of the signing key, made when it is missing; empty: a new key each time")
	f.StringVar(&password, "password", "wayfarer", "of all users")
	f.StringSliceVar(&users, "user", []string{"gm", "ada", "bram", "cleo", "dov", "eve"}, "who gets tokens")
	f.StringSliceVar(&clients, "client", nil, "id=secret of a program")
	return c
}

func signingKey(path string) (ed25519.PrivateKey, error) {
	if path != "" {
		return devissuer.LoadKey(path)
	}
	_, key, err := ed25519.GenerateKey(nil)
	return key, err
}
