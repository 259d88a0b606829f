package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"

	"github.com/wayfarer-rpg/wayfarer/rules/digger"
)

const (
	characters = "party.v1.CharacterService/"
	campaigns  = "party.v1.CampaignService/"
	companies  = "party.v1.CompanyService/"
	dungeons   = "dungeon.v1.DungeonService/"
	runs       = "dungeon.v1.RunService/"
	regions    = "travel.v1.RegionService/"
	journeys   = "travel.v1.JourneyService/"

	expeditions = "expedition.v1.ExpeditionService/"
)

// importDefinitions puts the small vale and the first shipped dungeon on the table; it returns the dungeon's name.
func (t *table) importDefinitions() string {
	t.tb.Helper()
	t.do("gm", regions+"ImportRegion", object{"parent": t.campaign, "regionId": "vale", "region": vale()})
	var file struct {
		Dungeons []object `json:"dungeons"`
	}
	if err := json.Unmarshal(digger.ShippedDungeonsDocument(), &file); err != nil {
		t.tb.Fatal(err)
	}
	return t.do("gm", dungeons+"ImportDungeon", object{"parent": t.campaign, "dungeon": file.Dungeons[0]}).Text("name")
}

// messed is a table in the midst of things, where everything that can go wrong is one request away:
//   - ada, bram, cleo and dov are in a run whose entry challenge ada drew and has acted on;
//   - ada and bram travel with gold and food, outdoors;
//   - eve's x1 and x2 sit in the hamlet without gold; x1 leads a full party, x2 to x7 are in it, x8 is not;
//   - eve's novice has 48 points and has spent none.
type messed struct {
	*table
	run, road, inn string
	// within are the expeditions of these by their names, if they have any.
	within map[string]string
	// stray is a character of another campaign, in which only dov has a role.
	stray     string
	staleEtag string
	roadEtag  string
	wrongTool int
}

func newMessed(tb testing.TB, inExpeditions bool) *messed {
	tb.Helper()
	m := &messed{table: newTable(tb, "bad-input", "ada", "bram", "cleo", "dov", "eve")}
	ctx, cancel := context.WithTimeout(context.Background(), long) // it is for hundreds of calls
	tb.Cleanup(cancel)
	m.ctx = ctx
	if inExpeditions {
		m.within = map[string]string{}
	}
	dungeon := m.importDefinitions()
	for _, p := range []string{"ada", "bram", "cleo", "dov"} {
		m.player(p, p)
	}
	for _, id := range []string{"x1", "x2", "x3", "x4", "x5", "x6", "x7", "x8", "novice"} {
		m.do("eve", characters+"CreateCharacter", object{"parent": m.campaign, "characterId": id, "title": id})
	}
	m.party("delvers", "ada", "ada", "bram", "cleo", "dov")
	m.party("crowd", "eve", "x1", "x2", "x3", "x4", "x5", "x6", "x7")

	start := object{"runId": "messed", "party": m.campaign + "/parties/delvers", "dungeon": dungeon, "character": m.character("ada")}
	var run object
	if inExpeditions { // a run is begun at a location
		way := m.journey("way", "cleo", object{"gold": 0, "food": []int{4}}, "cleo", "dov")
		m.give("cleo", way, journeys+"EnterLocation", object{"character": m.character("cleo"), "location": "hamlet"})
		run = m.give("ada", way, runs+"StartRun", start)
		m.within[run.Text("run.name")] = m.within[way]
	} else {
		run = m.do("ada", runs+"StartRun", start.With("parent", m.campaign))
	}
	m.run = run.Text("run.name")
	m.give("ada", m.run, runs+"Act", object{"character": m.character("ada"), "action": object{"basic": run.Text("run.challenge.ability")}})
	m.wrongTool = 1 // of brute
	if run.Text("run.challenge.ability") == "brute" {
		m.wrongTool = 2 // of wits
	}

	m.road = m.journey("road", "ada", object{"gold": 60, "food": []int{12}}, "ada", "bram")
	m.inn = m.journey("inn", "eve", object{"gold": 0, "food": []int{4}}, "x1", "x2")
	m.give("eve", m.inn, journeys+"EnterLocation", object{"character": m.character("x1"), "location": "hamlet"})
	m.staleEtag = m.read("gm", m.road).Text("etag")
	m.give("ada", m.road, journeys+"FreeFoodSlots", object{"character": m.character("ada"), "requestId": "used-before"})
	m.roadEtag = m.read("gm", m.road).Text("etag")
	if m.staleEtag == m.roadEtag {
		tb.Fatal("the etag did not change with the state")
	}

	dov := newTableOf(tb, "dov", "bad-input-elsewhere")
	m.stray = dov.do("dov", characters+"CreateCharacter", object{"parent": dov.campaign, "characterId": "stray", "title": "Stray"}).Text("name")
	return m
}

