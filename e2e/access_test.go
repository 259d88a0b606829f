package e2e

import (
	"context"
	"crypto/ed25519"
	"database/sql"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"buf.build/gen/go/bufbuild/protovalidate/protocolbuffers/go/buf/validate"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/known/anypb"

	consolev1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/console/v1"
	typev1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/type/v1"

	"github.com/wayfarer-rpg/wayfarer/internal/auth"
	"github.com/wayfarer-rpg/wayfarer/internal/auth/devissuer"
	"github.com/wayfarer-rpg/wayfarer/rules/digger"
	"github.com/wayfarer-rpg/wayfarer/services/adapter/access"
)

// every returns all methods of the contract by their names as in "/wayfarer.dice.v1.DiceService/Roll".
func every() map[string]protoreflect.MethodDescriptor {
	all := map[string]protoreflect.MethodDescriptor{}
	protoregistry.GlobalFiles.RangeFiles(func(f protoreflect.FileDescriptor) bool {
		for i := range f.Services().Len() {
			if s := f.Services().Get(i); strings.HasPrefix(string(s.FullName()), "wayfarer.") {
				for j := range s.Methods().Len() {
					all["/"+string(s.FullName())+"/"+string(s.Methods().Get(j).Name())] = s.Methods().Get(j)
				}
			}
		}
		return true
	})
	return all
}

// houseKey is the key with which the house's issuer signs.
func houseKey(tb testing.TB) ed25519.PrivateKey {
	tb.Helper()
	key, err := devissuer.LoadKey(filepath.Join(houseDir, "issuer.pem"))
	if err != nil {
		tb.Fatal(err)
	}
	return key
}

// serviceToken is a token of a service identity.
func serviceToken(tb testing.TB) string {
	tb.Helper()
	token, err := devissuer.New(devissuer.Config{Issuer: house.URL + "/dev", Audience: "wayfarer"}, houseKey(tb)).Token("worker", auth.ServiceScope)
	if err != nil {
		tb.Fatal(err)
	}
	return token
}

// world is a campaign that has one of everything. Its characters ada and ada2 are ada's, bram is bram's.
type world struct {
	*table
	// names are what there is, by the pattern of its name, as in "campaigns/*/runs/*".
	names map[string]string
	// another expedition of ada's, which has not set out.
	assembling string
	// requests are those that a method takes, where filling in names is not enough.
	requests map[string]object
	// shown counts the answers in which somebody was shown what only game masters may see, by user.
	shown map[string]int
}

// whisper is in every text of a world that game masters keep to themselves.
const whisper = "swordfish"

