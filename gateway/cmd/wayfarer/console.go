package main

import (
	"bufio"
	"bytes"
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
	"strings"
	"time"

	"github.com/spf13/cobra"
)

// console gives lines to a server and prints what comes of them.
type console struct {
	server, campaign, character string
	token, user, password       string
	etag, override              string
	dice                        []int32
	json                        bool
	in                          io.Reader
	out, errOut                 io.Writer
	client                      http.Client
	refused                     int
}

func consoleCommand() *cobra.Command {
	v := &console{}
	c := &cobra.Command{
		Use: "console [LINE]", Short: "Plays by + commands such as +dungeon/draw",
		Long: "Plays by + commands such as +dungeon/draw; +help lists them. Without LINE it reads lines from standard input until it\n" +
			"ends, or until \"quit\"; empty lines and lines that begin with # are passed over, and on a terminal there is a prompt.\n\n" +
			"Texts go to standard output, refusals to standard error. It ends with status 1 when a line was refused, and at once\n" +
			"when the server cannot be reached or knows no such player. Without a token it asks the development issuer of the\n" +
			"server for one, for the demo user who is called like the character.",
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			v.in, v.out, v.errOut = cmd.InOrStdin(), cmd.OutOrStdout(), cmd.ErrOrStderr()
			return v.run(cmd.Context(), strings.Join(args, " "))
		},
	}
	f := c.Flags()
	f.StringVar(&v.server, "server", env("WAYFARER_URL", "http://127.0.0.1:8080"), "where REST is (WAYFARER_URL)")
	f.StringVar(&v.campaign, "campaign", os.Getenv("WAYFARER_CAMPAIGN"), "id of the campaign (WAYFARER_CAMPAIGN)")
	f.StringVar(&v.character, "character", os.Getenv("WAYFARER_CHARACTER"), "id of the acting character (WAYFARER_CHARACTER); game masters may leave it out")
	f.StringVar(&v.token, "token", "", "bearer token; better in WAYFARER_TOKEN, where other users of the machine do not see it")
	f.StringVar(&v.user, "user", "", "demo user of the development issuer; by default called like the character")
	f.StringVar(&v.password, "password", "wayfarer", "of the demo user")
	f.Int32SliceVar(&v.dice, "dice", nil, "game masters: faces rolled by hand for LINE, as in 3,5")
	f.StringVar(&v.etag, "etag", "", "play LINE only if the state has this etag; needed with --dice")
	f.StringVar(&v.override, "override", "", "game masters: stand in for whoever would have to give LINE, for this reason")
	f.BoolVar(&v.json, "json", false, "print each answer as one line of JSON")
	return c
}

func env(name, otherwise string) string {
	if v := os.Getenv(name); v != "" {
		return v
	}
	return otherwise
}

func (v *console) run(ctx context.Context, line string) error {
	v.server = strings.TrimSuffix(v.server, "/")
	v.campaign = strings.TrimPrefix(v.campaign, "campaigns/")
	v.character = v.character[strings.LastIndexByte(v.character, '/')+1:]
	if v.campaign == "" {
		return errors.New("--campaign: which campaign?")
	}
	if line == "" && (len(v.dice) > 0 || v.etag != "" || v.override != "") {
		return errors.New("--dice, --etag and --override are for one LINE")
	}
	if err := v.login(ctx); err != nil {
		return err
	}
	if line != "" {
		return v.play(ctx, line, v.refusal)
	}
	return v.read(ctx)
}

// refusal makes the one line's refusal the command's own error.
func (v *console) refusal(message string) error { return errors.New(message) }

// read plays lines from the input.
func (v *console) read(ctx context.Context) error {
	prompt := func() {}
	if file, ok := v.in.(*os.File); ok {
		if info, err := file.Stat(); err == nil && info.Mode()&os.ModeCharDevice != 0 {
			prompt = func() { fmt.Fprintf(v.out, "%s> ", v.character) }
		}
	}
	lines := bufio.NewScanner(v.in)
	for prompt(); lines.Scan(); prompt() {
		line := strings.TrimSpace(lines.Text())
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if line == "quit" || line == "exit" {
			break
		}
		err := v.play(ctx, line, func(message string) error {
			v.refused++
			_, err := fmt.Fprintln(v.errOut, message)
			return err
		})
		if err != nil {
			return err
		}
	}
	if err := lines.Err(); err != nil {
		return err
	}
	if v.refused > 0 {
		return fmt.Errorf("%d lines were refused", v.refused)
	}
	return nil
}