// party forms a party of characters, the first of whom leads.
func (t *table) party(id, owner string, members ...string) {
	t.tb.Helper()
	t.do(owner, campaigns+"CreateParty", object{"parent": t.campaign, "partyId": id, "character": t.character(members[0])})
	for _, c := range members[1:] {
		user := owner
		if t.tokens[c] != "" {
			user = c
		}
		t.do(user, campaigns+"JoinParty", object{"name": t.campaign + "/parties/" + id, "character": t.character(c)})
	}
}

// give gives a command to a run or journey: by itself, or in its expedition.
func (m *messed) give(user, aggregate, method string, req object) object {
	m.tb.Helper()
	expedition := m.within[aggregate]
	if expedition == "" {
		return m.do(user, method, req.With("name", aggregate))
	}
	name, wrapped := inExecute(expedition, method, req)
	answer, ok := m.do(user, expeditions+"Execute", wrapped).Get(name).(map[string]any)
	if !ok {
		m.tb.Fatalf("Execute answers without %s", name)
	}
	return answer
}

// inExecute wraps a command for an expedition. It returns the command's name there, too.
func inExecute(expedition, method string, req object) (name string, wrapped object) {
	_, name, _ = strings.Cut(method, "/")
	name = strings.ToLower(name[:1]) + name[1:]
	inner := maps.Clone(req)
	delete(inner, "requestId")
	delete(inner, "name")
	wrapped = object{"name": expedition, name: inner}
	if id := req["requestId"]; id != nil {
		wrapped["requestId"] = id
	}
	return name, wrapped
}

// journey sets a company out in the middle of the vale, with a pack that the GM packs.
func (t *table) journey(id, user string, pack object, members ...string) string {
	t.tb.Helper()
	return t.do(user, journeys+"StartJourney", t.setOut(id, pack, members...).With("parent", t.campaign)).Text("journey.name")
}

// setOut gathers a company and returns what its journey begins with.
func (t *table) setOut(id string, pack object, members ...string) object {
	t.tb.Helper()
	travelers := []object{}
	for _, c := range members {
		travelers = append(travelers, object{"character": t.character(c)})
	}
	company := t.do("gm", companies+"CreateCompany", object{"parent": t.campaign, "companyId": id, "title": id, "travelers": travelers, "pack": pack})
	return object{
		"journeyId": id, "company": company.Text("name"), "region": t.campaign + "/regions/vale",
		"hex": object{"q": 0, "r": 0}, "character": t.character(members[0]),
	}
}

// journey is the table's, in an expedition if there are to be some.
func (m *messed) journey(id, user string, pack object, members ...string) string {
	m.tb.Helper()
	if m.within == nil {
		return m.table.journey(id, user, pack, members...)
	}
	expedition, journey := m.expedition(id, user, m.setOut(id, pack, members...))
	m.within[journey] = expedition
	return journey
}

// expedition begins an expedition with its journey and returns the names of both.
func (t *table) expedition(id, user string, start object) (expedition, journey string) {
	t.tb.Helper()
	expedition = t.do(user, expeditions+"CreateExpedition", object{
		"parent": t.campaign, "expeditionId": id, "title": id, "company": start.Text("company"),
	}).Text("expedition.name")
	_, wrapped := inExecute(expedition, journeys+"StartJourney", start)
	return expedition, t.do(user, expeditions+"Execute", wrapped).Text("startJourney.journey.name")
}

// badInput is a request that has to be refused.
type badInput struct {
	// token is a user's name, or one of the two below.
	token  string
	method string
	req    object
	// The refusal. field is empty where no field is at fault.
	http   int
	code   codes.Code
	reason string
	field  string
	// of is the aggregate whose journal must not change; also another one, if there is one.
	of, also string
	// grpcOwn tells that over gRPC the library refuses before any code of ours: with the code alone.
	grpcOwn bool
}

const (
	noToken    = "(none)"
	wrongToken = "(forged)"
)

