// Package table plays an expedition as its people do: a game master and two players give commands by REST, legal and illegal
// ones, repeat what got no answer, and remember what they were told. It knows the game as its players know it, and nothing of
// what happens to the programs meanwhile.
package table

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"sync"
	"time"

	"github.com/wayfarer-rpg/wayfarer/chaos/audit"
	"github.com/wayfarer-rpg/wayfarer/chaos/rest"
	"github.com/wayfarer-rpg/wayfarer/rules/digger"
)

// GM and the players, each with a character of their name.
const GM = "gm"

// Users play at every table.
var Users = []string{GM, "ada", "bram"}

// Config says how a table plays.
type Config struct {
	Client *rest.Client
	// Tokens are by user.
	Tokens map[string]string
	Number int
	// Seed chooses the commands, together with the number.
	Seed uint64
	// Pace is how long a client thinks between two commands of [Table.Play], on average.
	Pace time.Duration
	// Ends lets some commands end the journey, and so the expedition.
	Ends bool
	// Keen players make for the dungeon, stay in it, and do nothing that they should not; it outweighs Ends.
	Keen bool
	// Patient clients repeat a request until it is answered; others give up at times.
	Patient bool
	// Pause waits between repetitions; nil: it waits.
	Pause func(ctx context.Context, d time.Duration) bool
}

// Table is one expedition with who plays it.
type Table struct {
	cfg Config

	campaign, expedition, dungeon string

	mu         sync.Mutex
	told       map[string]*audit.Told
	noticed    []string
	duplicates int
}

// New returns a table, which is not laid yet.
func New(cfg Config) *Table {
	if cfg.Pause == nil {
		cfg.Pause = rest.Pause
	}
	campaign := fmt.Sprintf("campaigns/chaos-%d", cfg.Number)
	return &Table{
		cfg: cfg, campaign: campaign, expedition: campaign + "/expeditions/out", dungeon: campaign + "/dungeons/" + digger.ShippedDungeons()[0].ID,
		told: map[string]*audit.Told{},
	}
}

// Scene is what there is to be audited. Nobody plays meanwhile.
func (t *Table) Scene() audit.Scene {
	s := audit.Scene{
		Client: t.cfg.Client, Tokens: t.cfg.Tokens, GM: GM, Campaign: t.campaign, Expedition: t.expedition, Company: t.campaign + "/companies/walkers",
		Told: t.told, Noticed: t.noticed,
	}
	for _, u := range Users[1:] {
		s.Characters = append(s.Characters, t.character(u))
	}
	return s
}

// Duplicates is how many requests were sent once more though they had been answered.
func (t *Table) Duplicates() int { return t.duplicates }

func (t *Table) character(user string) string { return t.campaign + "/characters/" + user }

// shipped is the first shipped dungeon, as REST takes it.
func shipped() rest.Object {
	var file struct {
		Dungeons []rest.Object `json:"dungeons"`
	}
	if err := json.Unmarshal(digger.ShippedDungeonsDocument(), &file); err != nil {
		panic(err) // shipped with the program
	}
	return file.Dungeons[0]
}

// tools are everybody's, numbered from 1.
var tools = []rest.Object{
	{"id": "gauntlets", "ability": "brute", "rating": "major", "qualities": []string{"improved"}},
	{"id": "whistle", "ability": "wits", "rating": "minor", "qualities": []string{"efficient"}},
}

func hex(q, r int) rest.Object { return rest.Object{"q": q, "r": r} }

// Lay makes everything that an expedition needs and begins its journey.
func (t *Table) Lay(ctx context.Context) error {
	type step struct {
		user, path string
		body       rest.Object
	}
	steps := []step{
		{GM, "campaigns", rest.Object{"campaignId": t.campaign[len("campaigns/"):], "title": "Chaos", "chapter": 3, "members": []rest.Object{
			{"subject": "ada", "role": "ROLE_PLAYER"}, {"subject": "bram", "role": "ROLE_PLAYER"},
		}}},
		{GM, t.campaign + "/regions:import", rest.Object{"regionId": "vale", "region": rest.Object{
			"title": "The vale", "hexes": []rest.Object{{"q": 0, "r": 0, "terrain": "plains"}, {"q": 1, "r": 0, "terrain": "plains"}, {"q": 1, "r": 1, "terrain": "forest"}},
			"roads":     []rest.Object{{"id": "lane", "name": "The lane", "path": []rest.Object{hex(0, 0), hex(1, 0)}}},
			"locations": []rest.Object{{"id": "hamlet", "name": "The hamlet", "kind": "settlement", "hex": hex(0, 0), "visible": true}},
		}}},
		{GM, t.campaign + "/dungeons:import", rest.Object{"dungeon": shipped()}},
	}
	for _, u := range Users[1:] {
		name := t.character(u)
		steps = append(steps,
			step{u, t.campaign + "/characters", rest.Object{"characterId": u, "title": u}},
			step{u, name + ":setAbilities", rest.Object{"abilities": rest.Object{"brute": 5, "agility": 4, "wits": 4, "combat": 4}}},
			step{u, name + ":buyTools", rest.Object{"tools": tools}},
			step{u, name + ":loadTool", rest.Object{"number": 1}}, step{u, name + ":loadTool", rest.Object{"number": 2}},
		)
	}
	steps = append(steps,
		step{"ada", t.campaign + "/parties", rest.Object{"partyId": "delvers", "character": t.character("ada")}},
		step{"bram", t.campaign + "/parties/delvers:join", rest.Object{"character": t.character("bram")}},
		step{GM, t.campaign + "/companies", rest.Object{
			"companyId": "walkers", "title": "The walkers", "pack": rest.Object{"gold": 100000, "food": []int{20, 8}},
			"travelers": []rest.Object{{"character": t.character("ada")}, {"character": t.character("bram")}},
		}},
		step{"ada", t.campaign + "/expeditions", rest.Object{"expeditionId": "out", "title": "Out", "company": t.campaign + "/companies/walkers"}},
	)
	for i, s := range steps {
		s.body["requestId"] = fmt.Sprintf("lay-%d", i+1)
		a, err := t.cfg.Client.Steady(ctx, t.cfg.Tokens[s.user], s.path, s.body)
		if err != nil {
			return err
		}
		if !a.OK() {
			return fmt.Errorf("%s: %v", s.path, a)
		}
	}
	return nil
}