func newWorld(tb testing.TB, id string) *world {
	tb.Helper()
	w := &world{table: newTable(tb, id, "ada", "bram"), names: map[string]string{}, shown: map[string]int{}}
	ctx, cancel := context.WithTimeout(context.Background(), long) // it is for hundreds of calls
	tb.Cleanup(cancel)
	w.ctx = ctx
	for _, user := range []string{"eve", "warden", "bot", "mallory"} {
		token, err := house.Token(user)
		if err != nil {
			tb.Fatal(err)
		}
		w.tokens[user] = token
	}
	w.tokens["service"], w.tokens["nobody"] = serviceToken(tb), ""
	at := func(path string) string { return w.campaign + "/" + path }
	dungeon := w.importDefinitions()
	w.player("ada", "ada")
	w.player("bram", "bram")
	w.do("ada", characters+"CreateCharacter", object{"parent": w.campaign, "characterId": "ada2", "title": "Ada's other"})
	for _, m := range []object{
		{"subject": "eve", "role": "ROLE_SPECTATOR"}, {"subject": "dov", "role": "ROLE_SPECTATOR"}, {"subject": "warden", "role": "ROLE_GM"},
		{"subject": "bot", "role": "ROLE_BOT", "characters": []string{w.character("ada"), w.character("ada2")}},
	} {
		w.do("gm", campaigns+"SetMember", object{"name": w.campaign, "member": m})
	}
	w.party("delvers", "ada", "ada", "bram")
	w.do("ada", campaigns+"FileRequest", object{"parent": w.campaign, "character": w.character("ada"), "text": "May I?"})
	run := w.do("ada", runs+"StartRun", object{"parent": w.campaign, "runId": "dive", "party": at("parties/delvers"), "dungeon": dungeon, "character": w.character("ada")})
	journey := w.journey("road", "ada", object{"gold": 60, "food": []int{20}}, "ada")
	expedition, _ := w.expedition("far", "ada", w.setOut("farther", object{"food": []int{20}}, "ada2"))
	w.assembling = w.do("ada", expeditions+"CreateExpedition", object{"parent": w.campaign, "expeditionId": "later", "title": "Later"}).Text("expedition.name")
	for _, c := range []string{"ada", "bram"} {
		w.do("gm", characters+"SetDangerSheet", object{"name": w.character(c), "dangerSheet": object{"stats": object{"Agility": 3}, "fp": 2}})
	}
	const scenes = "party.v1.SceneService/"
	w.do("gm", scenes+"CreateScene", object{"parent": w.campaign, "sceneId": "ball", "title": "The ball", "characters": []string{w.character("ada")}})
	w.do("gm", scenes+"CreateChallenge", object{"name": at("scenes/ball"), "challenge": "gate", "difficulty": 2})
	check := w.do("ada", scenes+"OpenCheck", object{"parent": at("scenes/ball"), "character": w.character("ada"), "challenge": "gate", "stat": "Agility"})
	const delves = "dungeon.v1.DelveService/"
	w.do("gm", delves+"CreateDelve", object{
		"parent": w.campaign, "delveId": "tomb", "invokedBy": "INVOKED_BY_DM_JUDGMENT", "entry": "mouth", "character": w.character("ada"),
		"map": object{"title": "A tomb", "areas": []object{
			{"id": "mouth", "title": "The mouth", "notes": whisper, "ways": []string{"hall"}}, {"id": "hall", "title": "A hall", "notes": whisper, "ways": []string{"mouth"}},
		}},
	})
	band := []object{{"name": "Ada", "character": w.character("ada"), "kind": "PC", "rank": "FRONT"}}
	w.do("ada", delves+"RecordMembers", object{"name": at("delves/tomb"), "members": band, "character": w.character("ada")})
	w.do("gm", "travel.v1.MissionService/CreateMissionBoard", object{"parent": w.campaign, "missionBoardId": "inn", "title": "At the inn"})
	w.do("ada", "dice.v1.DiceService/Roll", object{"parent": w.campaign, "notation": "d6"})
	mine, err := w.steady(w.via, "ada", "dice.v1.DiceService/GetRollLog", object{"name": at("rollLogs/me")})
	if err != nil {
		tb.Fatal(err)
	}
	log := mine.Text("name")

	w.names = map[string]string{
		"campaigns/*": w.campaign, "campaigns/*/parties/*": at("parties/delvers"), "campaigns/*/requests/*": at("requests/1"),
		"campaigns/*/characters/*": w.character("ada"), "campaigns/*/companies/*": at("companies/road"), "campaigns/*/scenes/*": at("scenes/ball"),
		"campaigns/*/scenes/*/checks/*": check.Text("check.name"), "campaigns/*/dungeons/*": dungeon, "campaigns/*/runs/*": run.Text("run.name"),
		"campaigns/*/delves/*": at("delves/tomb"), "campaigns/*/regions/*": at("regions/vale"), "campaigns/*/journeys/*": journey,
		"campaigns/*/missionBoards/*": at("missionBoards/inn"), "campaigns/*/expeditions/*": expedition, "campaigns/*/rollLogs/*": log,
		"campaigns/*/streams/*": w.read("gm", journey).Text("stream"), "campaigns/*/rulesets/*": at("rulesets/digger"),
		// Those of several kinds.
		"campaigns/*/(runs|journeys|scenes)/*": at("runs/nobodys"), "campaigns/*/(parties|characters|companies)/*": w.character("bram"),
		"campaigns/*/(regions|journeys)/*": at("regions/vale"),
	}
	own := object{"company": at("companies/spare"), "region": at("regions/vale"), "hex": object{"q": 0, "r": 0}}
	w.requests = w.ask(dungeon, band, own)
	return w
}

