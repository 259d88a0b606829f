package main

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/wayfarer-rpg/wayfarer/replay"
	"github.com/wayfarer-rpg/wayfarer/rules/play/transcript"
)

// replayFlags are what the replay command is told.
type replayFlags struct {
	system, file          string
	check, local          bool
	server                string
	token, user, password string
}

func replayCommand() *cobra.Command {
	var f replayFlags
	c := &cobra.Command{
		Use: "replay", Short: "Plays a transcript file and prints the states that it leads to", Args: cobra.NoArgs,
		Long: "Plays every transcript of a file and prints the file with the states that each step led to in place of what it\n" +
			"expects. The formats are described in docs/rules/.\n\n" +
			"Without --server it plays on the rules of this program, as with --local. With --server it plays through the public\n" +
			"API of a running server, with reported dice, as the game master of a new campaign for each transcript. It does so as\n" +
			"the user of --token or WAYFARER_TOKEN, else as --user of the server's development issuer.\n\n" +
			"It ends with status 1 when the file cannot be read or played to its end, and with --check at the first difference\n" +
			"from what the file expects, which is named on standard error.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return f.run(cmd.Context(), cmd.InOrStdin(), cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	c.Flags().StringVar(&f.system, "system", "", "rule system: "+strings.Join(replay.Systems(), ", "))
	c.Flags().StringVar(&f.file, "file", "", `transcript file; "-" is standard input. A map that it names lies beside it`)
	c.Flags().BoolVar(&f.check, "check", false, "compare with what the file expects")
	c.Flags().BoolVar(&f.local, "local", false, "play on the rules of this program; the default")
	c.Flags().StringVar(&f.server, "server", "", "play on the server whose REST is here, for example http://localhost:8080")
	c.Flags().StringVar(&f.token, "token", os.Getenv("WAYFARER_TOKEN"), "bearer token for the server")
	c.Flags().StringVar(&f.user, "user", "gm", "user of the development issuer, without a token")
	c.Flags().StringVar(&f.password, "password", "wayfarer", "of that user")
	for _, name := range []string{"system", "file"} {
		if err := c.MarkFlagRequired(name); err != nil {
			panic(err)
		}
	}
	c.MarkFlagsMutuallyExclusive("server", "local")
	return c
}

func (f replayFlags) run(ctx context.Context, in io.Reader, out, errs io.Writer) error {
	document, err := f.read(in)
	if err != nil {
		return err
	}
	played, err := f.play(ctx, document)
	if err != nil {
		return fmt.Errorf("%s: %w", f.file, err)
	}
	filled, err := transcript.Fill(document, played)
	if err != nil {
		return fmt.Errorf("%s: %w", f.file, err)
	}
	if _, err := out.Write(filled); err != nil {
		return err
	}
	verdict := transcript.Faults
	if f.check {
		verdict = transcript.Check
	}
	if err := verdict(played); err != nil {
		return fmt.Errorf("%s: %w", f.file, err)
	}
	if f.check {
		steps := 0
		for _, p := range played {
			steps += len(p.Got)
		}
		_, err = fmt.Fprintf(errs, "%s: %d transcripts, %d steps, all as expected\n", f.file, len(played), steps)
	}
	return err
}

func (f replayFlags) read(in io.Reader) ([]byte, error) {
	if f.file == "-" {
		return io.ReadAll(in)
	}
	return os.ReadFile(f.file)
}

// open reads what the file names, from beside it.
func (f replayFlags) open(name string) ([]byte, error) {
	if filepath.IsAbs(name) || f.file == "-" {
		return os.ReadFile(name) //nolint:gosec // whoever runs the command may read it
	}
	return os.ReadFile(filepath.Join(filepath.Dir(f.file), name)) //nolint:gosec // as above
}

func (f replayFlags) play(ctx context.Context, document []byte) ([]transcript.Played, error) {
	if f.server == "" {
		return replay.Local(f.system, document, f.open)
	}
	cfg := replay.Config{URL: strings.TrimSuffix(f.server, "/"), Token: f.token}
	if cfg.Token == "" {
		token, err := developmentToken(ctx, cfg.URL, f.user, f.password)
		if err != nil {
			return nil, err
		}
		cfg.Token = token
	}
	id := make([]byte, 5)
	if _, err := rand.Read(id); err != nil {
		return nil, err
	}
	cfg.ID = hex.EncodeToString(id)
	return replay.Server(ctx, cfg, f.system, document, f.open)
}

// developmentToken asks a server's development issuer for a user's token.
func developmentToken(ctx context.Context, server, user, password string) (string, error) {
	form := url.Values{"grant_type": {"password"}, "username": {user}, "password": {password}}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, server+"/dev/token", strings.NewReader(form.Encode()))
	if err != nil {
		return "", err
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", err
	}
	defer func() { _ = res.Body.Close() }()
	var answer struct {
		AccessToken string `json:"access_token"`
	}
	if err := json.NewDecoder(res.Body).Decode(&answer); err != nil || answer.AccessToken == "" {
		return "", errors.Join(fmt.Errorf("the issuer at %s gives %s no token: HTTP %d; --token takes one of another issuer", server, user, res.StatusCode), err)
	}
	return answer.AccessToken, nil
}
