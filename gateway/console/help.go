package console

import (
	"fmt"
	"strings"

	"google.golang.org/protobuf/proto"

	consolev1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/console/v1"
	partyv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/party/v1"

	"github.com/wayfarer-rpg/wayfarer/internal/fault"
)

// helpCommands are the help and the notes to the game masters (DIG-CMD-19).
func helpCommands() []command {
	return []command{
		{
			name: "help", aliases: []string{"commands"}, who: anyone, anyone: true, args: []arg{{name: "topic", kind: name, optional: true}},
			help: "Lists the commands, those of a topic, or tells about one.", read: (*call).help,
		},
		{
			name: "request", who: member, args: []arg{{name: "note", kind: text}},
			help: "Files a note for the game masters; nobody else reads it.", plan: (*call).fileRequest,
		},
		{
			name: "request/list", aliases: []string{"requests"}, who: gmsOnly, anyone: true,
			help: "Lists the open notes.", read: (*call).listRequests,
		},
		{
			name: "request/close", who: gmsOnly, anyone: true, args: []arg{{name: "number", kind: number}},
			help: "Closes a note.", plan: (*call).closeRequest,
		},
	}
}

func (c *call) help(a args) (string, proto.Message, error) {
	out := &consolev1.Help{}
	if !a.has("topic") {
		var parts []string
		for _, t := range topics {
			parts = append(parts, fmt.Sprintf("%s (%s)", t.name, t.help))
			var names []string
			for _, cmd := range table {
				if cmd.topic == t.name {
					names = append(names, "+"+cmd.name)
					out.Commands = append(out.Commands, cmd.toProto())
				}
			}
			parts = append(parts, wrapText(strings.Join(names, " "), "  "))
		}
		return "Commands by topic; +help <topic> or +help <command> tells more.\n" + strings.Join(parts, "\n"), out, nil
	}
	asked, isCommand := strings.CutPrefix(fold(a.text("topic")), "+")
	for _, t := range topics {
		if t.name != asked || isCommand {
			continue
		}
		parts := []string{upperFirst(t.name) + ": " + t.help}
		for _, cmd := range table {
			if cmd.topic == t.name {
				out.Commands = append(out.Commands, cmd.toProto())
				parts = append(parts, cmd.usage(), wrapText(cmd.help, "    "))
			}
		}
		return strings.Join(parts, "\n"), out, nil
	}
	if cmd := byName[asked]; cmd != nil {
		out.Commands = append(out.Commands, cmd.toProto())
		return oneHelp(cmd), out, nil
	}
	var all []string
	for _, t := range topics {
		all = append(all, t.name)
	}
	at := a.get("topic")
	return "", nil, refuse(reasonName, at.column, "a topic or a command", "there is no help about %q", at.text).
		suggest(nearest(at.text, append(all, names()...))...)
}

// oneHelp tells all about one command.
func oneHelp(cmd *command) string {
	out := []string{cmd.usage(), wrapText(cmd.help, "  "), "  By: " + cmd.who + "."}
	if len(cmd.aliases) > 0 {
		out = append(out, "  The same: +"+strings.Join(cmd.aliases, ", +"))
	}
	return strings.Join(out, "\n")
}

func (c *call) fileRequest(a args) (proto.Message, error) {
	who, err := c.actor()
	if err != nil {
		return nil, err
	}
	return &partyv1.FileRequestRequest{Parent: c.req.GetCampaign(), Character: who, Text: a.text("note")}, nil
}

func (c *call) requireGM() error {
	if c.gm {
		return nil
	}
	return fault.New(fault.PermissionDenied, "NOT_GM", "only a game master may do this")
}

func (c *call) listRequests(args) (string, proto.Message, error) {
	if err := c.requireGM(); err != nil {
		return "", nil, err
	}
	out := &partyv1.ListRequestsResponse{}
	err := pages(func(token string) (string, bool, error) {
		res, err := ask[*partyv1.ListRequestsResponse](c, &partyv1.ListRequestsRequest{Parent: c.req.GetCampaign(), PageSize: pageSize, PageToken: token})
		out.Requests = append(out.Requests, res.GetRequests()...)
		return res.GetNextPageToken(), false, err
	})
	if err != nil {
		return "", nil, err
	}
	if len(out.GetRequests()) == 0 {
		return "No note is open.", out, nil
	}
	parts := []string{"Open notes:"}
	for _, r := range out.GetRequests() {
		parts = append(parts, fmt.Sprintf("  %s %s: %s", idOf(r.GetName()), c.called(r.GetCharacter()), r.GetText()))
	}
	return strings.Join(parts, "\n"), out, nil
}

func (c *call) closeRequest(a args) (proto.Message, error) {
	if err := c.requireGM(); err != nil {
		return nil, err
	}
	return &partyv1.CloseRequestRequest{Name: fmt.Sprintf("%s/requests/%s", c.req.GetCampaign(), a.text("number"))}, nil
}