// ask are requests about the world that are fit to be carried out, or to be refused by the rules alone.
func (w *world) ask(dungeon string, band []object, own object) map[string]object {
	var shipped struct {
		Dungeons []object `json:"dungeons"`
	}
	if err := json.Unmarshal(digger.ShippedDungeonsDocument(), &shipped); err != nil {
		w.tb.Fatal(err)
	}
	file := shipped.Dungeons[0]
	return map[string]object{
		"console.v1.ConsoleService/Execute": {"line": "+party"},

		"dice.v1.DiceService/Roll": {"notation": "d6"}, "dice.v1.DiceService/BatchRoll": {"notations": []string{"d6"}},
		"dice.v1.DiceService/RollUsageDie": {"sides": 6}, "dice.v1.DiceService/RollPool": {"dice": 2},
		"dice.v1.DiceService/RollTable":     {"notation": "d6", "rows": []object{{"min": 1, "max": 6, "text": "x"}}},
		"dice.v1.DiceService/SetClientSeed": {"clientSeed": "x"}, "dice.v1.DiceService/CreateStream": {"streamId": "spare", "holder": w.campaign + "/runs/none"},
		"dice.v1.DiceService/Draw": {"index": 1}, "dice.v1.DiceService/Odds": {"notation": object{"notation": "d6"}},
		"dice.v1.DiceService/Verify":    {"seed": make([]byte, 32), "draws": []object{{"index": 1, "dice": []object{{"sides": 6, "face": 1}}}}},
		"dice.v1.DiceService/ListRolls": {"parent": w.names["campaigns/*/rollLogs/*"]},

		dungeons + "ImportDungeon": {"dungeon": file}, dungeons + "ValidateDungeon": {"dungeon": file}, dungeons + "Simulate": {"dungeon": dungeon, "runs": 1},
		runs + "StartRun": {"party": w.campaign + "/parties/delvers", "dungeon": dungeon},
		runs + "StageRun": {"dungeon": dungeon, "reason": "x", "members": []object{{"character": w.character("ada"), "ratings": []int{5, 4, 4, 4}}, {"character": w.character("bram"), "ratings": []int{5, 4, 4, 4}}}},
		runs + "Act":      {"action": object{"basic": "brute"}}, runs + "Promote": {"target": w.character("bram")}, runs + "AdjustRun": {"reason": "x", "exploration": 1},

		"dungeon.v1.DelveService/CreateDelve":   {"invokedBy": "INVOKED_BY_DM_JUDGMENT", "map": object{"title": "x"}, "entry": "x"},
		"dungeon.v1.DelveService/RecordMembers": {"members": band}, "dungeon.v1.DelveService/RecordProvisions": {"note": "x"},
		"dungeon.v1.DelveService/Move": {"to": "hall"}, "dungeon.v1.DelveService/Wait": {"minutes": 1}, "dungeon.v1.DelveService/AddRealTime": {"minutes": 1},
		"dungeon.v1.DelveService/FightRounds": {"rounds": 1}, "dungeon.v1.DelveService/AddLight": {"id": "a", "source": "TORCH"},
		"dungeon.v1.DelveService/SwitchLight": {"id": "a"}, "dungeon.v1.DelveService/RefuelLight": {"id": "a"},
		"dungeon.v1.DelveService/CastSpell": {"id": "a", "minutes": 1}, "dungeon.v1.DelveService/EndSpell": {"id": "a"},
		"dungeon.v1.DelveService/AddRemark": {"text": "x"}, "dungeon.v1.DelveService/NarrateEvent": {"spill": 1, "event": 1, "shows": "x"},
		"dungeon.v1.DelveService/RaiseDanger": {"dice": 1, "reason": whisper}, "dungeon.v1.DelveService/AdjustDelve": {"reason": whisper, "pool": 1},
		"dungeon.v1.DelveService/LeaveDelve": {"target": "TRAVEL"}, "dungeon.v1.DelveService/SimulateDelves": {"runs": 1},

		expeditions + "CreateExpedition": {"title": "x"}, expeditions + "Execute": {"search": object{"character": w.character("ada2")}},
		expeditions + "SetAbsence": {"absence": object{"policy": "POLICY_WAIT"}}, expeditions + "AbandonExpedition": {"name": w.assembling},
		expeditions + "HandOverLeadership": {"character": w.character("bram"), "overrideReason": "x"},

		campaigns + "CreateCampaign": {"title": "x"}, campaigns + "SetMember": {"member": object{"subject": "eve", "role": "ROLE_SPECTATOR"}},
		campaigns + "RemoveMember": {"subject": "dov"}, campaigns + "SetChapter": {"chapter": 3},
		campaigns + "OverrideRuleset": {"set": object{"dp.cp_at_creation": 300}}, campaigns + "PromoteMember": {"target": w.character("bram")},
		campaigns + "FileRequest":      {"text": "x"},
		characters + "CreateCharacter": {"title": "x"}, characters + "GrantPoints": {"cp": 1},
		characters + "AddForm": {"form": "wolf"}, characters + "SwitchForm": {"form": "base"}, characters + "SetAbilities": {"abilities": object{"brute": 5}},
		characters + "BuyTools": {"tools": []object{{"id": "rope", "ability": "brute", "rating": "minor"}}}, characters + "LoadTool": {"number": 1},
		characters + "UnloadTool": {"number": 1}, characters + "SetVitals": {"vitals": object{"hp": 4, "hpMax": 4, "str": 10, "strMax": 10}},
		characters + "SetDangerSheet": {"dangerSheet": object{"stats": object{"Agility": 1}}},
		companies + "CreateCompany":   {"title": "x", "travelers": []object{{"character": w.character("ada")}}},
		companies + "AddTraveler":     {"traveler": object{"label": "Hob"}}, companies + "RemoveTraveler": {"label": "Hob"}, companies + "SetPack": {"pack": object{"gold": 1}},

		"party.v1.SceneService/AddCharacter":    {"character": w.character("bram")},
		"party.v1.SceneService/RemoveCharacter": {"character": w.character("bram")},
		"party.v1.SceneService/CreateChallenge": {"challenge": "wall", "difficulty": 2}, "party.v1.SceneService/EditChallenge": {"challenge": "gate"},
		"party.v1.SceneService/SetSheet": {"sheet": object{"stats": object{"Agility": 3}}}, "party.v1.SceneService/RaiseDanger": {"steps": 1},
		"party.v1.SceneService/SetDanger": {"dangerPoints": 1}, "party.v1.SceneService/OpenCheck": {"challenge": "gate", "stat": "Agility"},
		"party.v1.SceneService/LongTermRest": {"characters": []string{w.character("ada")}},
		"party.v1.SceneService/PayNegative":  {"fp": 1}, "party.v1.SceneService/RerollCheck": {"lock": []string{"N1"}}, "party.v1.SceneService/ClaimSet": {"height": 6},
		"party.v1.SceneService/SpendBotches": {"items": []object{{"buy": "DANGER"}}}, "party.v1.SceneService/NoteBenefit": {"text": "x"},
		"party.v1.IntentService/KeepIntent": {"fingerprint": "x"},
		"party.v1.LeaseService/TakeLease":   {"lender": w.character("bram"), "facet": "FACET_SHEET", "holder": w.campaign + "/scenes/none"}, "party.v1.LeaseService/ReturnLease": {"lender": w.character("bram"), "facet": "FACET_SHEET", "holder": w.campaign + "/scenes/none"},
		"party.v1.MembershipService/GetMembership":       {"campaign": w.campaign, "subject": "ada"},
		"party.v1.MembershipService/GetEffectiveRuleset": {"campaign": w.campaign, "system": "digger"},

		regions + "ImportRegion": {"regionId": "spare", "region": vale()}, regions + "ValidateRegion": {"region": vale()},
		journeys + "StartJourney": own.With("company", w.campaign+"/companies/road"), journeys + "Move": {"to": object{"q": 1, "r": 0}}, journeys + "Forage": {},
		journeys + "EnterLocation": {"location": "hamlet"}, journeys + "BuyFood": {"steps": 1}, journeys + "BuyGear": {"item": "torch", "count": 1},
		journeys + "AddMember": {"member": object{"name": "Hob", "hp": 4, "str": 10}}, journeys + "RemoveMember": {"member": "Hob"}, journeys + "Distribute": {},
		journeys + "Harm": {"member": "ada", "hp": 1}, journeys + "Adjust": {"reason": "x"}, journeys + "TakeTurn": {"trigger": "activity"}, journeys + "Light": {"kind": "torch"}, journeys + "JoinJourney": {"label": "Ada"}, journeys + "SimulateJourneys": {"region": w.campaign + "/regions/vale", "from": object{"q": 0, "r": 0}, "to": object{"q": 1, "r": 0}, "runs": 1}, journeys + "PrepareRemains": {"count": 1, "carrier": "ada"},
		"travel.v1.MissionService/CreateMissionBoard": {"title": "x"}, "travel.v1.MissionService/RollMissions": {"count": 3},
		"travel.v1.MissionService/UseMission": {"number": 1, "replacement": whisper}, "travel.v1.MissionService/TakeMission": {"number": 1}, "travel.v1.MissionService/DropMission": {"number": 1},
	}
}

