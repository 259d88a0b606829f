package console

import (
	"slices"
	"strconv"
	"strings"

	"google.golang.org/protobuf/proto"

	partyv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/party/v1"

	"github.com/wayfarer-rpg/wayfarer/internal/fault"
)

const inScene = "players in the scene"

// checkCommands play scenes of Danger World.
func checkCommands() []command {
	who := []arg{{name: "character", kind: name}}
	return []command{
		{
			name: "check", aliases: []string{"check/info", "check/status", "scene"}, who: inScene,
			help: "Shows the scene: its challenges, who is there and how they fare, and your check.", read: (*call).sceneStatus,
		},
		{
			name: "check/open", aliases: []string{"check/try"}, who: inScene, args: []arg{{name: "challenge", kind: name}},
			options: []arg{
				{name: "stat", optional: true}, {name: "dice", kind: number, optional: true}, {name: "aspects", kind: number, optional: true},
				{name: "bonus", kind: number, optional: true}, {name: "danger", kind: number, optional: true}, {name: "negative", kind: number, optional: true},
			},
			help: "Builds the pool for a challenge from a stat, FP for aspects, bonus dice and danger dice; game masters pay FP for negative aspects.", plan: (*call).openCheck,
		},
		{name: "check/roll", who: inScene, help: "Rolls the whole pool.", plan: checkCommand(func(n string) proto.Message {
			return &partyv1.RollCheckRequest{Name: n}
		})},
		{
			name: "check/reroll", aliases: []string{"check/lock"}, who: inScene, args: []arg{{name: "dice to lock", kind: name, optional: true}},
			options: []arg{{name: "aspects", kind: number, optional: true}, {name: "danger", kind: number, optional: true}},
			help:    "Locks dice, as N1 D2, and rolls the others again. At most twice.", plan: (*call).rerollCheck,
		},
		{
			name: "check/claim", who: inScene, args: []arg{{name: "height", optional: true}}, options: []arg{{name: "cancel", optional: true}},
			help: "Claims the set of that height, or nothing; without a word, the best. cancel=N1,N2 gives these dice up to penalty dice.", plan: (*call).claimSet,
		},
		{
			name: "check/benefit", who: inScene, args: []arg{{name: "benefit", kind: text}},
			help: "Notes what beating the difficulty brings besides.", plan: (*call).noteBenefit,
		},
		{name: "check/decline", who: inScene, help: "Turns down the FP for a negative aspect.", plan: checkCommand(func(n string) proto.Message {
			return &partyv1.DeclineNegativeRequest{Name: n}
		})},
		{name: "check/close", who: inScene, help: "Ends your check; what was paid stays paid.", plan: checkCommand(func(n string) proto.Message {
			return &partyv1.CloseCheckRequest{Name: n}
		})},
		{
			name: "check/negative", who: gmsOnly, args: []arg{{name: "fp", kind: number}},
			help: "Brings in a negative aspect before the first roll.", plan: (*call).payNegative,
		},
		{
			name: "check/spend", who: gmsOnly, args: []arg{{name: "entry"}},
			options: []arg{{name: "challenge", optional: true}, {name: "difficulty", kind: number, optional: true}, {name: "target", optional: true}},
			help:    "Spends botches of the check on an entry of the botch table: danger, penalty_die, setback_minor, hit_full, …", plan: (*call).spendBotches,
		},
		{
			name: "scene/start", who: gmsOnly, anyone: true, args: []arg{{name: "title", kind: name}}, options: []arg{{name: "cast"}},
			help: "Begins a scene with those named, as in cast=\"Ada, Bram\".", plan: (*call).startScene,
		},
		{
			name: "scene/challenge", who: gmsOnly, args: []arg{{name: "name", kind: name}},
			options: []arg{{name: "difficulty", kind: number}, {name: "penalty", kind: number, optional: true}},
			help:    "Puts something in the way.", plan: (*call).sceneChallenge,
		},
		{
			name: "scene/danger", who: gmsOnly, args: who, options: []arg{{name: "steps", kind: number, optional: true}},
			help: "Raises somebody's danger.", plan: (*call).sceneDanger,
		},
		{name: "scene/encounter", who: gmsOnly, help: "Ends the encounter: Bashed, Stunned and K.O. are lifted.", plan: sceneCommand(func(n string) proto.Message {
			return &partyv1.EndEncounterRequest{Name: n}
		})},
		{name: "scene/rest", who: gmsOnly, help: "Gives everybody a long-term rest.", plan: sceneCommand(func(n string) proto.Message {
			return &partyv1.LongTermRestRequest{Name: n}
		})},
		{name: "scene/end", who: gmsOnly, help: "Ends the scene.", plan: sceneCommand(func(n string) proto.Message {
			return &partyv1.EndSceneRequest{Name: n}
		})},
	}
}