func (m *messed) badInputs() map[string]badInput {
	c := m.character
	delvers, crowd := m.campaign+"/parties/delvers", m.campaign+"/parties/crowd"
	basic := object{"basic": "brute"}
	refused := func(user, method string, req object, reason, of string) badInput {
		return badInput{token: user, method: method, req: req, http: http.StatusBadRequest, code: codes.FailedPrecondition, reason: reason, of: of}
	}
	// at names the field that the present state does not allow.
	at := func(field string, c badInput) badInput { c.field = field; return c }
	invalid := func(user, method string, req object, reason, field, of string) badInput {
		return badInput{token: user, method: method, req: req, http: http.StatusBadRequest, code: codes.InvalidArgument, reason: reason, field: field, of: of}
	}
	move := func(user string, more object) object {
		req := object{"name": m.road, "to": object{"q": 1, "r": 0}}
		if user != "gm" {
			req["character"] = c(user)
		}
		maps.Copy(req, more)
		return req
	}
	rolled := func(faces ...int) object { return move("gm", object{"reportedDice": faces, "etag": m.roadEtag}) }
	chapter := object{"name": m.campaign, "chapter": 4}
	return map[string]badInput{
		"no token": {
			token: noToken, method: campaigns + "SetChapter", req: chapter,
			http: http.StatusUnauthorized, code: codes.Unauthenticated, reason: "TOKEN_MISSING", of: m.campaign,
		},
		"a forged token": {
			token: wrongToken, method: campaigns + "SetChapter", req: chapter,
			http: http.StatusUnauthorized, code: codes.Unauthenticated, reason: "TOKEN_INVALID", of: m.campaign,
		},
		"another campaign's character joins a party": {
			token: "dov", method: campaigns + "JoinParty", req: object{"name": crowd, "character": m.stray},
			http: http.StatusNotFound, code: codes.NotFound, reason: "NOT_FOUND", field: "character", of: m.campaign,
		},
		"another campaign's character acts in a run": {
			token: "dov", method: runs + "Act", req: object{"name": m.run, "character": m.stray, "action": basic},
			http: http.StatusNotFound, code: codes.NotFound, reason: "NOT_FOUND", field: "character", of: m.run,
		},
		"another campaign's character moves a journey": {
			token: "dov", method: journeys + "Move", req: move("gm", object{"character": m.stray}),
			http: http.StatusNotFound, code: codes.NotFound, reason: "NOT_FOUND", field: "character", of: m.road,
		},
		"an expedition of a company that does not exist": {
			token: "ada", method: expeditions + "CreateExpedition", req: object{"parent": m.campaign, "title": "Out", "company": m.campaign + "/companies/none"},
			http: http.StatusNotFound, code: codes.NotFound, reason: "NOT_FOUND", field: "company", of: m.campaign,
		},
		"an expedition of another campaign's company": {
			token: "ada", method: expeditions + "CreateExpedition", req: object{"parent": m.campaign, "title": "Out", "company": "campaigns/none/companies/none"},
			http: http.StatusNotFound, code: codes.NotFound, reason: "NOT_FOUND", field: "company", of: m.campaign,
		},
		"somebody without a role reads another campaign's character": {
			token: "ada", method: characters + "GetCharacter", req: object{"name": m.stray},
			http: http.StatusNotFound, code: codes.NotFound, reason: "NOT_FOUND", of: m.campaign,
		},
		"over-spent dungeon points": invalid("eve", characters+"SetAbilities",
			object{"name": c("novice"), "abilities": object{"brute": 6, "agility": 5, "wits": 5, "combat": 4}}, "OVER_SPENT", "abilities", c("novice")),
		"tools of a fourth ability": invalid("eve", characters+"BuyTools", object{"name": c("novice"), "tools": []object{
			{"id": "a", "ability": "brute", "rating": "minor", "qualities": []string{"embolden"}},
			{"id": "b", "ability": "agility", "rating": "minor", "qualities": []string{"embolden"}},
			{"id": "c", "ability": "wits", "rating": "minor", "qualities": []string{"embolden"}},
			{"id": "d", "ability": "combat", "rating": "minor", "qualities": []string{"embolden"}},
		}}, "TOO_MANY_TOOL_ABILITIES", "tools[3].ability", c("novice")),
		"Cleanse without a drawback": invalid("eve", characters+"BuyTools", object{"name": c("novice"), "tools": []object{
			{"id": "salts", "ability": "agility", "rating": "minor", "qualities": []string{"cleanse"}},
		}}, "CLEANSE_NEEDS_DRAWBACK", "tools[0].qualities[0]", c("novice")),
		"an eighth member":                             at("name", refused("eve", campaigns+"JoinParty", object{"name": crowd, "character": c("x8")}, "PARTY_FULL", m.campaign)),
		"a join after entering":                        refused("eve", campaigns+"JoinParty", object{"name": delvers, "character": c("x8")}, "RUN_BEGUN", m.campaign),
		"a member promotes in a party at rest":         refused("eve", campaigns+"PromoteMember", object{"name": crowd, "character": c("x2"), "target": c("x3")}, "NOT_LEADER", m.campaign),
		"a member promotes in a run":                   refused("bram", runs+"Promote", object{"name": m.run, "character": c("bram"), "target": c("bram")}, "NOT_LEADER", m.run),
		"the leader leaves a party at rest":            refused("eve", campaigns+"LeaveParty", object{"name": crowd, "character": c("x1")}, "LEADER_WITH_MEMBERS", m.campaign),
		"the leader leaves a run":                      refused("ada", runs+"Leave", object{"name": m.run, "character": c("ada")}, "LEADER_WITH_MEMBERS", m.run),
		"somebody acts twice":                          refused("ada", runs+"Act", object{"name": m.run, "character": c("ada"), "action": basic}, "ALREADY_ACTED", m.run),
		"somebody acts with the wrong tool":            at("action.tool", refused("bram", runs+"Act", object{"name": m.run, "character": c("bram"), "action": object{"tool": m.wrongTool}}, "WRONG_ABILITY", m.run)),
		"a round completed before all have acted":      refused("ada", runs+"Complete", object{"name": m.run, "character": c("ada")}, "NOT_ALL_ACTED", m.run),
		"a round completed by another than its drawer": refused("bram", runs+"Complete", object{"name": m.run, "character": c("bram")}, "NOT_DRAWER", m.run),
		"a draw while a challenge is pending":          refused("bram", runs+"Draw", object{"name": m.run, "character": c("bram")}, "CHALLENGE_PENDING", m.run),
		"a move to a hex that does not adjoin":         at("to", refused("ada", journeys+"Move", move("ada", object{"to": object{"q": 2, "r": 0}}), "NOT_ADJACENT", m.road)),
		"foraging inside a location":                   refused("eve", journeys+"Forage", object{"name": m.inn, "character": c("x1")}, "INSIDE_LOCATION", m.inn),
		"buying without gold":                          at("steps", refused("eve", journeys+"BuyFood", object{"name": m.inn, "character": c("x1"), "steps": 1}, "NO_GOLD", m.inn)),
		"too few dice reported":                        invalid("gm", journeys+"Move", rolled(3), "BAD_DICE", "reported_dice", m.road),
		"too many dice reported":                       invalid("gm", journeys+"Move", rolled(slices.Repeat([]int{4}, 40)...), "BAD_DICE", "reported_dice", m.road),
		"a die reported as 0":                          invalid("gm", journeys+"Move", rolled(0, 6, 6), "BAD_DICE", "reported_dice", m.road),
		"a reused request id": invalid("ada", journeys+"FreeFoodSlots",
			object{"name": m.road, "character": c("bram"), "requestId": "used-before"}, "REQUEST_ID_REUSED", "request_id", m.road),
		"a page of -1": invalid("ada", runs+"ListRuns", object{"parent": m.campaign, "pageSize": -1}, "INVALID", "page_size", m.run),
		"a stale etag": {
			token: "ada", method: journeys + "Move", req: move("ada", object{"etag": m.staleEtag}),
			http: http.StatusConflict, code: codes.Aborted, reason: "ETAG_MISMATCH", field: "etag", of: m.road,
		},
		"a body of 10 MB": {
			token: "gm", method: campaigns + "SetMember",
			req:  object{"name": m.campaign, "member": object{"subject": strings.Repeat("x", 10<<20), "role": "ROLE_PLAYER"}},
			http: http.StatusRequestEntityTooLarge, code: codes.ResourceExhausted, reason: "BODY_TOO_LARGE", field: "body", of: m.campaign, grpcOwn: true,
		},
	}
}