// request makes a method's request about the world: the names of what there is, and what ask says.
func (w *world) request(method protoreflect.MethodDescriptor) (proto.Message, error) {
	name := strings.TrimPrefix(string(method.Parent().FullName()), "wayfarer.") + "/" + string(method.Name())
	m, err := message(method.Input())
	if err != nil {
		return nil, err
	}
	raw, err := json.Marshal(w.requests[name])
	if err != nil {
		return nil, err
	}
	if w.requests[name] != nil {
		if err := protojson.Unmarshal(raw, m); err != nil {
			return nil, err
		}
	}
	r := m.ProtoReflect()
	for i := range r.Descriptor().Fields().Len() {
		fd := r.Descriptor().Fields().Get(i)
		if fd.Kind() != protoreflect.StringKind || fd.IsList() || r.Get(fd).String() != "" {
			continue
		}
		switch fd.Name() {
		case "request_id":
			r.Set(fd, protoreflect.ValueOfString(unique("r")))
		case "name", "parent", "campaign", "character", "resource", "holder", "stream":
			if there := w.names[patternOf(fd)]; there != "" {
				r.Set(fd, protoreflect.ValueOfString(there))
			}
		}
	}
	return m, nil
}

var part = regexp.MustCompile(`\[[a-z0-9-]+\]\{1,63\}|\[0-9\]\{1,9\}|\[1-9\]\[0-9\]\{0,8\}`)

