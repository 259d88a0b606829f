package dungeon_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	dungeonv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/dungeon/v1"
	partyv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/party/v1"
	typev1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/type/v1"
)

func TestWhoMayNotPlay(t *testing.T) {
	t.Parallel()
	denied := func(reason, field string) refusal { return refusal{codes.PermissionDenied, reason, field} }
	hidden := refusal{codes.NotFound, "NOT_FOUND", ""}
	reported := func(etag string) proto.Message {
		return &dungeonv1.CompleteRequest{Name: dive, Character: bram, Etag: etag, ReportedDice: []int32{5, 5, 5}}
	}
	refuseAll(t, func(n *node) { n.begin() }, map[string]refusedCommand{
		"a player for another's character":     {who: brams, req: plain(basic(ada, "brute")), want: denied("NOT_YOUR_CHARACTER", "")},
		"a player takes another's leave":       {who: brams, req: plain(leave(cleo)), want: denied("NOT_YOUR_CHARACTER", "")},
		"a player abandons for the leader":     {who: brams, req: plain(abandon(ada, "")), want: denied("NOT_YOUR_CHARACTER", "")},
		"a bot for a character not its own":    {who: bot, req: plain(basic(bram, "brute")), want: denied("NOT_YOUR_CHARACTER", "")},
		"a spectator acts":                     {who: spectator, req: plain(basic(ada, "brute")), want: denied("SPECTATOR", "")},
		"a spectator leaves":                   {who: spectator, req: plain(leave(cleo)), want: denied("SPECTATOR", "")},
		"a stranger acts":                      {who: stranger, req: plain(basic(ada, "brute")), want: hidden},
		"a stranger reads":                     {who: stranger, req: plain(&dungeonv1.GetRunRequest{Name: dive}), want: hidden},
		"a stranger lists":                     {who: stranger, req: plain(&dungeonv1.ListRunsRequest{Parent: camp}), want: hidden},
		"a stranger lists dungeons":            {who: stranger, req: plain(&dungeonv1.ListDungeonsRequest{Parent: camp}), want: hidden},
		"a stranger reads a dungeon":           {who: stranger, req: plain(&dungeonv1.GetDungeonRequest{Name: granary}), want: hidden},
		"a player overrides":                   {who: brams, req: plain(promote(bram, bram, "why not")), want: denied("NOT_GM", "override_reason")},
		"a bot overrides":                      {who: bot, req: plain(abandon(ada, "why not")), want: denied("NOT_GM", "override_reason")},
		"a player reports dice":                {stage: allActed, who: adas, req: withEtag(reported), want: denied("NOT_GM", "reported_dice")},
		"a service for a player":               {who: service + " for " + brams, req: plain(basic(ada, "brute")), want: denied("NOT_YOUR_CHARACTER", "")},
		"a service for a stranger":             {who: service + " for " + stranger, req: plain(basic(ada, "brute")), want: hidden},
		"a player imports":                     {who: adas, req: plain(&dungeonv1.ImportDungeonRequest{Parent: camp, Dungeon: shipped("thornglass-stair")}), want: denied("NOT_GM", "")},
		"a bot imports":                        {who: bot, req: plain(&dungeonv1.ImportDungeonRequest{Parent: camp, Dungeon: shipped("thornglass-stair")}), want: denied("NOT_GM", "")},
		"a spectator imports":                  {who: spectator, req: plain(&dungeonv1.ImportDungeonRequest{Parent: camp, Dungeon: shipped("thornglass-stair")}), want: denied("NOT_GM", "")},
		"a stranger imports":                   {who: stranger, req: plain(&dungeonv1.ImportDungeonRequest{Parent: camp, Dungeon: shipped("thornglass-stair")}), want: hidden},
		"a stranger validates":                 {who: stranger, req: plain(&dungeonv1.ValidateDungeonRequest{Parent: camp, Dungeon: shipped("thornglass-stair")}), want: hidden},
		"a spectator starts":                   {who: spectator, req: plain(again(ada)), want: denied("SPECTATOR", "")},
		"a stranger starts":                    {who: stranger, req: plain(again(ada)), want: hidden},
		"a player starts for the leader":       {who: brams, req: plain(again(ada)), want: denied("NOT_YOUR_CHARACTER", "")},
		"a member starts":                      {who: brams, req: plain(again(bram)), want: refuse("NOT_LEADER")},
		"a player starts with reported dice":   {who: adas, req: plain(with(again(ada), func(r *dungeonv1.StartRunRequest) { r.ReportedDice = []int32{1} })), want: denied("NOT_GM", "reported_dice")},
		"a player starts with a reason":        {who: adas, req: plain(with(again(ada), func(r *dungeonv1.StartRunRequest) { r.OverrideReason = "why" })), want: denied("NOT_GM", "override_reason")},
		"a player starts one of an expedition": {who: adas, req: plain(with(again(ada), func(r *dungeonv1.StartRunRequest) { r.Expedition = quest })), want: denied("NOT_A_SERVICE", "expedition")},
		"a GM starts one of an expedition":     {who: gm, req: plain(with(again(ada), func(r *dungeonv1.StartRunRequest) { r.Expedition = quest })), want: denied("NOT_A_SERVICE", "expedition")},
	})
	n := newWorld(t).node().begin()
	if _, err := n.watch(stranger, dive, 0); status.Code(err) != codes.NotFound {
		t.Errorf("a stranger watches: %v", err)
	}
	if _, err := n.call("", basic(ada, "brute")); status.Code(err) != codes.Unauthenticated {
		t.Errorf("nobody acts: %v", err)
	}
}