// token returns what a case sends.
func (m *messed) token(name string) string {
	switch name {
	case noToken:
		return ""
	case wrongToken:
		// Well-formed, but signed by nobody: the signature's bytes are those of another text.
		head, _ := cutToken(m.tokens["gm"])
		_, other := cutToken(m.tokens["ada"])
		return head + "." + other
	}
	return m.tokens[name]
}

// cutToken parts a token from its signature.
func cutToken(token string) (head, signature string) {
	i := strings.LastIndexByte(token, '.')
	return token[:i], token[i+1:]
}

// newTableOf opens a campaign of somebody else's than the GM.
func newTableOf(tb testing.TB, owner, id string) *table {
	tb.Helper()
	token, err := house.Token(owner)
	if err != nil {
		tb.Fatal(err)
	}
	t := &table{tb: tb, ctx: deadline(tb), via: overREST(), campaign: "campaigns/" + unique(id), tokens: map[string]string{owner: token}}
	t.do(owner, campaigns+"CreateCampaign", object{"campaignId": strings.TrimPrefix(t.campaign, "campaigns/"), "title": "Elsewhere"})
	return t
}

// refusal calls and returns the failure; anything else ends the test.
func refusal(tb testing.TB, call func() (object, error)) *failure {
	tb.Helper()
	answer, err := call()
	var f *failure
	if !errors.As(err, &f) {
		tb.Fatalf("accepted, or failed in another way: answer %v, error %v", answer, err)
	}
	return f
}