// patternOf is the pattern of the names that a field takes, as in "campaigns/*/runs/*"; "" where it takes none.
func patternOf(fd protoreflect.FieldDescriptor) string {
	rules, _ := proto.GetExtension(fd.Options(), validate.E_Field).(*validate.FieldRules)
	if rules.GetRepeated() != nil {
		rules = rules.GetRepeated().GetItems()
	}
	pattern := rules.GetString().GetPattern()
	if !strings.HasPrefix(pattern, "^campaigns/") {
		return ""
	}
	return part.ReplaceAllString(strings.Trim(pattern, "^$"), "*")
}

// try makes a call, or takes the first answer of a stream.
func (w *world) try(ctx context.Context, conns direct, user string, method protoreflect.MethodDescriptor, req proto.Message) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if token := w.tokens[user]; token != "" {
		ctx = metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+token)
	}
	out, err := message(method.Output())
	if err != nil {
		return err
	}
	path := "/" + string(method.Parent().FullName()) + "/" + string(method.Name())
	service, _, _ := strings.Cut(strings.TrimPrefix(path, "/wayfarer."), ".")
	conn := conns[service]
	if !method.IsStreamingServer() {
		err := conn.Invoke(ctx, path, req, out)
		w.look(user, path, out, err)
		return err
	}
	stream, err := conn.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true}, path)
	if err != nil {
		return err
	}
	if err := errors.Join(stream.SendMsg(req), stream.CloseSend()); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	err = stream.RecvMsg(out)
	for last := w.seqOf(req); err == nil; err = stream.RecvMsg(out) { // all that there is by now
		w.look(user, path, out, nil)
		rec := out.ProtoReflect().Descriptor().Fields().ByName("record")
		if rec == nil || int(out.ProtoReflect().Get(rec).Message().Get(rec.Message().Fields().ByName("seq")).Int()) >= last {
			return nil
		}
		proto.Reset(out)
	}
	w.look(user, path, out, err)
	return err
}