// scene is the one that the acting character is in; for a GM without a character, the only one that is played.
func (c *call) scene() (*partyv1.Scene, error) {
	var mine, open []*partyv1.Scene
	err := pages(func(token string) (string, bool, error) {
		res, err := ask[*partyv1.ListScenesResponse](c, &partyv1.ListScenesRequest{Parent: c.req.GetCampaign(), PageSize: pageSize, PageToken: token})
		for _, s := range res.GetScenes() {
			if s.GetPhase() != partyv1.Scene_PHASE_PLAYING {
				continue
			}
			open = append(open, s)
			if slices.ContainsFunc(s.GetPlayers(), func(p *partyv1.ScenePlayer) bool { return p.GetCharacter() == c.character.GetName() }) {
				mine = append(mine, s)
			}
		}
		return res.GetNextPageToken(), len(mine) > 0, err
	})
	switch {
	case err != nil:
		return nil, err
	case len(mine) > 0:
		return mine[0], nil
	case c.character != nil:
		return nil, none("NO_SCENE", "%s is in no scene", c.character.GetTitle())
	case len(open) == 1:
		return open[0], nil
	case len(open) > 1:
		return nil, fault.Invalid("character", "%d scenes are played: name a character of the one meant", len(open))
	}
	return nil, none("NO_SCENE", "no scene is played")
}

// sceneCommand is a command to the scene without arguments.
func sceneCommand(req func(scene string) proto.Message) func(*call, args) (proto.Message, error) {
	return func(c *call, _ args) (proto.Message, error) {
		s, err := c.scene()
		if err != nil {
			return nil, err
		}
		return req(s.GetName()), nil
	}
}

// check is the acting character's latest one that is not closed.
func (c *call) check() (*partyv1.Check, error) {
	who, err := c.actor()
	if err != nil {
		return nil, err
	}
	s, err := c.scene()
	if err != nil {
		return nil, err
	}
	if k := checkOf(s, who); k != nil {
		return k, nil
	}
	return nil, none("NO_CHECK", "%s is at no check: +check/open", c.character.GetTitle())
}

func checkOf(s *partyv1.Scene, who string) (out *partyv1.Check) {
	for _, k := range s.GetChecks() {
		if k.GetCharacter() == who {
			out = k
		}
	}
	return out
}

// checkCommand is a command to the character's check without arguments.
func checkCommand(req func(check string) proto.Message) func(*call, args) (proto.Message, error) {
	return func(c *call, _ args) (proto.Message, error) {
		k, err := c.check()
		if err != nil {
			return nil, err
		}
		return req(k.GetName()), nil
	}
}

func (c *call) sceneStatus(args) (string, proto.Message, error) {
	s, err := c.scene()
	if err != nil {
		return "", nil, err
	}
	return sceneText(s, c.character.GetName()), s, nil
}

func challengeNamed(s *partyv1.Scene, named span) (string, error) {
	var things []thing
	for _, ch := range s.GetChallenges() {
		things = append(things, thing{label: ch.GetName()})
	}
	t, err := find("a challenge", named, things)
	return t.label, err
}