func TestBadInputIsRefusedAndChangesNothing(t *testing.T) {
	t.Parallel()
	m := newMessed(t, false)
	m.refuses(m.badInputs(), m.campaign, m.run, m.road, m.inn, m.character("novice"))
}

// What a service refuses it refuses in an expedition in the same words, and neither journal changes.
func TestBadInputInAnExpeditionIsRefusedAndChangesNothing(t *testing.T) {
	t.Parallel()
	m := newMessed(t, true)
	cases, touched := map[string]badInput{}, []string{m.campaign, m.run, m.road, m.inn}
	for name, c := range m.badInputs() {
		expedition := m.within[c.of]
		if expedition == "" || strings.Contains(c.method, "/List") {
			continue
		}
		c.method, c.also = expeditions+"Execute", expedition
		_, c.req = inExecute(expedition, m.badInputs()[name].method, c.req)
		cases[name] = c
	}
	if len(cases) < 17 {
		t.Errorf("only %d cases are given in an expedition", len(cases))
	}
	for _, e := range m.within {
		touched = append(touched, e)
	}
	slices.Sort(touched)
	touched = slices.Compact(touched)
	road := m.within[m.road]
	step := object{"character": m.character("ada"), "to": object{"q": 1, "r": 0}}
	execute := func(command string, req object) object { return object{"name": road, command: req} }
	invalid := badInput{token: "ada", method: expeditions + "Execute", http: http.StatusBadRequest, code: codes.InvalidArgument, reason: "INVALID", of: m.road, also: road}
	for name, c := range map[string]struct {
		token, reason, field string
		http                 int
		code                 codes.Code
		req                  object
	}{
		"no token":                              {noToken, "TOKEN_MISSING", "", http.StatusUnauthorized, codes.Unauthenticated, execute("move", step)},
		"a forged token":                        {wrongToken, "TOKEN_INVALID", "", http.StatusUnauthorized, codes.Unauthenticated, execute("move", step)},
		"no command at all":                     {"ada", "INVALID", "command", http.StatusBadRequest, codes.InvalidArgument, object{"name": road}},
		"a request id of the command's own":     {"ada", "INVALID", "move.request_id", http.StatusBadRequest, codes.InvalidArgument, execute("move", step.With("requestId", "mine"))},
		"another journey than the expedition's": {"ada", "INVALID", "move.name", http.StatusBadRequest, codes.InvalidArgument, execute("move", step.With("name", m.inn))},
		"a second journey":                      {"ada", "WRONG_PHASE", "", http.StatusBadRequest, codes.FailedPrecondition, execute("startJourney", object{"region": m.campaign + "/regions/vale", "character": m.character("ada")})},
		"a run outdoors":                        {"ada", "WRONG_PHASE", "", http.StatusBadRequest, codes.FailedPrecondition, execute("startRun", object{"party": m.campaign + "/parties/crowd", "character": m.character("x1")})},
		"a reason to override of a player's":    {"ada", "NOT_GM", "override_reason", http.StatusForbidden, codes.PermissionDenied, execute("move", step.With("overrideReason", "I want to"))},
	} {
		one := invalid
		one.token, one.reason, one.field, one.http, one.code, one.req = c.token, c.reason, c.field, c.http, c.code, c.req
		cases[name] = one
	}
	cases["a command past the expedition"] = badInput{
		token: "ada", method: journeys + "Move", req: step.With("name", m.road), http: http.StatusBadRequest,
		code: codes.FailedPrecondition, reason: "OWNED_BY_EXPEDITION", of: m.road, also: road,
	}
	// Who gives an expedition up acts for a character like anybody else, also before there is a journey that would know it.
	gathering := m.do("gm", expeditions+"CreateExpedition", object{"parent": m.campaign, "expeditionId": "gathering", "title": "gathering"}).Text("expedition.name")
	for name, expedition := range map[string]string{"before it sets out": gathering, "on the road": road} {
		cases["another campaign's character gives up an expedition "+name] = badInput{
			token: "gm", method: expeditions + "AbandonExpedition", req: object{"name": expedition, "character": m.stray},
			http: http.StatusNotFound, code: codes.NotFound, reason: "NOT_FOUND", field: "character", of: expedition,
		}
	}
	m.refuses(cases, append(touched, gathering)...)
}