// seqOf is the number of the last record of what a request to watch is about.
func (w *world) seqOf(req proto.Message) int {
	fd := req.ProtoReflect().Descriptor().Fields().ByName("name")
	if fd == nil {
		return 0
	}
	name := req.ProtoReflect().Get(fd).String()
	parts := strings.Split(name, "/")
	if getter := allGetters[parts[len(parts)-2]]; getter != "" && strings.HasPrefix(name, w.campaign) {
		if answer, err := w.steady(w.via, "gm", getter, object{"name": name}); err == nil {
			return answer.Number("seq")
		}
	}
	return 0
}

var allGetters = func() map[string]string {
	all := maps.Clone(getters)
	all["scenes"], all["delves"], all["missionBoards"] = "party.v1.SceneService/GetScene", "dungeon.v1.DelveService/GetDelve", "travel.v1.MissionService/GetMissionBoard"
	return all
}()

// look holds an answer, or an error, to what the user may see: nothing that the contract marks secret but for game masters.
func (w *world) look(user, method string, out proto.Message, err error) {
	text := status.Convert(err).Proto().String() + protojson.Format(out)
	secrets := secretsIn(out.ProtoReflect(), "")
	if strings.Contains(text, whisper) {
		secrets = append(secrets, "a text")
	}
	if len(secrets) == 0 {
		return
	}
	w.shown[user]++
	if user != "gm" && user != "warden" && user != "service" && user != "keeper" {
		w.tb.Errorf("%s shows %s %v: %.2000s", method, user, secrets, text)
	}
}

// secretsIn are the paths of the fields of a message that are marked secret and not empty.
func secretsIn(m protoreflect.Message, path string) (found []string) {
	if die, ok := m.Interface().(*typev1.Die); ok && die.GetSecret() && die.GetFace() != 0 {
		found = append(found, path+"face")
	}
	m.Range(func(fd protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		at := path + string(fd.Name())
		if secret, _ := proto.GetExtension(fd.Options(), typev1.E_Secret).(bool); secret {
			found = append(found, at)
			return true
		}
		switch {
		case fd.IsMap() && fd.MapValue().Message() != nil:
			v.Map().Range(func(_ protoreflect.MapKey, v protoreflect.Value) bool {
				found = append(found, secretsIn(v.Message(), at+"{}.")...)
				return true
			})
		case fd.IsList() && fd.Message() != nil:
			for i := range v.List().Len() {
				found = append(found, secretsIn(v.List().Get(i).Message(), at+"[].")...)
			}
		case fd.Message() != nil && !fd.IsMap():
			found = append(found, secretsIn(v.Message(), at+".")...)
		}
		return true
	})
	if a, ok := m.Interface().(*anypb.Any); ok { // the console's answers
		if inner, err := a.UnmarshalNew(); err == nil {
			found = append(found, secretsIn(inner.ProtoReflect(), path+"@")...)
		}
	}
	return found
}