func (c *call) openCheck(a args) (proto.Message, error) {
	who, err := c.actor()
	if err != nil {
		return nil, err
	}
	s, err := c.scene()
	if err != nil {
		return nil, err
	}
	req := &partyv1.OpenCheckRequest{
		Parent: s.GetName(), Character: who, AspectFp: a.number("aspects", 0), NegativeFp: a.number("negative", 0),
		BonusDice: a.number("bonus", 0), DangerDice: a.number("danger", 0),
	}
	if req.Challenge, err = challengeNamed(s, a.get("challenge")); err != nil {
		return nil, err
	}
	if a.has("dice") {
		n := a.number("dice", 0)
		req.Number = &n
	}
	if a.has("stat") {
		if req.Stat, err = stat(s, a.get("stat")); err != nil {
			return nil, err
		}
	} else if !a.has("dice") {
		return nil, refuse(reasonMissing, a.end, "stat=<stat>", "the stat is missing")
	}
	return req, nil
}

// stat finds a stat that somebody in the scene has. One that nobody has may still be one of the rules: they tell.
func stat(s *partyv1.Scene, named span) (string, error) {
	var things []thing
	for _, p := range s.GetPlayers() {
		for name := range p.GetSheet().GetStats() {
			if !slices.ContainsFunc(things, func(t thing) bool { return t.label == name }) {
				things = append(things, thing{label: name})
			}
		}
	}
	slices.SortFunc(things, func(a, b thing) int { return strings.Compare(a.label, b.label) })
	t, err := find("a stat", named, things)
	if bad, ok := err.(*lineError); ok && bad.reason == reasonName && len(bad.suggestions) == 0 { //nolint:errorlint // find wraps nothing
		return named.text, nil
	}
	return t.label, err
}

// dieNames reads "N1 D2" or "N1,D2".
func dieNames(s string) []string {
	return strings.FieldsFunc(strings.ToUpper(s), func(r rune) bool { return r == ' ' || r == ',' })
}

func (c *call) rerollCheck(a args) (proto.Message, error) {
	k, err := c.check()
	if err != nil {
		return nil, err
	}
	req := &partyv1.RerollCheckRequest{Name: k.GetName(), AspectFp: a.number("aspects", 0), DangerDice: a.number("danger", 0)}
	there := faces(k)
	for _, die := range dieNames(a.text("dice to lock")) {
		if len(there) > 0 && !slices.Contains(there, die) {
			return nil, refuse(reasonName, a.get("dice to lock").column, "names of dice", "there is no die %q", die).suggest(there[:min(len(there), 2*mostSuggestions)]...)
		}
		req.Lock = append(req.Lock, die)
	}
	return req, nil
}

// faces are the names of the dice on the table.
func faces(k *partyv1.Check) []string {
	if len(k.GetRolls()) == 0 {
		return nil
	}
	var out []string
	for _, f := range k.GetRolls()[len(k.GetRolls())-1].GetFaces() {
		out = append(out, f.GetDie())
	}
	return out
}

func (c *call) claimSet(a args) (proto.Message, error) {
	k, err := c.check()
	if err != nil {
		return nil, err
	}
	req := &partyv1.ClaimSetRequest{Name: k.GetName()}
	switch word := fold(a.text("height")); {
	case word == "":
	case word == "nothing" || word == "none":
		req.Claim = &partyv1.ClaimSetRequest_None{None: true}
	default:
		n, err := strconv.ParseInt(word, 10, 32)
		if err != nil {
			return nil, refuse(reasonArgument, a.get("height").column, "the height of a set, or nothing", "%q is no height", a.text("height"))
		}
		req.Claim = &partyv1.ClaimSetRequest_Height{Height: int32(n)}
	}
	for _, die := range dieNames(a.text("cancel")) {
		height := int32(0)
		for _, f := range k.GetRolls()[max(0, len(k.GetRolls())-1):] {
			for _, x := range f.GetFaces() {
				if x.GetDie() == die {
					height = x.GetFace()
				}
			}
		}
		if height == 0 {
			return nil, refuse(reasonName, a.get("cancel").column, "names of dice", "there is no die %q", die).suggest(faces(k)[:min(len(faces(k)), 2*mostSuggestions)]...)
		}
		i := slices.IndexFunc(req.GetCancel(), func(x *partyv1.Cancellation) bool { return x.GetHeight() == height })
		if i < 0 {
			req.Cancel = append(req.Cancel, &partyv1.Cancellation{Height: height})
			i = len(req.Cancel) - 1
		}
		req.Cancel[i].Dice = append(req.Cancel[i].Dice, die)
	}
	return req, nil
}