// Begin gives the first command: the journey begins. It is repeated until it is answered.
func (t *Table) Begin(ctx context.Context) error {
	const id = "ada-first"
	c := &audit.Told{User: "ada", Path: t.expedition + ":execute", Body: rest.Object{
		"requestId": id, "startJourney": rest.Object{"region": t.campaign + "/regions/vale", "hex": hex(0, 0), "character": t.character("ada")},
	}}
	t.told[id] = c
	for {
		a := t.send(ctx, id, c)
		switch {
		case a.OK():
			return nil
		case !a.Doubtful() && !a.Busy():
			return fmt.Errorf("the journey does not begin: %v", a)
		case !t.cfg.Pause(ctx, 200*time.Millisecond):
			return ctx.Err()
		}
	}
}

// Play lets everybody give commands until ctx ends.
func (t *Table) Play(ctx context.Context) {
	var wg sync.WaitGroup
	for i, u := range Users {
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(t.cfg.Seed, uint64(t.cfg.Number*len(Users)+i+100))) //nolint:gosec // repeatable on purpose
			for n := 0; rest.Pause(ctx, time.Duration(rng.Float64()*2*float64(t.cfg.Pace))); n++ {
				t.One(ctx, u, fmt.Sprintf("%s-%d", u, n), rng)
			}
		})
	}
	wg.Wait()
}

// patience is how long a patient client repeats a request: as long as programs may take to be ready again.
const patience = 3 * time.Minute

// One gives one command under a request_id, repeats it while nobody knows what became of it, and every tenth time once more
// for good measure. The caller's patience ends with ctx; what the request does may not.
func (t *Table) One(ctx context.Context, user, id string, rng *rand.Rand) {
	path, body := t.choose(ctx, user, rng)
	body["requestId"] = id
	c := &audit.Told{User: user, Path: path, Body: body}
	t.mu.Lock()
	t.told[id] = c
	t.mu.Unlock()
	if t.cfg.Patient { // a while longer than the play
		within, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
		defer cancel()
		ctx = within
	}
	for try := 0; ; try++ {
		a := t.send(ctx, id, c)
		if !a.Doubtful() && !a.Busy() || ctx.Err() != nil {
			break
		}
		if !t.cfg.Patient && try > 0 && rng.IntN(10) == 0 || !t.cfg.Pause(ctx, time.Duration(50+rng.IntN(300))*time.Millisecond) {
			break // gives up: it stays in doubt
		}
	}
	if rng.IntN(10) == 0 {
		t.mu.Lock()
		t.duplicates++
		t.mu.Unlock()
		t.send(ctx, id, c)
	}
}

// send makes one attempt.
func (t *Table) send(ctx context.Context, id string, c *audit.Told) rest.Answer {
	a := t.cfg.Client.Call(context.WithoutCancel(ctx), t.cfg.Tokens[c.User], c.Path, c.Body)
	t.note(id, a)
	return a
}

// note keeps what a client was told. A second good answer is like the first.
func (t *Table) note(id string, a rest.Answer) {
	t.mu.Lock()
	defer t.mu.Unlock()
	c := t.told[id]
	switch {
	case a.OK() && c.Answer == nil:
		// Also after a refusal: that left nothing behind, and what it asked for may be right by now.
		c.Answer = a.Body
	case a.OK():
		if !reflect.DeepEqual(c.Answer, a.Body) {
			t.noticed = append(t.noticed, fmt.Sprintf("%s was answered\n%v\nand then\n%v", id, c.Answer, a.Body))
		}
	case a.Doubtful():
		c.Lost = true
	case a.Busy():
	case c.Answer != nil:
		t.noticed = append(t.noticed, fmt.Sprintf("%s was answered and then refused: %v", id, a))
	default:
		c.Refused = a.Reason
	}
}