// state is everything that can be read by name, as a game master sees it.
func (w *world) state() map[string]object {
	w.tb.Helper()
	all := map[string]object{}
	for pattern, name := range w.names {
		if parts := strings.Split(pattern, "/"); getters[parts[len(parts)-2]] != "" && !strings.Contains(pattern, "(") {
			all[name] = w.read("gm", name)
		}
	}
	return all
}

// callers are all kinds of them, and what each is told where the table says who may call: y is let in, - is
// PERMISSION_DENIED, 0 is NOT_FOUND, ? is UNAUTHENTICATED.
var callers = []string{"nobody", "mallory", "eve", "bram", "bot", "ada", "warden", "gm", "service"}

var told = map[access.Who]string{
	access.Signed:  "?yyyyyyyy",
	access.Member:  "?0yyyyyyy",
	access.Play:    "?0-yyyyyy",
	access.Player:  "?0-y-yyyy",
	access.Acting:  "?0--yyyyy",
	access.Own:     "?0---yyyy",
	access.GM:      "?0----yyy",
	access.Service: "?-------y",
}

var codesOf = map[byte]codes.Code{'-': codes.PermissionDenied, '0': codes.NotFound, '?': codes.Unauthenticated}

// ends are what the commands that end things begin with; they come last.
var ends = regexp.MustCompile(`/(Approve|End|Abandon|Leave|Remove|Close|Reset|Reveal|Rotate|Complete|Unload|Promote)`)

func inOrder(methods map[string]protoreflect.MethodDescriptor) []string {
	return slices.SortedFunc(maps.Keys(methods), func(a, b string) int {
		if x, y := ends.MatchString(a), ends.MatchString(b); x != y {
			if x {
				return 1
			}
			return -1
		}
		return strings.Compare(a, b)
	})
}

// Every method, called by every kind of caller, lets in whom the table says and nobody else. First come those who are turned
// away, which must change nothing, then the others.
func TestWhoMayCallWhat(t *testing.T) {
	t.Parallel()
	w, conns, methods := newWorld(t, "access"), overGRPC(t).(direct), every() //nolint:forcetypeassert // a test
	before := w.state()
	defer func() {
		w.audited()
		if w.shown["warden"] < 10 || w.shown["gm"] < 10 {
			t.Errorf("game masters are shown too little that is secret for a test: %v", w.shown)
		}
	}()
	for _, letIn := range []bool{false, true} {
		if letIn {
			if d := cmp.Diff(before, w.state()); d != "" {
				t.Errorf("who was turned away has changed something:\n%s", d)
			}
		}
		for _, name := range inOrder(methods) {
			row, ok := access.Of(name)
			if !ok {
				t.Errorf("%s has no row", name)
				continue
			}
			for i, user := range callers {
				want := told[row.Who][i]
				if (want == 'y') != letIn {
					continue
				}
				req, err := w.request(methods[name])
				if err != nil {
					t.Errorf("%s: %v", name, err)
					break
				}
				err = w.try(w.ctx, conns, user, methods[name], req)
				got := status.Code(err)
				f := failureOf(0, status.Convert(err).Proto())
				switch {
				case !letIn && got != codesOf[want]:
					t.Errorf("%s by %s: %v %s, want %s", name, user, err, f.reason, codesOf[want])
				case letIn && slices.Contains([]codes.Code{codes.PermissionDenied, codes.Unauthenticated, codes.NotFound, codes.Internal, codes.Unknown, codes.Unavailable}, got) && !absent[strings.TrimPrefix(name, "/wayfarer.")]:
					t.Errorf("%s by %s is not let in: %v %s", name, user, err, f.reason)
				case letIn && got == codes.InvalidArgument && f.reason == "INVALID" && !absent[strings.TrimPrefix(name, "/wayfarer.")]:
					t.Errorf("%s: the request is none, so nothing is shown: %v", name, err)
				}
			}
		}
	}
}