func (c *call) noteBenefit(a args) (proto.Message, error) {
	return checkCommand(func(n string) proto.Message { return &partyv1.NoteBenefitRequest{Name: n, Text: a.text("benefit")} })(c, a)
}

func (c *call) payNegative(a args) (proto.Message, error) {
	return checkCommand(func(n string) proto.Message { return &partyv1.PayNegativeRequest{Name: n, Fp: a.number("fp", 0)} })(c, a)
}

// present finds somebody in the scene.
func present(s *partyv1.Scene, named span) (string, error) {
	var things []thing
	for _, p := range s.GetPlayers() {
		things = append(things, thing{label: p.GetTitle(), also: []string{idOf(p.GetCharacter())}, value: p.GetCharacter()})
	}
	t, err := find("somebody in the scene", named, things)
	if err != nil {
		return "", err
	}
	return t.value.(string), nil //nolint:forcetypeassert // see above
}

func (c *call) spendBotches(a args) (proto.Message, error) {
	k, err := c.check()
	if err != nil {
		return nil, err
	}
	s, err := c.scene()
	if err != nil {
		return nil, err
	}
	item := &partyv1.BotchPurchase{Buy: strings.ToUpper(strings.NewReplacer(" ", "_", "-", "_").Replace(a.text("entry"))), Challenge: a.text("challenge")}
	if a.has("difficulty") {
		n := a.number("difficulty", 0)
		item.Difficulty = &n
	}
	if a.has("target") {
		if item.Target, err = present(s, a.get("target")); err != nil {
			return nil, err
		}
	}
	return &partyv1.SpendBotchesRequest{Name: k.GetName(), Items: []*partyv1.BotchPurchase{item}}, nil
}

func (c *call) startScene(a args) (proto.Message, error) {
	if err := c.requireGM(); err != nil {
		return nil, err
	}
	people, err := c.people(func(*partyv1.Character) bool { return true })
	if err != nil {
		return nil, err
	}
	req := &partyv1.CreateSceneRequest{Parent: c.req.GetCampaign(), Title: a.text("title")}
	for _, who := range strings.Split(a.text("cast"), ",") {
		t, err := find("a character", span{strings.TrimSpace(who), a.get("cast").column}, people)
		if err != nil {
			return nil, err
		}
		req.Characters = append(req.Characters, t.value.(string)) //nolint:forcetypeassert // people have names
	}
	return req, nil
}

func (c *call) sceneChallenge(a args) (proto.Message, error) {
	return sceneCommand(func(n string) proto.Message {
		return &partyv1.CreateChallengeRequest{Name: n, Challenge: a.text("name"), Difficulty: a.number("difficulty", 0), Penalty: a.number("penalty", 0)}
	})(c, a)
}

func (c *call) sceneDanger(a args) (proto.Message, error) {
	s, err := c.scene()
	if err != nil {
		return nil, err
	}
	who, err := present(s, a.get("character"))
	if err != nil {
		return nil, err
	}
	return &partyv1.RaiseDangerRequest{Name: s.GetName(), Character: who, Steps: a.number("steps", 1)}, nil
}