// again starts another run of the party.
func again(character string) *dungeonv1.StartRunRequest {
	return &dungeonv1.StartRunRequest{Parent: camp, RunId: "again", Party: team, Dungeon: granary, Character: character}
}

func with(req *dungeonv1.StartRunRequest, change func(*dungeonv1.StartRunRequest)) *dungeonv1.StartRunRequest {
	change(req)
	return req
}

func TestWhoMayPlay(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		stage, who string
		req        proto.Message
		reason     string
	}{
		"the owner of the character":            {who: adas, req: basic(ada, "brute")},
		"a bot for its character":               {who: bot, req: basic(ada, "brute")},
		"a GM for anybody":                      {who: gm, req: basic(ada, "brute")},
		"the owner of the campaign for anybody": {who: owner, req: basic(bram, "brute")},
		"a service for itself":                  {who: service, req: basic(ada, "brute")},
		"a service for a player":                {who: service + " for " + adas, req: basic(ada, "brute")},
		"a GM completes with a reason":          {stage: allActed, who: gm, req: because(complete(bram), "Ada is away"), reason: "Ada is away"},
		"the drawer completes":                  {stage: allActed, who: adas, req: complete(ada)},
		"a GM promotes with a reason":           {who: gm, req: promote(bram, bram, "Ada is away"), reason: "Ada is away"},
		"a GM abandons with a reason":           {who: gm, req: abandon(bram, "it is late"), reason: "it is late"},
		"the leader abandons":                   {who: adas, req: abandon(ada, "")},
		"a bot draws for its character":         {stage: between, who: bot, req: draw(ada)},
		"anybody draws":                         {stage: between, who: cleos, req: draw(cleo)},
		"a basic action by its own name":        {who: adas, req: basic(ada, "force")},
		"a tool by its number":                  {who: adas, req: withTool(ada, 1)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := newWorld(t).node().begin()
			stages[tt.stage](n)
			res := do[answer](n, tt.who, tt.req)
			rec := res.GetRecord()
			actor := tt.who
			if tt.who == service+" for "+adas {
				actor = adas
			}
			if rec.GetActor() != actor || rec.GetOverrideReason() != tt.reason || len(res.GetEvents()) == 0 || res.GetRun().GetSeq() != rec.GetSeq() {
				t.Errorf("answered: %v", res)
			}
		})
	}
}

func because(req *dungeonv1.CompleteRequest, reason string) *dungeonv1.CompleteRequest {
	req.OverrideReason = reason
	return req
}

// A run of an expedition takes its commands from the expedition service, which names the user.
func TestARunOfAnExpedition(t *testing.T) {
	t.Parallel()
	n := newWorld(t).node().imported()
	start := with(startDive(), func(r *dungeonv1.StartRunRequest) { r.Expedition = quest })
	started := do[*dungeonv1.StartRunResponse](n, service+" for "+adas, start)
	if r := started.GetRun(); r.GetExpedition() != quest || n.run(spectator).GetExpedition() != quest {
		t.Errorf("started: %v", r)
	}
	for _, who := range []string{adas, brams, gm, owner, bot} {
		for _, req := range []proto.Message{basic(ada, "brute"), complete(ada), draw(ada), leave(cleo), promote(ada, bram, ""), abandon(ada, "")} {
			refusedCommand{who: who, req: plain(req), want: refuse("OWNED_BY_EXPEDITION")}.refuses(t, n)
		}
	}
	refusedCommand{who: service + " for " + brams, req: plain(basic(ada, "brute")), want: refusal{codes.PermissionDenied, "NOT_YOUR_CHARACTER", ""}}.refuses(t, n)
	if res := do[*dungeonv1.ActResponse](n, service+" for "+adas, basic(ada, "brute")); res.GetRecord().GetActor() != adas {
		t.Errorf("acted: %v", res.GetRecord())
	}
	do[*dungeonv1.ActResponse](n, service, basic(bram, "brute"))
}

// What was done stays answered, whatever has become of the role of who did it.
func TestARetryOutlivesTheRole(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	n := w.node().begin()
	req := basic(bram, "brute")
	req.RequestId = "mine"
	first := do[*dungeonv1.ActResponse](n, brams, req)
	w.demote(brams)
	again := do[*dungeonv1.ActResponse](n, brams, req)
	if !proto.Equal(first, again) {
		t.Errorf("first %v, then %v", first, again)
	}
	refusedCommand{who: brams, req: plain(leave(bram)), want: refusal{codes.PermissionDenied, "SPECTATOR", ""}}.refuses(t, n)
	w.demote(gm)
	granted := do[*dungeonv1.ImportDungeonResponse](n, gm, &dungeonv1.ImportDungeonRequest{Parent: camp, Dungeon: shipped("ostrell-granary"), RequestId: "import"})
	if granted.GetDungeon().GetRevision() != 1 || len(granted.GetDungeon().GetDefinition().GetCards()) != 0 {
		t.Errorf("imported again: %v", granted)
	}
	if diff := cmp.Diff(3, n.seqs()[dive]); diff != "" {
		t.Errorf("records (-want +got):\n%s", diff)
	}
}

// demote makes a player a spectator.
func (w *world) demote(who string) {
	do[*partyv1.SetMemberResponse](w.parties, owner, &partyv1.SetMemberRequest{
		Name: camp, Member: &partyv1.CampaignMember{Subject: who, Role: typev1.Role_ROLE_SPECTATOR},
	})
}
