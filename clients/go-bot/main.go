// Command tablebot is a program of somebody else: it knows Wayfarer by its published contract alone, over gRPC.
//
// It begins a campaign, sends a walker over a small map, and tells what happens as the stream of the journey tells it. It
// shows what every client does: a token with each call, a request id with each change, and reasons in place of texts.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	partyv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/party/v1"
	travelv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/travel/v1"
)

func main() {
	party := flag.String("party", "localhost:9102", "address of the party service")
	travel := flag.String("travel", "localhost:9104", "address of the travel service")
	issuer := flag.String("issuer", "http://localhost:8080/dev", "the development issuer")
	campaign := flag.String("campaign", "tablebot", "id of the campaign, which is begun if it is not there")
	flag.Parse()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := play(ctx, *party, *travel, *issuer, *campaign, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "tablebot:", err)
		os.Exit(1)
	}
}

func play(ctx context.Context, party, travel, issuer, id string, out io.Writer) error {
	token, err := login(ctx, issuer, "gm", "wayfarer")
	if err != nil {
		return err
	}
	ctx = metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+token)
	toParty, err := dial(party)
	if err != nil {
		return err
	}
	defer func() { _ = toParty.Close() }()
	toTravel, err := dial(travel)
	if err != nil {
		return err
	}
	defer func() { _ = toTravel.Close() }()

	// Every change has a request id. They are derived from what they are for, so the bot may be started again after a
	// failure and goes on where it was: what was done before is answered as it was then.
	campaign, err := partyv1.NewCampaignServiceClient(toParty).CreateCampaign(ctx, &partyv1.CreateCampaignRequest{
		CampaignId: id, Title: "The bot's table", RequestId: id + "-begin",
	})
	if err != nil {
		return fmt.Errorf("begin the campaign: %w", err)
	}
	name := campaign.GetCampaign().GetName()
	walker, err := partyv1.NewCharacterServiceClient(toParty).CreateCharacter(ctx, &partyv1.CreateCharacterRequest{
		Parent: name, CharacterId: "walker", Title: "Walker", RequestId: id + "-walker",
	})
	if err != nil {
		return fmt.Errorf("make a character: %w", err)
	}
	character := walker.GetCharacter().GetName()
	company, err := partyv1.NewCompanyServiceClient(toParty).CreateCompany(ctx, &partyv1.CreateCompanyRequest{
		Parent: name, CompanyId: "walkers", Title: "The Walkers", RequestId: id + "-company",
		Travelers: []*partyv1.Traveler{{Character: character}},
		Pack:      &partyv1.Pack{Gold: 20, Food: []int32{8}},
	})
	if err != nil {
		return fmt.Errorf("form a company: %w", err)
	}
	region, err := travelv1.NewRegionServiceClient(toTravel).ImportRegion(ctx, &travelv1.ImportRegionRequest{
		Parent: name, RegionId: "moor", RequestId: id + "-map", Region: &travelv1.RegionDraft{
			Title: "The Moor",
			Hexes: []*travelv1.MapHex{{Q: 0, R: 0, Terrain: "plains"}, {Q: 1, R: 0, Terrain: "forest"}},
		},
	})
	if err != nil {
		return fmt.Errorf("import a map: %w", err)
	}
	journeys := travelv1.NewJourneyServiceClient(toTravel)
	start := &travelv1.StartJourneyRequest{
		Parent: name, JourneyId: "out", Company: company.GetCompany().GetName(), Region: region.GetRegion().GetName(),
		Hex: &travelv1.Hex{}, Character: character, RequestId: id + "-start",
	}
	started, err := journeys.StartJourney(ctx, start)
	if err != nil {
		return fmt.Errorf("start: %w", err)
	}
	journey := started.GetJourney().GetName()
	fmt.Fprintln(out, "under way:", journey)

	// A refusal is told by its reason; the message is for people and may change.
	_, err = journeys.Move(ctx, &travelv1.MoveRequest{Name: journey, Character: character, To: &travelv1.Hex{Q: 5}, RequestId: id + "-far"})
	fmt.Fprintln(out, "refused:", status.Code(err), reason(err))
	if status.Code(err) == codes.OK {
		return errors.New("the server let the walker leap")
	}

	step := &travelv1.MoveRequest{Name: journey, Character: character, To: &travelv1.Hex{Q: 1}, RequestId: id + "-step"}
	moved, err := journeys.Move(ctx, step)
	if err != nil {
		return fmt.Errorf("step: %w", err)
	}
	again, err := journeys.Move(ctx, step)
	if err != nil {
		return fmt.Errorf("step, sent again: %w", err)
	}
	fmt.Fprintf(out, "stepped to %d,%d in record %d, and sent again in record %d\n",
		moved.GetJourney().GetHex().GetQ(), moved.GetJourney().GetHex().GetR(), moved.GetRecord().GetSeq(), again.GetRecord().GetSeq())

	return watch(ctx, journeys, journey, moved.GetRecord().GetSeq(), out)
}

// watch tells every record of the journey up to one. A stream that ends early is opened again after the last record.
func watch(ctx context.Context, journeys travelv1.JourneyServiceClient, name string, last int32, out io.Writer) error {
	var seq int32
	for seq < last {
		stream, err := journeys.WatchJourney(ctx, &travelv1.WatchJourneyRequest{Name: name, FromSeq: seq})
		if err != nil {
			return fmt.Errorf("watch: %w", err)
		}
		for seq < last {
			update, err := stream.Recv()
			if status.Code(err) == codes.Unavailable || errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				return fmt.Errorf("watch: %w", err)
			}
			seq = update.GetRecord().GetSeq()
			fmt.Fprintf(out, "record %d: %d events, %d dice\n", seq, len(update.GetEvents()), len(update.GetRecord().GetDice()))
		}
	}
	return nil
}

func dial(addr string) (*grpc.ClientConn, error) {
	// One machine only: elsewhere use credentials/tls.
	return grpc.NewClient(addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
}

// reason is what programs decide by.
func reason(err error) string {
	for _, d := range status.Convert(err).Details() {
		if info, ok := d.(*errdetails.ErrorInfo); ok {
			return info.GetReason()
		}
	}
	return ""
}

// login gets a token from the development issuer.
func login(ctx context.Context, issuer, user, password string) (string, error) {
	form := url.Values{"grant_type": {"password"}, "username": {user}, "password": {password}}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, issuer+"/token", strings.NewReader(form.Encode()))
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
		Token string `json:"access_token"`
	}
	if err := json.NewDecoder(res.Body).Decode(&answer); err != nil {
		return "", fmt.Errorf("the issuer's answer: %w", err)
	}
	if answer.Token == "" {
		return "", fmt.Errorf("the issuer gives no token: %s", res.Status)
	}
	return answer.Token, nil
}