// refuses gives each case through REST and gRPC and checks the refusal; what is touched has to stay as it is.
func (m *messed) refuses(cases map[string]badInput, touched ...string) {
	t := m.tb.(*testing.T) //nolint:forcetypeassert // the cases are subtests
	t.Helper()
	transports := both(t)
	before := map[string]object{}
	for _, name := range touched {
		before[name] = m.read("gm", name)
		if before[name].Number("seq") == 0 {
			t.Fatalf("%s shows no seq", name)
		}
	}
	// All at once: not one of them changes anything.
	t.Run("cases", func(t *testing.T) {
		for name, c := range cases {
			for kind, via := range transports {
				t.Run(name+" through "+kind, func(t *testing.T) {
					t.Parallel()
					own := *m.table // which ends this case, and no other, when something cannot be read
					own.tb = t
					req := c.req
					if req["requestId"] == nil && !strings.Contains(c.method, "/Get") && !strings.Contains(c.method, "/List") {
						req = req.With("requestId", strings.ReplaceAll(name+"-"+kind, " ", "-"))
					}
					got := refusal(t, func() (object, error) {
						return own.steadyBy(via, m.token(c.token), c.token, c.method, req)
					})
					want := failure{code: c.code, reason: c.reason, field: c.field, text: got.text}
					if kind == "REST" {
						want.http = c.http
					} else if c.grpcOwn {
						want.reason, want.field = "", ""
					}
					if *got != want {
						t.Errorf("refused with\n  %v\nnot with\n  %v", got, &want)
					}
					if got.text == "" {
						t.Error("refused without a word to people")
					}
					for _, of := range []string{c.of, c.also} {
						if of == "" {
							continue
						}
						if after := own.read("gm", of); !reflect.DeepEqual(after, before[of]) {
							t.Errorf("%s was at seq %d and is at %d:\n%v\n%v", of, before[of].Number("seq"), after.Number("seq"), before[of], after)
						}
					}
				})
			}
		}
	})
}

func TestMalformedJSONIsRefused(t *testing.T) {
	t.Parallel()
	g := newTable(t, "malformed")
	before := g.read("gm", g.campaign)
	for name, c := range map[string]struct{ body, reason, field string }{
		"cut short":                {`{"title": "A`, "MALFORMED_JSON", "body"},
		"no JSON at all":           {`title=A`, "MALFORMED_JSON", "body"},
		"something after the body": {`{"chapter": 5, "requestId": "r"} {"chapter": 6}`, "MALFORMED_JSON", "body"},
		"a list":                   {`[]`, "MALFORMED_BODY", "body"},
		"a word for a number":      {`{"chapter": "five", "requestId": "r"}`, "MALFORMED_BODY", "chapter"},
		"a field that is none":     {`{"chaptr": 5, "requestId": "r"}`, "MALFORMED_BODY", "chaptr"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			via := rest{base: house.URL}
			req, err := via.request(g.ctx, g.tokens["gm"], campaigns+"SetChapter", object{"name": g.campaign}, []byte(c.body))
			if err != nil {
				t.Fatal(err)
			}
			got := refusal(t, func() (object, error) { return via.do(req) })
			want := failure{http: http.StatusBadRequest, code: codes.InvalidArgument, reason: c.reason, field: c.field, text: got.text}
			if *got != want {
				t.Errorf("refused with\n  %v\nnot with\n  %v", got, &want)
			}
			if after := g.read("gm", g.campaign); !reflect.DeepEqual(after, before) {
				t.Errorf("the campaign was\n%v\nand is\n%v", before, after)
			}
		})
	}
}