// login gets a token from the development issuer when none was given.
func (v *console) login(ctx context.Context) error {
	if v.token == "" {
		v.token = os.Getenv("WAYFARER_TOKEN")
	}
	if v.token != "" {
		return nil
	}
	if v.user == "" {
		v.user = v.character
	}
	if v.user == "" {
		return errors.New("WAYFARER_TOKEN or --user: who plays?")
	}
	form := url.Values{"grant_type": {"password"}, "username": {v.user}, "password": {v.password}}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, v.server+"/dev/token", strings.NewReader(form.Encode()))
	if err != nil {
		return fmt.Errorf("--server: %w", err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	code, raw, err := v.send(req)
	if err != nil {
		return err
	}
	var answer struct {
		Token string `json:"access_token"`
	}
	if err := json.Unmarshal(raw, &answer); code != http.StatusOK || err != nil || answer.Token == "" {
		return fmt.Errorf("%s/dev/token gives %s no token (HTTP %d): set WAYFARER_TOKEN", v.server, v.user, code)
	}
	v.token = answer.Token
	return nil
}

// tries is how often a line is sent to a server that is away; it has the same id each time, so that it is done once.
const tries = 4

// play gives one line and prints the text. What the server refuses goes to refused, what else fails is the error.
func (v *console) play(ctx context.Context, line string, refused func(message string) error) error {
	id := make([]byte, 16)
	if _, err := rand.Read(id); err != nil {
		return err
	}
	body := map[string]any{"line": line, "requestId": hex.EncodeToString(id)}
	for key, value := range map[string]string{"etag": v.etag, "overrideReason": v.override} {
		if value != "" {
			body[key] = value
		}
	}
	if v.character != "" {
		body["character"] = "campaigns/" + v.campaign + "/characters/" + v.character
	}
	if len(v.dice) > 0 {
		body["reportedDice"] = v.dice
	}
	sent, err := json.Marshal(body)
	if err != nil {
		return err
	}
	code, raw, err := v.post(ctx, sent)
	if err != nil {
		return err
	}
	var answer struct {
		Text    string `json:"text"`
		Message string `json:"message"`
	}
	if err := json.Unmarshal(raw, &answer); err != nil {
		return fmt.Errorf("%s answers HTTP %d, and no JSON", v.server, code)
	}
	switch {
	case code == http.StatusOK && v.json:
		var line bytes.Buffer
		if err := json.Compact(&line, raw); err != nil {
			return err
		}
		_, err = fmt.Fprintln(v.out, line.String())
		return err
	case code == http.StatusOK:
		_, err = fmt.Fprintln(v.out, answer.Text)
		return err
	case code == http.StatusUnauthorized || code >= http.StatusInternalServerError:
		return fmt.Errorf("%s (HTTP %d)", answer.Message, code)
	}
	return refused(answer.Message)
}

// post sends a line until the server is there.
func (v *console) post(ctx context.Context, body []byte) (code int, raw []byte, err error) {
	for n := 1; ; n++ {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, v.server+"/v1/campaigns/"+url.PathEscape(v.campaign)+"/console:execute", bytes.NewReader(body))
		if err != nil {
			return 0, nil, fmt.Errorf("--server: %w", err)
		}
		req.Header.Set("Authorization", "Bearer "+v.token)
		req.Header.Set("Content-Type", "application/json")
		code, raw, err = v.send(req)
		if n == tries || err == nil && code != http.StatusServiceUnavailable {
			return code, raw, err
		}
		wait := time.NewTimer(time.Duration(n) * 300 * time.Millisecond)
		select {
		case <-ctx.Done():
			wait.Stop()
			return 0, nil, ctx.Err()
		case <-wait.C:
		}
	}
}

func (v *console) send(req *http.Request) (int, []byte, error) {
	res, err := v.client.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer func() { _ = res.Body.Close() }()
	raw, err := io.ReadAll(res.Body)
	return res.StatusCode, raw, err
}