// Nobody but game masters is shown what is theirs, by the answer to any command, read, watch or line of the console, or by an
// error: each call of the test before is looked at. Here are the lines of the console.
func TestTheConsoleKeepsSecrets(t *testing.T) {
	t.Parallel()
	w, conns := newWorld(t, "whispers"), overGRPC(t).(direct) //nolint:forcetypeassert // a test
	delve := object{"name": w.names["campaigns/*/delves/*"]}
	w.do("gm", "dungeon.v1.DelveService/RecordProvisions", delve.With("note", "Bread."))
	w.do("gm", "dungeon.v1.DelveService/RecordLights", delve)
	w.do("gm", "dungeon.v1.DelveService/BeginDelve", delve)
	w.do("gm", "dungeon.v1.DelveService/RaiseDanger", delve.With("dice", 1).With("reason", whisper))
	execute := every()["/wayfarer.console.v1.ConsoleService/Execute"]
	line := func(user, text string) object {
		t.Helper()
		req := &consolev1.ExecuteRequest{Campaign: w.campaign, Line: text, RequestId: unique("line")}
		if user != "gm" && user != "eve" {
			req.Character = w.character(user)
		}
		_ = w.try(w.ctx, conns, user, execute, req) // what is shown counts, refusals too
		answer, err := w.steady(w.via, user, console+"Execute", object{"campaign": w.campaign, "line": text, "character": req.GetCharacter(), "requestId": unique("line")})
		if err == nil && user != "gm" && strings.Contains(jsonOf(t, answer), whisper) {
			t.Errorf("%q shows %s %v", text, user, answer)
		}
		return answer
	}
	var lines []string
	for _, c := range line("gm", "+help").List("result.commands") {
		if name := c.Text("name"); !ends.MatchString(strings.ReplaceAll(strings.ToUpper(name[1:2])+name[2:], "+", "/")) {
			lines = append(lines, name)
		}
	}
	if len(lines) < 20 {
		t.Fatalf("only these commands are known: %q", lines)
	}
	for _, user := range []string{"eve", "bram", "ada", "gm"} {
		for _, text := range lines {
			line(user, text)
		}
	}
}

// audited reads every record of the world's campaign out of the stores: each says who gave it, by whose token, under which
// request id, when, and in which trace.
func (w *world) audited() {
	w.tb.Helper()
	kinds := map[string]int{}
	for _, service := range []string{"party", "dice", "dungeon", "travel", "expedition"} {
		db, err := sql.Open("sqlite", "file:"+filepath.Join(houseDir, service+".db")+"?mode=ro&_pragma=busy_timeout(5000)")
		if err != nil {
			w.tb.Fatal(err)
		}
		rows, err := db.QueryContext(w.ctx, `SELECT stream, seq, kind, actor, principal, request_id, trace, time FROM records WHERE campaign = ?`, w.campaign)
		if err != nil {
			w.tb.Fatal(err)
		}
		for rows.Next() {
			var (
				stream, kind, actor, principal, request, trace string
				seq, ms                                        int64
			)
			if err := rows.Scan(&stream, &seq, &kind, &actor, &principal, &request, &trace, &ms); err != nil {
				w.tb.Fatal(err)
			}
			kinds[kind]++
			// What an expedition does by itself, as the counting of a session's minutes, nobody has asked for.
			byItself := kind == "expedition" && principal == "expedition"
			if actor == "" && !byItself || principal == "" || request == "" || len(trace) != 32 || time.Since(time.UnixMilli(ms)) > time.Hour {
				w.tb.Errorf("record %d of %s (%s) says actor %q, principal %q, request id %q, trace %q, time %d", seq, stream, kind, actor, principal, request, trace, ms)
			}
		}
		if err := errors.Join(rows.Err(), rows.Close(), db.Close()); err != nil {
			w.tb.Fatal(err)
		}
	}
	if len(kinds) < 13 {
		w.tb.Errorf("only these kinds of records are there: %v", kinds)
	}
}

// absent are methods that are let in and then do not find, or cannot use, what they are asked about.
var absent = map[string]bool{
	campaigns + "RemoveMember":     true, // the first takes the role away
	characters + "CreateCharacter": true, // a service has no role, and so no characters
}
